// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// largeRelease stores a release whose record takes nearly as much memory as one may, and fits into an object many times.
func largeRelease(t *testing.T, cluster *target.Cluster, namespace, name string) {
	t.Helper()
	secret := recordSecret(namespace, packed(t, strings.NewReader(
		fmt.Sprintf(`{"name":%q,"version":1,"namespace":%q,"info":{"status":"deployed"},"hooks":[`, name, namespace)+strings.Repeat(`{},`, 190_000)+`{}]}`)))
	secret.Name, secret.Labels["name"] = "sh.helm.release.v1."+name+".v1", name
	require.NoError(t, cluster.Client.Create(t.Context(), secret))
}

// TestLargeHistoriesOfATenantWaitForEachOther reads more large releases at once than the deployer has memory for.
func TestLargeHistoriesOfATenantWaitForEachOther(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	const count = 6
	for i := range count {
		largeRelease(t, cluster, namespace, fmt.Sprint("r", i))
	}
	read := func(ctx context.Context, name string) error {
		history, err := e.History(ctx, cluster, namespace, name)
		if err == nil {
			assert.Len(t, history, 1)
		}
		return err
	}
	first, endFirst := e.Session(ctx, "busy")
	second, endSecond := e.Session(ctx, "busy")
	require.NoError(t, read(first, "r0"))
	require.NoError(t, read(second, "r1"))
	require.NoError(t, read(second, "r1"), "what a call reads again costs nothing more")

	waiting, results := make(chan string, count), make(chan error, count)
	for i := 2; i < count; i++ {
		name := fmt.Sprint("r", i)
		go func() {
			session, end := e.Session(engine.OnWait(ctx, func() { waiting <- name }), "busy")
			defer end()
			results <- read(session, name)
		}()
	}
	for i := 2; i < count; i++ {
		<-waiting
	}
	assert.Empty(t, results, "they wait")

	calm, endCalm := e.Session(engine.OnWait(ctx, func() { t.Error("another tenant waits") }), "calm")
	require.NoError(t, read(calm, "r0"))
	endCalm()

	endFirst()
	endSecond()
	for i := 2; i < count; i++ {
		require.NoError(t, <-results)
	}
}

// TestALargeHistoryThatGetsNoRoomIsTriedAgain has an owner whose calls do not end.
func TestALargeHistoryThatGetsNoRoomIsTriedAgain(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	for i := range 3 {
		largeRelease(t, cluster, namespace, fmt.Sprint("r", i))
		session, end := e.Session(ctx, "busy")
		defer end()
		_, err := e.History(session, cluster, namespace, fmt.Sprint("r", i))
		if i < 2 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, engine.ErrRecordsBusy)
		assert.ErrorIs(t, uninstall(e, session, cluster, namespace, fmt.Sprint("r", i), engine.Flags{}), engine.ErrRecordsBusy)
	}
}

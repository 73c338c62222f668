// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// inflate gives the record of the release parts that take nearly as much memory as one may.
func (f *fixture) inflate() {
	f.Helper()
	secrets := &corev1.SecretList{}
	require.NoError(f, f.cluster.Client.List(f.ctx, secrets, client.InNamespace(f.namespace), client.MatchingLabels{"owner": "helm"}))
	require.Len(f, secrets.Items, 1)
	record, err := json.Marshal(map[string]any{
		"name": "hello-world", "version": 1, "namespace": f.namespace, "info": map[string]any{"status": "deployed"},
		"config": map[string]any{"a": json.RawMessage("[" + strings.Repeat("{},", 190_000) + "{}]")},
	})
	require.NoError(f, err)
	secrets.Items[0].Data["release"] = []byte(base64.StdEncoding.EncodeToString(record))
	require.NoError(f, f.cluster.Client.Update(f.ctx, &secrets.Items[0]))
}

// TestLargeReleasesOfANamespaceWaitForEachOther has two calls at work with large releases of one namespace, where no more have room.
func TestLargeReleasesOfANamespaceWaitForEachOther(t *testing.T) {
	const count = 3
	var all [count]*fixture
	d := newFixture(t).deployer()
	for i := range all {
		f := newFixture(t)
		f.item.Namespace = "crowded"
		f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
		f.succeed(d)
		f.inflate()
		f.configure(config{"chart": raw(archive(t, "1.0.1", map[string]string{"templates/cm.yaml": configMapTemplate}))})
		f.newJob()
		all[i] = f
	}
	errEnough := errors.New("enough")
	working, enough, ended := make(chan struct{}, count), make(chan struct{}), make(chan error, count)
	for _, f := range all[:count-1] {
		item := f.contractItem()
		item.Checkpoint = func(name string) error {
			if name != "helm deployer: before upgrading release" {
				return nil
			}
			working <- struct{}{}
			<-enough
			return errEnough
		}
		f.plan(d)
		go func() { _, err := d.Ensure(f.ctx, item); ended <- err }()
		select {
		case <-working:
		case err := <-ended:
			t.Fatal(err)
		}
	}
	last := all[count-1]
	last.plan(d)
	for name, call := range map[string]func(context.Context, *contract.Item) error{
		"Ensure": func(ctx context.Context, item *contract.Item) error { _, err := d.Ensure(ctx, item); return err },
		"Delete": func(ctx context.Context, item *contract.Item) error { _, err := d.Delete(ctx, item); return err },
		"FindDrift": func(ctx context.Context, item *contract.Item) error {
			_, err := d.(contract.DriftDetector).FindDrift(ctx, item, contract.DriftSearch{})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(last.ctx)
		item, waits := last.contractItem(), false
		item.Waits = func() { waits = true; cancel() }
		assert.ErrorIs(t, call(ctx, item), context.Canceled, name)
		assert.True(t, waits, name)
	}
	_, err := d.Ensure(last.ctx, last.contractItem())
	failure := kit.AsFailure("", err)
	assert.Equal(t, "RecordsBusy", failure.Reason)
	assert.Equal(t, kit.Retry, failure.Kind)

	calm := newFixture(t)
	calm.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	calm.succeed(d)
	calm.inflate()
	calm.remove(d)

	close(enough)
	for range count - 1 {
		require.ErrorIs(t, <-ended, errEnough)
	}
	last.remove(d)
}

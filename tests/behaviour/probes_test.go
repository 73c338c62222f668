// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// A process whose reads the API server refuses lives, and is ready as soon as it has read everything.
func TestReadyzWaitsForTheCaches(t *testing.T) {
	t.Parallel()
	c := newEmptyCluster(t)
	const group = "later-admitted"
	healths := map[string]string{}
	for _, command := range []string{"deployer mock", "controller"} {
		healths[command] = landscape.FreeAddress()
		process, err := landscape.Start(c.ctx, c.Cluster, strings.ReplaceAll(command, " ", "-"), []string{group}, command, "--health-addr="+healths[command])
		require.NoError(t, err)
		t.Cleanup(func() { _ = process.Kill9() })
	}
	await := func(command, path string) {
		require.Eventually(t, func() bool {
			code, _ := get(t, "http://"+healths[command]+path)
			return code == http.StatusOK
		}, landscape.Patience, tick, command+path)
	}
	for command, health := range healths {
		await(command, "/healthz")
		code, text := get(t, "http://"+health+"/readyz")
		require.Equal(t, http.StatusInternalServerError, code, "%s: the API is closed: %s", command, text)
	}
	admitted := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
	require.NoError(t, c.Apply(c.ctx, admitted))
	for command := range healths {
		await(command, "/readyz")
	}
	require.NoError(t, c.Client().Delete(c.ctx, admitted))
}

// A receiver that answers nothing sees one event at a time, however many Installations end meanwhile.
func TestT10SlowEventsReceiverBlocksNobody(t *testing.T) {
	t.Parallel()
	c := newEmptyCluster(t)
	var asked atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer receiver.Close()
	defer receiver.CloseClientConnections()
	landscape.Run(c.ctx, t, c.Cluster, "controller", landscape.AllRights, "controller", "--events-addr="+receiver.URL)
	const count = 48
	for i := range count {
		c.install(t, fmt.Sprintf("trivial-%02d", i))
	}
	for i := range count {
		c.awaitSucceeded(t, fmt.Sprintf("trivial-%02d", i))
	}
	assert.Less(t, asked.Load(), int32(count), "no job has waited for its event: a worker tries each four times")
	require.Eventually(t, func() bool { return asked.Load() > 0 }, landscape.Patience, tick)
}

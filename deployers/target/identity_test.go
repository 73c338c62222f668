// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOnlyAnAPIServerSaysWhichClusterItIs asks what does not have the namespace kube-system, and then something that has.
func TestOnlyAnAPIServerSaysWhichClusterItIs(t *testing.T) {
	const system = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "the-cluster"}}`
	for name, tc := range map[string]struct {
		status  int
		answer  string
		refused bool
		uid     string
	}{
		"a proxy that knows nothing": {http.StatusNotFound, "default backend - 404", true, "the-cluster"},
		"an API server without that namespace": {http.StatusNotFound, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
			"details": {"name": "kube-system", "kind": "namespaces"}}`, false, ""},
		"an API server": {http.StatusOK, system, false, "the-cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Content-Type", "application/json")
				if asked == 1 {
					w.WriteHeader(tc.status)
					_, _ = io.WriteString(w, tc.answer)
					return
				}
				_, _ = io.WriteString(w, system)
			})
			_, err := cluster.Identity(t.Context())
			assert.Equal(t, tc.refused, err != nil)
			identity, err := cluster.Identity(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.uid, string(identity.UID))
		})
	}
}

func TestAUIDThatNoAPIServerGivesIsNotTaken(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": "`+strings.Repeat("u", 1<<20)+`"}}`)
	})
	_, err := cluster.Identity(t.Context())
	require.ErrorIs(t, err, errForeign)
}

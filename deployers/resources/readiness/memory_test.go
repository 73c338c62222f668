// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestOfAnObjectThatIsNotReadyOnlyWhatIsShownIsKept(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, object := range map[string]string{
		"the message of a condition": "{apiVersion: v1, kind: Pod, status: {conditions: [{type: Ready, status: 'False', message: " + long + "}]}}",
		"the cause of a Pod":         "{apiVersion: v1, kind: Pod, status: {conditions: [{type: PodScheduled, status: 'False', reason: " + long + "}]}}",
		"names that are refused": "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
			"status: {conditions: [{type: NamesAccepted, status: 'False', message: " + long + "}]}}",
		"a name": "{apiVersion: v1, kind: Pod, metadata: {name: " + long + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			live := parse(t, object)
			checks := &Checks{Session: &resources.Session{Cluster: &target.Cluster{}}}
			unready, progress, err := checks.Default(t.Context(), []Subject{{Resource: objects.ReferenceTo(live), Live: live}})
			require.NoError(t, err)
			require.Len(t, unready, 1)
			assert.NotEmpty(t, unready[0].lack)
			assert.LessOrEqual(t, len(unready[0].lack), resources.MaxReason)
			assert.LessOrEqual(t, len(progress.Waiting()), resources.MaxReason)
		})
	}
}

func TestPodsWithNamesOfNoAPIServerAreNotWatched(t *testing.T) {
	for name, tc := range map[string]struct{ length, watched int }{
		"the longest name": {objects.MaxName, 1},
		"a longer name":    {objects.MaxName + 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"namespace": "shop", "name": %q}}]}`, strings.Repeat("x", tc.length))
			}))
			defer server.Close()
			pods, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			checks := &Checks{Session: &resources.Session{Cluster: &target.Cluster{Dynamic: pods}}}
			live := parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop}, spec: {selector: {matchLabels: {app: web}}}}")
			_, watch := checks.trouble(t.Context(), live)
			assert.Len(t, watch, tc.watched)
		})
	}
}

// TestOfLargeObjectsIsReadWhatIsAskedOf has objects that were just written and not kept, on a target that answers nothing.
func TestOfLargeObjectsIsReadWhatIsAskedOf(t *testing.T) {
	for name, tt := range map[string]struct {
		object string
		isRead bool
	}{
		"a kind that is ready when it exists": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", false},
		"a workload":                          {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}", true},
		"a definition":                        {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reads++
				w.WriteHeader(http.StatusForbidden)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			objectsThere, err := dynamic.NewForConfig(config)
			require.NoError(t, err)
			live := parse(t, tt.object)
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(live.GroupVersionKind(), meta.RESTScopeRoot)
			checks := &Checks{Session: &resources.Session{Cluster: &target.Cluster{Config: config, Dynamic: objectsThere, Mapper: mapper}}}

			_, _, err = checks.Default(t.Context(), []Subject{{Resource: objects.ReferenceTo(live), Exists: true}})

			assert.Equal(t, tt.isRead, err != nil)
			assert.Equal(t, tt.isRead, reads > 0)
		})
	}
}

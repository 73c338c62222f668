// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery/cached/memory"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestVersionsAreShort has a server say which version it is.
func TestVersionsAreShort(t *testing.T) {
	for name, test := range map[string]struct {
		version version.Info
		refused bool
	}{
		"of an API server": {version.Info{GitVersion: "v1.36.3+rke2r1", Major: "1", Minor: "36+"}, false},
		"long":             {version.Info{GitVersion: "v1.36.3", Major: "1", Minor: strings.Repeat("3", 1<<20)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &test.version}
			way := &getter{discovery: memory.NewMemCacheClient(server)}
			way.once.Do(func() {}) // it is there already
			found, err := (&operation{Configuration: &action.Configuration{RESTClientGetter: way}}).discover(false)
			if test.refused {
				require.ErrorContains(t, err, "longer than those of API servers")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.version.GitVersion, found.KubeVersion.Version)
		})
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"net/http"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// through returns access to what config reaches, in which a handler may do something between.
func (s *stage) through(config *rest.Config, between func(http.Handler) http.Handler) *rest.Config {
	s.t.Helper()
	through, closeAll, err := rig.Through(config, between)
	require.NoError(s.t, err)
	s.t.Cleanup(closeAll)
	return through
}

// gates puts one gate before each program, and before the target for the deployers that share it, and returns kubeconfigs for them.
func (s *stage) gates(names []string) (map[string]*rig.Gate, map[string][]byte) {
	s.t.Helper()
	gates, kubeconfigs := map[string]*rig.Gate{}, map[string][]byte{}
	for _, name := range names {
		config, err := s.NewUser(name, rig.AllRights)
		require.NoError(s.t, err)
		gates[name] = &rig.Gate{}
		kubeconfigs[name], err = platform.KubeconfigFor(s.through(config, gates[name].Handler))
		require.NoError(s.t, err)
	}
	return gates, kubeconfigs
}

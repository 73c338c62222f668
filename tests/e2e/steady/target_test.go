// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// targetBehindDoor makes the Target of the scene behind a door, which is open.
func (s *scene) targetBehindDoor() *faults.Door {
	s.T.Helper()
	config, err := s.NewUser(s.Deployer(), landscape.AllRights...)
	require.NoError(s.T, err)
	return s.TargetBehindDoor("cluster", config)
}

// targetWithRights makes the Target of the scene for a user who may do everything with some resources of the namespace. The function
// that it returns takes the rights away and returns what gives them back.
func (s *scene) targetWithRights(resources ...string) (revoke func() (grant func())) {
	s.T.Helper()
	config, revoke := s.LimitedDeployer(resources...)
	s.TargetOf("cluster", config)
	return revoke
}

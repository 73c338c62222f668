// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// killing holds off the landscapes that want to kill a process that is just starting again.
var killing sync.Mutex

// kill now and then kills one of our processes, in the middle of whatever all landscapes make it do, and starts it again.
func (p *play) kill() {
	p.T.Helper()
	if *kills == 0 || !p.g.chance(*kills) {
		return
	}
	name := pick(p.g, []string{landscape.Controller, landscape.MockDeployer})
	killing.Lock()
	defer killing.Unlock()
	p.logf("the %s is killed", name)
	require.NoError(p.T, p.Processes[name].Kill9())
	require.NoError(p.T, p.Processes[name].Restart())
}

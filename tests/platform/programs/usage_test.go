// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatChildrenUseCounts(t *testing.T) {
	const spin = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
	for name, script := range map[string]string{
		"one at work":    "(" + spin + "; exec sleep 60) & wait",
		"one that ended": "(" + spin + "); sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			parent := exec.Command("sh", "-c", script)
			parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, parent.Start())
			t.Cleanup(func() {
				_ = syscall.Kill(-parent.Process.Pid, syscall.SIGKILL)
				_ = parent.Wait()
			})
			assert.Eventually(t, func() bool {
				return FamilySeconds(parent.Process.Pid) > CPUSeconds(parent.Process.Pid)+0.01
			}, 30*time.Second, 50*time.Millisecond)
		})
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// begin starts the program, and returns it once it has written a text.
func (p *program) begin(until string, args ...string) *exec.Cmd {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), p.binary, append(args, "--kubeconfig", "kubeconfig")...)
	cmd.Dir, cmd.Env = p.home, []string{"HOME=" + p.home}
	_, err := cmd.StdinPipe() // nobody answers
	require.NoError(p, err)
	said, err := cmd.StderrPipe()
	require.NoError(p, err)
	require.NoError(p, cmd.Start())
	text := ""
	for reader := bufio.NewReader(said); !strings.Contains(text, until); {
		next, err := reader.ReadByte()
		require.NoError(p, err, text)
		text += string(next)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return cmd
}

// TestActionsThatEndOtherwise acts on an Installation that no controller looks after.
func TestActionsThatEndOtherwise(t *testing.T) {
	c, p := newEstate(t)
	web := installation("web")
	running := v1alpha1.JobStatus{Phase: v1alpha1.PhaseProgressing, JobID: "1"}
	running.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown, Reason: "Progressing", Message: "job started", LastTransitionTime: metav1.Now()}}
	c.put(web, nil, running)

	asking := p.begin("[y/N]", "delete", "installation", "web")
	require.NoError(t, asking.Process.Signal(os.Interrupt))
	require.Error(t, asking.Wait())
	assert.Equal(t, statusError, asking.ProcessState.ExitCode(), "whoever interrupts the question deletes nothing")
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(web), web))
	assert.True(t, web.DeletionTimestamp.IsZero())

	waiting := p.begin("job started", "wait", "installation", "web")
	require.NoError(t, c.Delete(t.Context(), web))
	require.Error(t, waiting.Wait())
	assert.Equal(t, statusError, waiting.ProcessState.ExitCode(), "what goes has not become ready")
	p.must("wait", "installation", "web", "--deleted", "--kubeconfig", "kubeconfig")

	web = installation("web")
	c.put(web, nil, running)
	_, said, status := p.run("wait", "installation", "web", "--timeout", "2s", "--kubeconfig", "kubeconfig")
	assert.Equal(t, statusDiffers, status)
	assert.Contains(t, said, "--timeout 2s")
}

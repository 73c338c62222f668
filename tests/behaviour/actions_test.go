// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// command runs the command line on the namespace of the scene, and returns what it printed and its exit status.
func (s *scene) command(args ...string) (string, int) {
	s.T.Helper()
	return s.bare(append(args, "-n", s.Namespace)...)
}

// bare is a command that is about no namespace.
func (s *scene) bare(args ...string) (string, int) {
	s.T.Helper()
	cli, err := binaries.BuildCLI(s.Ctx)
	require.NoError(s.T, err)
	run := exec.CommandContext(s.Ctx, cli, append(args, "--kubeconfig", s.KubeconfigPath)...)
	out, _ := run.CombinedOutput()
	return string(out), run.ProcessState.ExitCode()
}

func (s *scene) must(args ...string) string {
	s.T.Helper()
	out, status := s.command(args...)
	require.Zero(s.T, status, "%v: %s", args, out)
	return out
}

// TestAPersonActsOnWhatGitApplies commits, and lets the command line do the rest: nothing else is asked for within an hour.
func TestAPersonActsOnWhatGitApplies(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	commit := func(l leaf) {
		_, err := repo.Commit(s.Ctx, "Change "+l.name, map[string][]byte{"web.yaml": []byte(l.String())})
		require.NoError(t, err)
	}
	commit(leaf{name: "web", value: "one"})
	s.apply(gitRepository("shop", repo), fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec: {interval: 1h, retryInterval: 1h, timeout: 1h, path: ./, prune: true, wait: true, targetNamespace: %s, sourceRef: {kind: GitRepository, name: shop}}
`, s.Namespace))
	s.AwaitState("web", func(in *v1alpha1.Installation) bool { return len(in.Status.Conditions) > 0 })

	assert.Contains(t, s.must("reconcile", "installation", "web"), "✔ Installation "+s.Namespace+"/web: ")
	s.requireValue("web", "one")
	assert.Contains(t, s.must("wait", "installation", "web"), "✔ ")

	commit(leaf{name: "web", value: "two"})
	out := s.must("reconcile", "inst", "web", "--with-source")
	s.requireValue("web", "two")
	for _, object := range []string{"GitRepository", "Kustomization"} {
		assert.Contains(t, out, "► "+object+" "+s.Namespace+"/shop annotated")
	}

	assert.Contains(t, s.must("interrupt", "installation", "web"), "has no running job")
	s.must("suspend", "installation", "web")
	out, status := s.command("reconcile", "installation", "web")
	assert.Equal(t, 2, status)
	assert.Contains(t, out, "flux-landscaper resume installation web -n "+s.Namespace)
	s.must("resume", "installation", "web")

	commit(leaf{name: "web", blueprint: "inline: {filesystem: {blueprint.yaml: " + quote(blueprintOf("deployItems:\n"+mockItem("item", v1alpha1.PhaseFailed))) + "}}"})
	out, status = s.command("reconcile", "installation", "web", "--with-source")
	assert.Equal(t, 1, status)
	assert.Contains(t, out, "✗ Installation "+s.Namespace+"/web: ")

	out, status = s.command("delete", "installation", "web")
	assert.Equal(t, 2, status)
	assert.Contains(t, out, "⚠ Flux applies Installation")
	assert.Contains(t, out, "--silent does not ask")
	s.Installation("web")
	s.must("delete", "installation", "web", "--orphan", "--silent")
	out, status = s.command("wait", "installation", "web")
	assert.Equal(t, 2, status)
	assert.Contains(t, out, "not found")
}

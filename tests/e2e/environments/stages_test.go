// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// shows waits until a line of `flux landscaper get` begins with these words.
func (s *stage) shows(binary, what string, words ...string) {
	s.t.Helper()
	var out []byte
	require.Eventually(s.t, func() bool {
		var err error
		out, err = exec.CommandContext(s.ctx, binary, "get", what, "--kubeconfig", s.p.KubeconfigPath).Output()
		require.NoError(s.t, err)
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(strings.Join(strings.Fields(line), " ")+" ", strings.Join(words, " ")+" ") {
				return true
			}
		}
		return false
	}, patience, tick, "%v\n%s", words, &out)
}

func TestTheCommandLineShowsStages(t *testing.T) {
	s := newStage(t)
	binary, err := binaries.BuildCLI(s.ctx)
	require.NoError(t, err)
	env := s.env("east")
	s.create(env)
	s.shows(binary, "environments", "east", "registering", "false", "-", "0/0", s.namespace)
	s.beat("east", 45)
	s.beat("east", 45)
	s.shows(binary, "environments", "east", "registered", "true", "v1.2.3", "0/0")
	registration := deployer("mock")
	s.create(registration)
	s.triggered("mock-east")
	s.shows(binary, "deployers", "east", "mock", "registering", "v1.0.0", s.namespace+"/mock-east")
	s.shows(binary, "environments", "east", "installing", "true", "v1.2.3", "0/1")
	s.succeed("mock-east")
	s.shows(binary, "deployers", "east", "mock", "ready", "v1.0.0")
	s.shows(binary, "environments", "east", "ready", "true", "v1.2.3", "1/1")

	edit(s, registration, func(d *v1alpha1.DeployerRegistration) {
		d.Spec.InstallationTemplate.ComponentDescriptor.Reference.Version = "v2.0.0"
	})
	s.shows(binary, "deployers", "east", "mock", "upgrading", "v2.0.0")
	s.shows(binary, "environments", "east", "upgrading", "true", "v1.2.3", "0/1")
	s.create(deployer("other"))
	s.shows(binary, "deployers", "east", "other", "registering")
	s.succeed("mock-east")
	s.shows(binary, "environments", "east", "upgrading", "true", "v1.2.3", "1/2")

	require.NoError(t, s.client.Delete(s.ctx, env))
	s.shows(binary, "environments", "east", "removing")
	s.shows(binary, "deployers", "east", "mock", "removing", "v2.0.0")
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const head = "apiVersion: config.landscaper.gardener.cloud/v1alpha1\nkind: AgentConfiguration\n"

func TestConfigurationHasDefaults(t *testing.T) {
	config, unknown, err := ReadConfiguration([]byte(head + "name: my-env\n"))
	require.NoError(t, err)
	assert.Empty(t, unknown)
	assert.Equal(t, "ls-system", config.Namespace)
	assert.Equal(t, "ls-system", config.LandscaperNamespace)
	assert.Equal(t, NamespaceRights, config.HostRights)
	assert.Equal(t, []string{"ls-system"}, config.TargetNamespaces)
	assert.Equal(t, []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{
		{Key: "landscaper.gardener.cloud/environment", Operator: "=", Values: []string{"my-env"}},
	}}}, config.TargetSelectors)
	assert.Equal(t, "agent-helm-deployer-my-env", config.DeployerIdentity())
}

func TestConfigurationOfTheFormerAgentIsRead(t *testing.T) {
	config, unknown, err := ReadConfiguration([]byte(head + `name: my-env
namespace: deployers
landscaperNamespace: centre
oci: {configFiles: [/a, /b], allowPlainHttp: false, insecureSkipVerify: false, cache: {useInMemoryOverlay: true}}
targetSelectors:
- targets: [{name: my-env, namespace: ""}]
other: 1
`))
	require.NoError(t, err)
	assert.Equal(t, []document.Key{{Path: "other"}}, unknown)
	assert.Equal(t, []string{"/a", "/b"}, config.OCI.ConfigFiles)
	assert.Equal(t, []string{"centre"}, config.TargetNamespaces)
	assert.Equal(t, "my-env", config.TargetSelectors[0].Targets[0].Name)
}

func TestConfigurationIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, says string }{
		"no name":         {head, "name: is missing"},
		"bad name":        {head + "name: My_Env", "name: \"My_Env\" is not a valid name"},
		"long name":       {head + "name: " + strings.Repeat("a", 57), "name: has more than 56"},
		"namespace":       {head + "name: a\nnamespace: a/b", "namespace: \"a/b\""},
		"rights":          {head + "name: a\nhostRights: All", "hostRights: is \"All\"; write Namespace or Cluster"},
		"targets":         {head + "name: a\ntargetNamespaces: [a b]", "targetNamespaces[0]"},
		"another kind":    {"kind: Configuration\nname: a", "kind"},
		"not an object":   {"- a", ""},
		"type of a field": {head + "name: [a]", "name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ReadConfiguration([]byte(test.text))
			assert.ErrorContains(t, err, test.says)
		})
	}
}

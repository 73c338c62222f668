// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/conformance"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

func TestConformance(t *testing.T) {
	s := serve(t)
	configs := map[string]json.RawMessage{}
	for name, text := range map[string]string{
		"good": `[ "$OPERATION" = DELETE ] || echo "color: blue" > "$EXPORTS_PATH"`, "changed": `[ "$OPERATION" = DELETE ] || echo "color: red" > "$EXPORTS_PATH"`,
		"bad": `[ "$OPERATION" = DELETE ]`, "slow": `[ "$OPERATION" = DELETE ] || sleep 300`,
	} {
		configs[name] = s.config(script(text)).Raw
	}
	raw, err := yaml.Marshal(configs)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	binary, err := binaries.BuildCLI(t.Context())
	require.NoError(t, err)

	out, err := exec.CommandContext(t.Context(), binary, "deployer", "conformance", "--kubeconfig", s.p.KubeconfigPath, "-o", "json",
		"--type", v1alpha1.ContainerDeployItemType, "--namespace", s.namespace, "--config", path).Output()

	require.NoError(t, err, string(out))
	var report conformance.Report
	require.NoError(t, json.Unmarshal(out, &report))
	for _, result := range report.Results {
		if result.Check != "stale-news" { // skipped where the deployer is faster each time
			require.Equal(t, conformance.OK, result.Verdict, "%s: %s", result.Check, result.Seen)
		}
	}
	require.Empty(t, report.Left)
	s.awaitLeft(func(left map[string][]string) bool { return len(left) == 0 })
}

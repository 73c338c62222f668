// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance puts our deployers, and one of somebody else with and without faults, through the checks of deployers/conformance.
package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/conformance"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

const mockConfigs = `
good: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: {address: "$(name)"}}
changed: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: {address: other}}
bad: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, phase: Failed}
slow: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, phase: Progressing}
`

const manifestConfigs = `
good: &good
  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
  kind: ProviderConfiguration
  manifests:
  - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "$(name)", namespace: "$(namespace)"}, data: {color: blue}}
  exports:
    exports:
    - {key: color, jsonPath: data.color, fromResource: {apiVersion: v1, kind: ConfigMap, name: "$(name)", namespace: "$(namespace)"}}
changed:
  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
  kind: ProviderConfiguration
  manifests:
  - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "$(name)", namespace: "$(namespace)"}, data: {color: red}}
bad:
  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
  kind: ProviderConfiguration
  updateStrategy: nonsense
slow:
  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
  kind: ProviderConfiguration
  manifests:
  - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "$(name)", namespace: "$(namespace)"}, data: {color: blue}}
  readinessChecks:
    custom:
    - name: never
      resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: "$(name)", namespace: "$(namespace)"}]
      requirements: [{jsonPath: data.ready, operator: exists}]
`

// helmConfigs are configurations of charts without and with a release.
func helmConfigs(t *testing.T, isRelease bool) string {
	t.Helper()
	packed, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: settings\nversion: 1.0.0\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\ndata: {color: \"{{ .Values.color }}\"}\n",
	}))
	require.NoError(t, err)
	config := func(more string) string {
		return fmt.Sprintf(`{apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, name: "$(name)", namespace: "$(namespace)",
  helmDeployment: %t, chart: {archive: {raw: %q}}, %s}
`, isRelease, base64.StdEncoding.EncodeToString(packed), more)
	}
	const color = `{apiVersion: v1, kind: ConfigMap, name: "$(name)", namespace: "$(namespace)"}`
	return "good: " + config("values: {color: blue}, exports: {exports: [{key: color, jsonPath: data.color, fromResource: "+color+"}]}") +
		"changed: " + config("values: {color: red}") + "bad: " + config("updateStrategy: nonsense") +
		"slow: " + config("values: {color: blue}, readinessChecks: {custom: [{name: never, resourceSelector: ["+color+
		"], requirements: [{jsonPath: data.ready, operator: exists}]}]}")
}

// command runs the command line and returns the report and the exit status.
func command(t *testing.T, args ...string) (*conformance.Report, string, int) {
	t.Helper()
	binary, err := binaries.BuildCLI(t.Context())
	require.NoError(t, err)
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, append([]string{
		"deployer", "conformance", "--kubeconfig", platform.Shared(t).KubeconfigPath, "-o", "json",
	}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err)
	}
	report := &conformance.Report{}
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), report), out.String())
	}
	return report, errs.String(), cmd.ProcessState.ExitCode()
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// verdicts returns how each check ended, those that are ok left out, and logs the reasons.
func verdicts(t *testing.T, report *conformance.Report) map[string]conformance.Verdict {
	t.Helper()
	found := map[string]conformance.Verdict{}
	for _, result := range report.Results {
		if result.Verdict != conformance.OK {
			found[result.Check] = result.Verdict
			t.Logf("%s %s: %s", result.Verdict, result.Check, result.Seen)
		}
	}
	return found
}

// requireNothingLeft checks that a run left neither items nor Contexts, nor the kinds given.
func requireNothingLeft(t *testing.T, namespace string, lists ...client.ObjectList) {
	t.Helper()
	for _, list := range append(lists, &v1alpha1.DeployItemList{}, &v1alpha1.ContextList{}) {
		require.NoError(t, platform.Shared(t).Client().List(context.Background(), list, client.InNamespace(namespace)))
		items, err := meta.ExtractList(list)
		require.NoError(t, err)
		require.Empty(t, items)
	}
}

func TestMockDeployerConforms(t *testing.T) {
	t.Parallel()
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	landscape.Run(t.Context(), t, p.Cluster, landscape.MockDeployer, landscape.AllRights, "deployer mock")
	report, errs, status := command(t, "--type", v1alpha1.MockDeployItemType, "--namespace", namespace, "--config", file(t, mockConfigs))
	found := verdicts(t, report)
	delete(found, "stale-news") // skipped where the deployer is faster each time
	require.Empty(t, found, errs)
	require.Zero(t, status, errs)
	require.Len(t, report.Results, len(conformance.Names()))
	require.Empty(t, report.Left)
	requireNothingLeft(t, namespace)
}

// namespaceWithTarget makes a namespace with the Target "cluster".
func namespaceWithTarget(t *testing.T) string {
	t.Helper()
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	raw, err := json.Marshal(map[string]any{"kubeconfig": string(p.Kubeconfig)})
	require.NoError(t, err)
	require.NoError(t, p.Client().Create(t.Context(), &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cluster"},
		Spec:       v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &v1alpha1.AnyJSON{RawMessage: raw}},
	}))
	return namespace
}

func TestHelmDeployerConforms(t *testing.T) {
	t.Parallel()
	landscape.Run(t.Context(), t, platform.Shared(t).Cluster, landscape.HelmDeployer, landscape.AllRights, "deployer helm")
	for name, isRelease := range map[string]bool{"release": true, "template": false} {
		t.Run(name, func(t *testing.T) {
			namespace := namespaceWithTarget(t)
			report, errs, status := command(t, "--type", v1alpha1.HelmDeployItemType, "--namespace", namespace, "--target", "cluster",
				"--config", file(t, helmConfigs(t, isRelease)))
			found := verdicts(t, report)
			delete(found, "stale-news") // skipped where the deployer is faster each time
			require.Empty(t, found, errs)
			require.Zero(t, status, errs)
			require.Empty(t, report.Left)
			requireNothingLeft(t, namespace, &corev1.ConfigMapList{})
		})
	}
}

func TestManifestDeployerConforms(t *testing.T) {
	t.Parallel()
	namespace := namespaceWithTarget(t)
	landscape.Run(t.Context(), t, platform.Shared(t).Cluster, landscape.ManifestDeployer, landscape.AllRights, "deployer manifest")
	report, errs, status := command(t, "--type", v1alpha1.ManifestDeployItemType, "--namespace", namespace, "--target", "cluster",
		"--config", file(t, manifestConfigs))
	found := verdicts(t, report)
	delete(found, "stale-news") // skipped where the deployer is faster each time
	require.Empty(t, found, errs)
	require.Zero(t, status, errs)
	require.Empty(t, report.Left)
	requireNothingLeft(t, namespace, &corev1.ConfigMapList{})
}

func TestChecksWithoutConfigurationAreSkipped(t *testing.T) {
	t.Parallel()
	namespace := platform.Shared(t).Namespace(t)
	report, errs, status := command(t, "--type", "example.com/nobody", "--namespace", namespace, "--only", "interrupt,other-types", "--quiet", "100ms")
	require.Zero(t, status, errs)
	require.Equal(t, map[string]conformance.Verdict{"interrupt": conformance.Skipped}, verdicts(t, report))
	requireNothingLeft(t, namespace)
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown check":                {[]string{"--only", "speed"}, `no check "speed"`},
		"unknown configuration":        {[]string{"--config", file(t, "fast: {}")}, `no configuration "fast"`},
		"configuration without fields": {[]string{"--config", file(t, "good: 7")}, `"good" is not an object`},
		"Target without namespace":     {[]string{"--target", "t"}, "name its namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, status := command(t, append([]string{"--type", "example.com/x"}, c.args...)...)
			require.Equal(t, 2, status)
			require.Contains(t, errs, c.want)
		})
	}
}

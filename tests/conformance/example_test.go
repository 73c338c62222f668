// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const exampleFolder = "../../docs/example-deployer"

// startExample builds the example deployer and starts it as a user with the rights of its rights.yaml.
func startExample(t *testing.T, p *platform.Platform) {
	t.Helper()
	binary, err := binaries.BuildProgram(t.Context(), "./docs/example-deployer")
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(exampleFolder, "rights.yaml"))
	require.NoError(t, err)
	role := &rbacv1.ClusterRole{}
	require.NoError(t, yaml.UnmarshalStrict(raw, role))
	require.NoError(t, p.Client().Create(t.Context(), role))
	require.NoError(t, p.Client().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	}))
	config, err := p.NewUser(role.Name)
	require.NoError(t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, kubeconfig, 0o600))
	process, err := programs.Start(programs.Command{Name: role.Name, Path: binary, Args: []string{"--kubeconfig", path}, Dir: filepath.Dir(path)})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the example deployer:\n%s", process.LogTail(40))
		}
		assert.NotContains(t, process.LogTail(1000), "forbidden", "rights.yaml says what the deployer needs")
		require.NoError(t, process.Stop(landscape.Patience))
	})
}

func TestE2EExampleDeployerConforms(t *testing.T) {
	t.Parallel()
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	raw, err := json.Marshal(map[string]any{"kubeconfig": string(p.Kubeconfig)})
	require.NoError(t, err)
	require.NoError(t, p.Client().Create(t.Context(), &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cluster"},
		Spec:       v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &v1alpha1.AnyJSON{RawMessage: raw}},
	}))
	startExample(t, p)
	report, errs, status := command(t, "--type", "example.com/robot", "--namespace", namespace, "--target", "cluster",
		"--config", filepath.Join(exampleFolder, "conformance.yaml"))
	found := verdicts(t, report)
	delete(found, "stale-news") // skipped where the deployer is faster each time
	require.Empty(t, found, errs)
	require.Zero(t, status, errs)
	require.Empty(t, report.Left)
	requireNothingLeft(t, namespace)
	var accounts corev1.ServiceAccountList
	require.NoError(t, p.Client().List(t.Context(), &accounts, client.InNamespace(metav1.NamespaceDefault)))
	for _, account := range accounts.Items {
		assert.NotContains(t, account.Annotations, "example.com/deploy-item", "%s was left behind", account.Name)
	}
}

// TestExampleDeployerImportsThePublicRoomsOnly keeps what a third party has to import small: the contract, targets and the API.
func TestExampleDeployerImportsThePublicRoomsOnly(t *testing.T) {
	const module = "github.com/flux-landscaper/flux-landscaper/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, exampleFolder).Output()
	require.NoError(t, err)
	var own []string
	for _, imported := range strings.Fields(string(out)) {
		if room, isOwn := strings.CutPrefix(imported, module); isOwn {
			own = append(own, room)
		}
	}
	require.ElementsMatch(t, []string{"api/v1alpha1", "deployers/contract", "deployers/target"}, own)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent runs the agent between two clusters with an etcd and an authority of their own each. The fenced one is known to the agent and to
// what runs behind the fence only. Processes stand for Pods.
package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

const (
	// patience bounds every wait.
	patience = 4 * time.Minute
	system   = "ls-system"
)

var schemes = []func(*runtime.Scheme) error{v1alpha1.AddToScheme}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	code := platform.Main(m, platform.Options{LandscaperCRDs: true, AddToScheme: schemes, Audit: true, Objects: []client.Object{namespace()}})
	if fenced.platform != nil {
		if err := fenced.platform.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

func namespace() *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: system}}
}

// fenced is the cluster behind the fence, a platform of its own.
var fenced struct {
	sync.Once
	platform *platform.Platform
	err      error
}

// scene is an agent of one environment. Each test has its own.
type scene struct {
	*platform.Platform
	t   testing.TB
	ctx context.Context
	// fence is the fenced cluster, and centre the way of the agent to the landscaper cluster.
	fence  *platform.Platform
	centre *faults.Wire
	// hostFront is before the fenced cluster for processes; nil is none.
	hostFront *front
	// hostAuthorities is the file with the authorities of the fenced cluster; empty has them in the kubeconfig.
	hostAuthorities string
	// environment is also the name of what the agent makes.
	environment string
	// account is that of the agent behind the fence, and inside its namespace.
	account, inside string
	binary, dir     string
	// environ are further environment variables of the processes behind the fence, as NAME=value.
	environ []string
	// token is that of the agent at the landscaper cluster.
	token string
	// memory counts that of the processes behind the fence; nil is none.
	memory *programs.MemoryGroup
}

func newScene(t testing.TB, environment string) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience+5**lasting)
	t.Cleanup(cancel)
	binary, err := binaries.BuildLandscaper(ctx)
	require.NoError(t, err)
	s := &scene{Platform: platform.Shared(t), t: t, ctx: ctx, environment: environment, account: "landscaper-agent-" + environment, inside: system, binary: binary, dir: t.TempDir()}
	fenced.Do(func() {
		fenced.platform, fenced.err = platform.Start(context.Background(), platform.Options{Audit: true, Objects: []client.Object{namespace()}})
	})
	require.NoError(t, fenced.err)
	s.fence = fenced.platform
	s.centre, err = faults.NewWire(strings.TrimPrefix(s.RestConfig.Host, "https://"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.centre.Close()) })
	s.apply(s.Cluster, "flux/agent-access")
	s.apply(s.fence.Cluster, "flux/agent")
	s.token = s.tokenOf(s.Cluster, s.home(), "landscaper-agent-"+environment)
	return s
}

// apply applies a folder of flux/ with the name of the environment, but for workloads: there is nobody to run them.
func (s *scene) apply(cluster *platform.Cluster, folder string) {
	s.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("..", "..", "..", folder))
	require.NoError(s.t, err)
	text, err := built.AsYaml()
	require.NoError(s.t, err)
	variables := map[string]string{"environment": s.environment}
	substituted, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		value, isSet := variables[name]
		return value, isSet
	})
	require.NoError(s.t, err)
	require.NoError(s.t, cluster.ApplyYAML(s.ctx, substituted))
}

// home is the namespace of the Environment on the landscaper cluster.
func (s *scene) home() string { return v1alpha1.EnvironmentNamespacePrefix + s.environment }

func (s *scene) tokenOf(cluster *platform.Cluster, namespace, name string) string {
	s.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	require.NoError(s.t, cluster.Client().SubResource("token").Create(s.ctx, account, request))
	return request.Status.Token
}

// kubeconfig writes a kubeconfig with a token and returns the path.
func (s *scene) kubeconfig(name, host string, ca []byte, token string) string {
	s.t.Helper()
	raw, err := platform.KubeconfigFor(&rest.Config{Host: host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	require.NoError(s.t, err)
	path := filepath.Join(s.dir, name+".kubeconfig")
	require.NoError(s.t, os.WriteFile(path, raw, 0o600))
	return path
}

// nameAuthorities moves the authorities of a kubeconfig to a file.
func (s *scene) nameAuthorities(path string, authorities []byte) {
	s.t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	require.NoError(s.t, err)
	for _, cluster := range config.Clusters {
		cluster.CertificateAuthority, cluster.CertificateAuthorityData = s.hostAuthorities, nil
	}
	require.NoError(s.t, clientcmd.WriteToFile(*config, path))
	require.NoError(s.t, os.WriteFile(s.hostAuthorities, authorities, 0o600))
}

// member is a running process of the product.
type member struct {
	*programs.Process
	t      testing.TB
	health string
	meter  string
}

// start starts a process behind the fence, with the rights of a ServiceAccount there.
func (s *scene) start(name, account string, args ...string) *member {
	s.t.Helper()
	dir := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	m := &member{t: s.t, health: programs.RequireFreeAddress(s.t, programs.Loopback), meter: programs.RequireFreeAddress(s.t, programs.Loopback)}
	host, authority := s.fence.RestConfig.Host, s.fence.RestConfig.CAData
	if s.hostFront != nil {
		host, authority = s.hostFront.server.URL, s.hostFront.authority()
	}
	own := s.kubeconfig(name+"-own", host, authority, s.tokenOf(s.fence.Cluster, s.inside, account))
	if s.hostAuthorities != "" {
		s.nameAuthorities(own, authority)
	}
	command := programs.Command{
		Name: name, Path: s.binary, Dir: dir, Args: append(args, "--metrics-addr="+m.meter, "--health-addr="+m.health),
		Env: append([]string{"KUBECONFIG=" + own, "RUNTIME_NAMESPACE=" + s.inside, "POD_NAME=" + name}, s.environ...),
	}
	if s.memory != nil {
		var err error
		command, err = s.memory.Contain(command)
		require.NoError(s.t, err)
	}
	process, err := programs.Start(command)
	require.NoError(s.t, err)
	m.Process = process
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("log of %s:\n%s", name, telling(process.LogTail(10000)))
		}
		assert.NoError(s.t, process.Stop(20*time.Second))
	})
	return m
}

// telling are the last lines of a log that say more than that a process is not ready yet.
func telling(log string) string {
	lines := slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return strings.Contains(line, "healthz check failed") })
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// agentArgs writes the files of an agent and returns its arguments.
func (s *scene) agentArgs(more ...string) []string {
	s.t.Helper()
	config := fmt.Sprintf("apiVersion: config.landscaper.gardener.cloud/v1alpha1\nkind: AgentConfiguration\nname: %s\nlandscaperNamespace: %s\ntargetNamespaces: [%s, shop]\n", s.environment, s.home(), s.home())
	path := filepath.Join(s.dir, "config.yaml")
	require.NoError(s.t, os.WriteFile(path, []byte(config), 0o600))
	landscaper := s.kubeconfig("landscaper", "https://"+s.centre.Address, s.RestConfig.CAData, s.token)
	return append([]string{"agent", "--config=" + path, "--landscaper-kubeconfig=" + landscaper}, more...)
}

// startAgent starts the agent and waits until it is ready.
func (s *scene) startAgent() *member {
	s.t.Helper()
	m := s.start(s.environment+"-agent", s.account, s.agentArgs()...)
	m.awaitReady()
	return m
}

func (m *member) awaitReady() {
	m.t.Helper()
	require.Eventually(m.t, m.isReady, patience, 50*time.Millisecond, "%s is not ready", m.health)
}

func (m *member) isReady() bool {
	answer, err := http.Get("http://" + m.health + "/readyz")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// awaitConnected waits until the metric says whether the agent is connected.
func (m *member) awaitConnected(connected bool) {
	m.t.Helper()
	want := "} 0"
	if connected {
		want = "} 1"
	}
	require.Eventually(m.t, func() bool {
		answer, err := http.Get("http://" + m.meter + "/metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "landscaper_agent_connected{") {
				return strings.HasSuffix(strings.TrimSpace(line), want)
			}
		}
		return err == nil && false
	}, patience, 50*time.Millisecond)
}

// startController starts the controller of the landscaper cluster, which knows nothing of the fence.
func (s *scene) startController(more ...string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "controller")
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	process, err := programs.Start(programs.Command{
		Name: "controller", Path: s.binary, Dir: dir, Args: append([]string{"controller", "--metrics-addr=0", "--health-addr=" + programs.RequireFreeAddress(s.t, programs.Loopback)}, more...),
		Env: []string{"KUBECONFIG=" + s.KubeconfigPath, "RUNTIME_NAMESPACE=" + system},
	})
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("log of the controller:\n%s", process.LogTail(30))
		}
		assert.NoError(s.t, process.Stop(20*time.Second))
	})
}

// object returns the Environment as it is.
func (s *scene) registered() *v1alpha1.Environment {
	s.t.Helper()
	env := &v1alpha1.Environment{}
	require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Name: s.environment}, env))
	return env
}

// hostTarget makes the Target of the fenced cluster as the Environment describes it, where the landscaper cluster does not do it.
func (s *scene) hostTarget() {
	s.t.Helper()
	template := s.registered().Spec.HostTarget
	target := &v1alpha1.Target{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Target"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: s.environment, Annotations: template.Annotations, Labels: template.Labels},
		Spec:       template.TargetSpec,
	}
	require.NoError(s.t, s.Apply(s.ctx, target))
}

// target makes a Target for tenants, which leads behind the fence.
func (s *scene) target(namespace, name string) {
	s.t.Helper()
	content, err := json.Marshal(map[string]any{"kubeconfig": map[string]any{"secretRef": map[string]any{"name": s.environment + "-target-access"}}})
	require.NoError(s.t, err)
	raw := v1alpha1.NewAnyJSON(content)
	require.NoError(s.t, s.Apply(s.ctx, &v1alpha1.Target{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Target"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.EnvironmentAnnotation: s.environment}},
		Spec:       v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &raw},
	}))
}

// install applies an Installation with one DeployItem, whose config is given as YAML, and starts a job of it.
func (s *scene) install(namespace, name, itemType, config string, targets map[string]string) {
	s.t.Helper()
	var imports, given strings.Builder
	for key, target := range targets {
		fmt.Fprintf(&imports, "- {name: %s, type: target, targetType: %s}\n", key, v1alpha1.KubernetesClusterTargetType)
		fmt.Fprintf(&given, "    - {name: %s, target: %q}\n", key, target)
	}
	blueprint := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nimports:\n" + imports.String() +
		"deployExecutions:\n- name: deploy\n  type: GoTemplate\n  template: |\n" +
		indent("deployItems:\n- name: item\n  type: "+itemType+"\n  target: {import: cluster}\n  timeout: 10m\n  config:\n"+indent(config, 4), 4)
	manifest := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata:\n  name: " + name + "\n  namespace: " + namespace +
		"\n  annotations: {landscaper.gardener.cloud/operation: reconcile}\nspec:\n  imports:\n    targets:\n" + given.String() +
		"  blueprint:\n    inline:\n      filesystem:\n        blueprint.yaml: |\n" + indent(blueprint, 10)
	require.NoError(s.t, s.ApplyYAML(s.ctx, manifest))
}

func indent(text string, by int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Repeat(" ", by) + line)
	}
	return out.String()
}

// succeeded waits until an Installation has ended its job well.
func (s *scene) succeeded(namespace, name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	require.NoError(s.t, s.Await(ctx, inst, func() bool {
		return inst.Status.JobID != "" && inst.Status.IsIdle() && inst.Annotations[v1alpha1.OperationAnnotation] == ""
	}))
	require.Equal(s.t, v1alpha1.PhaseSucceeded, inst.Status.Phase, "%+v", inst.Status.LastError)
}

// configMap returns a ConfigMap behind the fence.
func (s *scene) configMap(name string) map[string]string {
	s.t.Helper()
	found := &corev1.ConfigMap{}
	require.NoError(s.t, s.fence.Client().Get(s.ctx, client.ObjectKey{Namespace: system, Name: name}, found))
	return found.Data
}

// manifestItem is the config of a DeployItem that makes a ConfigMap behind the fence.
func manifestItem(name, text string) string {
	return fmt.Sprintf(`apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
kind: ProviderConfiguration
updateStrategy: update
manifests:
- policy: manage
  manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {text: %s}}
`, name, system, text)
}

// chartItem is the config of a DeployItem that installs a chart behind the fence.
func chartItem(t testing.TB, name string, values string, files map[string]string) string {
	t.Helper()
	files["Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
	archive, err := servers.PackageChart(servers.Files(files))
	require.NoError(t, err)
	return fmt.Sprintf(`apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
kind: ProviderConfiguration
name: %s
namespace: %s
chart: {archive: {raw: %s}}
values:
%s`, name, system, base64.StdEncoding.EncodeToString(archive), indent(values, 2))
}

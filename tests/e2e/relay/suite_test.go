// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay runs the content relay beside a real API server, and deployers that have no other way to what their DeployItems name.
package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// patience bounds every wait.
const patience = 4 * time.Minute

// The login of the private registry is in the landscaper cluster alone.
const (
	user, password = "shop", "open-sesame-of-the-shop"
	pullSecret     = "pull"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		LandscaperCRDs: true, Audit: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// scene is a relay with a private registry, and the namespaces of a tenant and of a deployer.
type scene struct {
	*platform.Platform
	t   *testing.T
	ctx context.Context
	// system is the namespace of the relay, tenant that of the DeployItems, home that of the deployer's ServiceAccount.
	system, tenant, home string
	registry             *registry.Registry
	binary, dir          string
	relay                *programs.Process
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneOn(t, platform.Shared(t))
}

// newSceneOn makes one on a platform.
func newSceneOn(t *testing.T, p *platform.Platform) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	binary, err := binaries.BuildLandscaper(ctx)
	require.NoError(t, err)
	s := &scene{
		Platform: p, t: t, ctx: ctx, system: p.Namespace(t), tenant: p.Namespace(t), home: p.Namespace(t), binary: binary, dir: t.TempDir(),
		registry: registry.Start(t, registry.Options{Users: []registry.User{{Name: user, Password: password}}}),
	}
	for _, file := range []string{"relay", "deployer"} {
		manifests, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "rbac", file+".yaml"))
		require.NoError(t, err)
		require.NoError(t, s.ApplyYAML(ctx, string(manifests)))
	}
	s.create(
		s.pullSecretOf(s.tenant, password),
		s.contextOf(s.tenant, pullSecret),
		s.cluster(s.tenant),
	)
	return s
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func (s *scene) create(objects ...client.Object) {
	s.t.Helper()
	for _, object := range objects {
		require.NoError(s.t, s.Client().Create(s.ctx, object))
	}
}

// pullSecretOf is a login at the registry for a namespace.
func (s *scene) pullSecretOf(namespace, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(namespace, pullSecret), Type: corev1.SecretTypeDockerConfigJson, StringData: map[string]string{
		corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths": {%q: {"username": %q, "password": %q}}}`, s.registry.Host, user, password),
	}}
}

// contextOf is the default Context of a namespace.
func (s *scene) contextOf(namespace, secret string) *v1alpha1.Context {
	c := &v1alpha1.Context{ObjectMeta: meta(namespace, v1alpha1.DefaultContextName)}
	c.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: secret}}
	return c
}

// cluster is a Target of the cluster itself.
func (s *scene) cluster(namespace string) *v1alpha1.Target {
	s.t.Helper()
	raw, err := platform.KubeconfigFor(s.RestConfig)
	require.NoError(s.t, err)
	config, err := json.Marshal(map[string]string{"kubeconfig": string(raw)})
	require.NoError(s.t, err)
	content := v1alpha1.NewAnyJSON(config)
	return &v1alpha1.Target{
		ObjectMeta: meta(namespace, "cluster"),
		Spec:       v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &content},
	}
}

// push publishes a version of a chart that makes a ConfigMap with a text.
func (s *scene) push(tag, text string) string {
	s.t.Helper()
	chart, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: hello\nversion: 1.0.0\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {text: " + strconv.Quote(text) + "}\n",
	}))
	require.NoError(s.t, err)
	ref, _ := s.registry.Push(s.t, "charts/hello", tag, registry.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Content: string(chart)})
	return ref
}

// item makes a helm item without a job.
func (s *scene) item(namespace, name, ref string) *v1alpha1.DeployItem {
	s.t.Helper()
	config, err := json.Marshal(map[string]any{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"name": name, "namespace": namespace, "chart": map[string]any{"ref": ref}, "updateStrategy": "update",
	})
	require.NoError(s.t, err)
	item := &v1alpha1.DeployItem{ObjectMeta: meta(namespace, name), Spec: v1alpha1.DeployItemSpec{
		Type: v1alpha1.HelmDeployItemType, Target: &v1alpha1.DeployItemTarget{Name: "cluster"}, Configuration: &runtime.RawExtension{Raw: config},
	}}
	s.create(item)
	return item
}

// run gives an item a job.
func (s *scene) run(item *v1alpha1.DeployItem) string {
	s.t.Helper()
	job := uuid.NewString()
	patch := fmt.Sprintf(`{"status":{"jobID":%q}}`, job)
	require.NoError(s.t, s.Client().Status().Patch(s.ctx, item, client.RawPatch("application/merge-patch+json", []byte(patch))))
	return job
}

// until waits for a state of an item.
func (s *scene) until(item *v1alpha1.DeployItem, done func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	err := s.Await(ctx, item, done)
	if err != nil {
		shown, _ := json.Marshal(item.Status)
		require.NoError(s.t, err, "%s", shown)
	}
}

// succeeds waits until a job has ended well.
func (s *scene) succeeds(item *v1alpha1.DeployItem, job string) {
	s.t.Helper()
	s.until(item, func() bool { return item.Status.JobIDFinished == job })
	shown, _ := json.Marshal(item.Status)
	require.Equal(s.t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%s", shown)
}

// deployed returns the text of the ConfigMap of the chart.
func (s *scene) deployed(namespace string) string {
	s.t.Helper()
	object := &corev1.ConfigMap{}
	require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: "hello"}, object))
	return object.Data["text"]
}

// token returns a token of a ServiceAccount; without audiences it is for the API server.
func (s *scene) token(namespace, name string, audiences ...string) string {
	s.t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	require.NoError(s.t, s.Client().SubResource("token").Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: meta(namespace, name)}, request))
	return request.Status.Token
}

// kubeconfig writes one with a token.
func (s *scene) kubeconfig(name, token string) string {
	s.t.Helper()
	raw, err := platform.KubeconfigFor(&rest.Config{
		Host: s.RestConfig.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: s.RestConfig.CAData},
	})
	require.NoError(s.t, err)
	path := filepath.Join(s.dir, name+".kubeconfig")
	require.NoError(s.t, os.WriteFile(path, raw, 0o600))
	return path
}

// bind gives a ServiceAccount a role: in a namespace, or everywhere.
func (s *scene) bind(in, role, kind, namespace, name string) {
	s.t.Helper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
	generated := metav1.ObjectMeta{Namespace: in, GenerateName: "test-"}
	if in == "" {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: generated, RoleRef: ref, Subjects: subjects}
		s.create(binding)
		s.t.Cleanup(func() { assert.NoError(s.t, s.Client().Delete(context.Background(), binding)) })
		return
	}
	s.create(&rbacv1.RoleBinding{ObjectMeta: generated, RoleRef: ref, Subjects: subjects})
}

// account makes the ServiceAccount of a deployer that may carry out the items of a namespace, get to the relay, and request tokens of its own. It reads no Secret.
func (s *scene) account(name, namespace string) {
	s.t.Helper()
	s.create(
		&corev1.ServiceAccount{ObjectMeta: meta(s.home, name)},
		&rbacv1.Role{ObjectMeta: meta(s.home, name), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{name}, Verbs: []string{"create"},
		}}},
	)
	s.bind(s.home, name, "Role", s.home, name)
	s.bindTenant(name, namespace)
	s.bind(s.system, "landscaper:relay-client", "ClusterRole", s.home, name)
}

// bindTenant lets such an account carry out the items of a namespace.
func (s *scene) bindTenant(name, namespace string) {
	s.t.Helper()
	s.create(
		&rbacv1.Role{ObjectMeta: meta(namespace, name), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"landscaper.gardener.cloud"}, Resources: []string{"deployitems", "deployitems/status"}, Verbs: []string{"get", "list", "watch", "update", "patch"}},
			{APIGroups: []string{"landscaper.gardener.cloud"}, Resources: []string{"targets", "contexts"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"landscaper.gardener.cloud"}, Resources: []string{"executions", "installations"}, Verbs: []string{"get"}},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		}},
	)
	s.bind(namespace, name, "Role", s.home, name)
}

// start starts a process of the product.
func (s *scene) start(name, kubeconfig string, args ...string) *programs.Process {
	s.t.Helper()
	dir := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	health := programs.RequireFreeAddress(s.t, programs.Loopback)
	process, err := programs.Start(programs.Command{
		Name: name, Path: s.binary, Dir: dir, Args: append(args, "--metrics-addr=0", "--health-addr="+health),
		Env: []string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + s.system, "POD_NAME=" + name, "TMPDIR=" + dir},
	})
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		log := process.LogTail(10000)
		if s.t.Failed() {
			s.t.Logf("log of %s:\n%s", name, process.LogTail(40))
		}
		assert.NotContains(s.t, log, password)
		assert.NoError(s.t, process.Stop(30*time.Second))
	})
	require.Eventually(s.t, func() bool { return process.Running() && isReady(health) }, patience, 50*time.Millisecond, "%s is not ready", name)
	return process
}

func isReady(address string) bool {
	response, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode == http.StatusOK
}

// reachable returns an address of this machine that an API server leads to: one that is not of loopback.
func reachable(t *testing.T) string {
	t.Helper()
	address, err := platform.OwnAddress()
	if err != nil {
		t.Skipf("API servers lead to no Service on loopback: %v", err)
	}
	return address
}

// startRelay starts the relay with the rights of config/rbac, behind its Service.
func (s *scene) startRelay(args ...string) {
	s.t.Helper()
	address := programs.RequireFreeAddress(s.t, reachable(s.t))
	s.lead(address)
	s.create(&corev1.ServiceAccount{ObjectMeta: meta(s.system, "landscaper-relay")})
	s.bind("", "landscaper:relay", "ClusterRole", s.system, "landscaper-relay")
	kubeconfig := s.kubeconfig("relay", s.token(s.system, "landscaper-relay"))
	s.relay = s.start("relay", kubeconfig, append([]string{"relay", "--content-addr=" + address}, args...)...)
}

// lead makes the Service of the relay lead to an address.
func (s *scene) lead(address string) {
	s.t.Helper()
	host, text, err := net.SplitHostPort(address)
	require.NoError(s.t, err)
	port, err := strconv.ParseInt(text, 10, 32)
	require.NoError(s.t, err)
	ports := []corev1.EndpointPort{{Name: relay.PortName, Port: int32(port)}}
	s.create(
		&corev1.Service{ObjectMeta: meta(s.system, "landscaper-relay"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: relay.PortName, Port: 443}}}},
		//lint:ignore SA1019 the proxy of API servers finds the relay by these
		&corev1.Endpoints{ObjectMeta: meta(s.system, "landscaper-relay"), Subsets: []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: s.pod(host)}}, Ports: ports},
		}},
	)
}

// pod makes a Pod that has an address. API servers lead to Pods only; the process of the relay stands for this one.
func (s *scene) pod(address string) *corev1.ObjectReference {
	s.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: meta(s.system, "landscaper-relay"), Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "landscaper", Image: "landscaper"}},
		},
	}
	s.create(pod)
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	require.NoError(s.t, s.Client().Status().Update(s.ctx, pod))
	return &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// startDeployer starts a helm deployer for a namespace that gets to no registry: only the relay does.
func (s *scene) startDeployer(account, namespace string) *programs.Process {
	s.t.Helper()
	return s.startDeployerOf("helm", account, namespace)
}

// startDeployerOf does so for a kind of deployer.
func (s *scene) startDeployerOf(kind, account, namespace string, args ...string) *programs.Process {
	s.t.Helper()
	return s.start(account, s.kubeconfig(account, s.token(s.home, account)), append([]string{"deployer", kind, "--identity=" + account,
		"--watch-namespaces=" + namespace, "--oci-mirror=" + s.registry.Host + "=http://127.0.0.1:1",
		"--content-relay=" + s.system + "/landscaper-relay", "--min-retry-delay=100ms", "--max-retry-delay=1s"}, args...)...)
}

// ask sends a request to the relay through the API server with the rights of a ServiceAccount, and a token for the relay.
func (s *scene) ask(account, token string, asked relay.Asked) *http.Response {
	s.t.Helper()
	connection, err := rest.HTTPClientFor(&rest.Config{
		BearerToken: s.token(s.home, account), TLSClientConfig: rest.TLSClientConfig{CAData: s.RestConfig.CAData},
	})
	require.NoError(s.t, err)
	path, query := asked.URL()
	at := fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s/proxy/%s?%s", s.RestConfig.Host, s.system, relay.ProxyName("landscaper-relay"), path, query.Encode())
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, at, nil)
	require.NoError(s.t, err)
	request.Header.Set(relay.TokenHeader, token)
	response, err := connection.Do(request)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// body reads an answer, in which no login may be.
func (s *scene) body(response *http.Response) string {
	s.t.Helper()
	raw, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	for _, secret := range []string{password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
		assert.False(s.t, strings.Contains(string(raw), secret))
	}
	return string(raw)
}

// apiServer returns what the API server answers to a token.
func (s *scene) apiServer(token string) int {
	s.t.Helper()
	connection, err := rest.HTTPClientFor(&rest.Config{BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: s.RestConfig.CAData}})
	require.NoError(s.t, err)
	response, err := connection.Get(s.RestConfig.Host + "/api/v1/namespaces")
	require.NoError(s.t, err)
	defer response.Body.Close()
	return response.StatusCode
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// overlaid returns what a user's kustomization over folders of flux/ builds. {} stands for the folder flux.
func overlaid(t *testing.T, kustomization string) []*unstructured.Unstructured {
	t.Helper()
	folder := t.TempDir()
	flux, err := filepath.Rel(folder, loaded(t).Path("flux"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(strings.ReplaceAll(kustomization, "{}", flux)), 0o600))
	return built(t, folder)
}

// fluxBuilds returns what Flux builds of a folder of flux/ with the components that its Kustomization names: it adds them to the kustomization of the
// folder itself, whose labels come after them.
func fluxBuilds(t *testing.T, folder string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	return fluxBuildsWith(t, folder, func(kustomization map[string]any) { kustomization["components"] = components })
}

// fluxBuildsWith returns what Flux builds of a folder of flux/ whose kustomization it has changed by what its own Kustomization says.
func fluxBuildsWith(t *testing.T, folder string, change func(kustomization map[string]any)) []*unstructured.Unstructured {
	t.Helper()
	root := t.TempDir()
	for _, part := range []string{"flux", "config"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, part), os.DirFS(loaded(t).Path(part))))
	}
	path := filepath.Join(root, "flux", folder, "kustomization.yaml")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	kustomization := map[string]any{}
	require.NoError(t, yaml.Unmarshal(content, &kustomization))
	change(kustomization)
	content, err = yaml.Marshal(kustomization)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return built(t, filepath.Dir(path))
}

// typed returns the objects of the kind of T.
func typed[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []*T {
	t.Helper()
	var found []*T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		one := new(T)
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, one, true), object.GetName())
		found = append(found, one)
	}
	return found
}

func TestAnotherNamespaceReachesEverything(t *testing.T) {
	objects := overlaid(t, `
namespace: elsewhere
resources: ["{}/install", "{}/webhooks", "{}/ui"]
components: ["{}/install/deployer-management", "{}/install/shared-environments", "{}/install/registry-identities", "{}/install/target-tokens", "{}/install/two-replicas", "{}/install/pull-secret"]
`)
	for _, object := range objects {
		raw, err := json.Marshal(object)
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "ls-system", "%s %s", object.GetKind(), object.GetName())
	}
}

// What Flux Kustomizations of users may still name builds, so that Flux removes what was there.
func TestFoldersOfTheContentRelayAreEmpty(t *testing.T) {
	assert.Empty(t, built(t, loaded(t).Path("flux/relay")))
	assert.Empty(t, fluxBuilds(t, "relay", "../install/pull-secret"))
	for folder, component := range map[string]string{"agent-access": "content-relay", "own-environment": "../agent-access/content-relay"} {
		assert.Equal(t, builtFrom(t, "flux/"+folder), fluxBuilds(t, folder, component))
	}
}

func TestTwoReplicasHaveAMinimumOfOne(t *testing.T) {
	for form, objects := range map[string][]*unstructured.Unstructured{
		"of a user": overlaid(t, `{resources: ["{}/install"], components: ["{}/install/two-replicas"]}`),
		"of Flux":   fluxBuilds(t, "install", "two-replicas"),
	} {
		t.Run(form, func(t *testing.T) { requireTwoReplicas(t, objects) })
	}
}

func requireTwoReplicas(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	budgets := map[string]bool{}
	for _, budget := range typed[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget") {
		assert.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
		budgets[budget.Spec.Selector.MatchLabels["app.kubernetes.io/name"]] = true
	}
	for _, deployment := range deployments(t, objects) {
		assert.EqualValues(t, 2, *deployment.Spec.Replicas, deployment.Name)
		assert.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, deployment.Spec.Strategy.Type, deployment.Name)
		assert.Contains(t, deployment.Spec.Template.Spec.Containers[0].Args, "--enable-leader-election", "only one of the two works")
		assert.Len(t, deployment.Spec.Template.Spec.TopologySpreadConstraints, 1)
		assert.True(t, budgets[deployment.Spec.Template.Labels["app.kubernetes.io/name"]], deployment.Name)
	}
}

func TestPullSecretIsForEachProcess(t *testing.T) {
	for form, objects := range map[string][]*unstructured.Unstructured{
		"of a user":         overlaid(t, `{resources: ["{}/install"], components: ["{}/install/pull-secret"]}`),
		"of Flux":           fluxBuilds(t, "install", "pull-secret"),
		"of the webhooks":   fluxBuilds(t, "webhooks", "../install/pull-secret"),
		"of the page":       fluxBuilds(t, "ui", "../install/pull-secret"),
		"of the agent":      fluxBuilds(t, "agent", "../install/pull-secret"),
		"of the containers": fluxBuilds(t, "container-deployer", "../install/pull-secret"),
	} {
		t.Run(form, func(t *testing.T) {
			with := map[string]bool{}
			for _, account := range typed[corev1.ServiceAccount](t, objects, "ServiceAccount") {
				with[account.Name] = len(account.ImagePullSecrets) == 1 && account.ImagePullSecrets[0].Name == "landscaper-pull"
			}
			all := typed[appsv1.Deployment](t, objects, "Deployment")
			assert.NotEmpty(t, all)
			for _, deployment := range all {
				assert.True(t, with[deployment.Spec.Template.Spec.ServiceAccountName], deployment.Name)
			}
		})
	}
}

// peer is a Pod, or what connects from outside of the cluster where it has no namespace.
type peer struct {
	namespace string
	labels    map[string]string
}

// admits evaluates the ingress rules of network policies, as the API describes them: a Pod that no policy selects takes everything.
func admits(t *testing.T, policies []*networkingv1.NetworkPolicy, from, to peer, port int) bool {
	t.Helper()
	matches := func(selector *metav1.LabelSelector, set map[string]string) bool {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		require.NoError(t, err)
		return parsed.Matches(klabels.Set(set))
	}
	allows := func(policy *networkingv1.NetworkPolicy, rule networkingv1.NetworkPolicyIngressRule) bool {
		isPort, isPeer := len(rule.Ports) == 0, len(rule.From) == 0
		for _, p := range rule.Ports {
			isPort = isPort || p.Port.IntValue() == port
		}
		for _, p := range rule.From {
			inNamespace := p.NamespaceSelector == nil && from.namespace == policy.Namespace ||
				p.NamespaceSelector != nil && from.namespace != "" && matches(p.NamespaceSelector, map[string]string{corev1.LabelMetadataName: from.namespace})
			isPeer = isPeer || inNamespace && (p.PodSelector == nil || matches(p.PodSelector, from.labels))
		}
		return isPort && isPeer
	}
	selected := false
	for _, policy := range policies {
		if policy.Namespace != to.namespace || !matches(&policy.Spec.PodSelector, to.labels) {
			continue
		}
		selected = true
		for _, rule := range policy.Spec.Ingress {
			if allows(policy, rule) {
				return true
			}
		}
	}
	return !selected
}

// fluxPolicies are those that Flux installs in its namespace.
const fluxPolicies = `
- metadata: {name: allow-egress, namespace: flux-system}
  spec: {podSelector: {}, policyTypes: [Ingress, Egress], egress: [{}], ingress: [{from: [{podSelector: {}}]}]}
- metadata: {name: allow-scraping, namespace: flux-system}
  spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}], ports: [{port: 8080, protocol: TCP}]}]}
- metadata: {name: allow-webhooks, namespace: flux-system}
  spec: {podSelector: {matchLabels: {app: notification-controller}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}]}]}
`

func TestPoliciesLetLandscaperReachFlux(t *testing.T) {
	var policies []*networkingv1.NetworkPolicy
	require.NoError(t, yaml.Unmarshal([]byte(fluxPolicies), &policies))
	source := peer{"flux-system", map[string]string{"app": "source-controller"}}
	processes := append(deployments(t, installed(t)), typed[appsv1.Deployment](t, builtFrom(t, "flux/container-deployer"), "Deployment")...)
	of := func(deployment *appsv1.Deployment) peer {
		return peer{deployment.Namespace, deployment.Spec.Template.Labels}
	}
	assert.False(t, admits(t, policies, of(processes[0]), source, 9090), "the policies of Flux keep landscaper away")

	policies = append(policies, typed[networkingv1.NetworkPolicy](t, builtFrom(t, "flux/policies"), "NetworkPolicy")...)

	notification := peer{"flux-system", map[string]string{"app": "notification-controller"}}
	for _, process := range processes {
		assert.True(t, admits(t, policies, of(process), source, 9090), "%s downloads artifacts", process.Name)
		assert.True(t, admits(t, policies, of(process), notification, 9090), "%s posts events", process.Name)
	}
	agents := typed[appsv1.Deployment](t, substituted(t, "resources: [\"{}/own-environment\"]\n", map[string]string{"environment": "default"}), "Deployment")
	require.Len(t, agents, 1)
	assert.True(t, admits(t, policies, of(agents[0]), source, 9090), "the own agent downloads artifacts")
	for _, chart := range []string{"helm-deployer", "manifest-deployer", "container-deployer"} {
		deployer := peer{agents[0].Namespace, map[string]string{"app.kubernetes.io/name": chart}} // as in charts/process
		assert.True(t, admits(t, policies, deployer, source, 9090), "the %s beside it, too", chart)
	}
	for name, stranger := range map[string]peer{
		"a Pod of an own deployer":   {"ls-deployers", map[string]string{"app": "something"}},
		"a Pod beside the processes": {"ls-system", map[string]string{"app": "something"}},
		"a Pod of a DeployItem":      {"ls-containers", nil},
		"a Pod of a tenant":          {"shop", map[string]string{"app.kubernetes.io/name": "landscaper-controller"}},
	} {
		assert.False(t, admits(t, policies, stranger, source, 9090), "%s reads artifacts", name)
	}
}

func TestPoliciesKeepOthersFromLandscaper(t *testing.T) {
	policies := typed[networkingv1.NetworkPolicy](t, builtFrom(t, "flux/policies"), "NetworkPolicy")
	controller := peer{"ls-system", map[string]string{"app.kubernetes.io/name": "landscaper-controller"}}
	webhooks := peer{"ls-system", map[string]string{"app.kubernetes.io/name": "landscaper-webhooks"}}
	scraper, outside, tenant := peer{"monitoring", nil}, peer{}, peer{"shop", nil}
	for name, c := range map[string]struct {
		from, to peer
		port     int
		want     bool
	}{
		"metrics":                       {scraper, controller, 8080, true},
		"the API server asks":           {outside, webhooks, 9443, true},
		"a tenant asks the webhooks":    {tenant, webhooks, 9443, true}, // it cannot be told from API servers, and learns nothing
		"a tenant at another port":      {tenant, controller, 9440, false},
		"from outside to the processes": {outside, controller, 8080, false},
	} {
		assert.Equal(t, c.want, admits(t, policies, c.from, c.to, c.port), name)
	}
}

func TestThePageIsReachedByItsProxyOnly(t *testing.T) {
	objects := builtFrom(t, "flux/ui")
	deployment := typed[appsv1.Deployment](t, objects, "Deployment")[0]
	page := peer{"ls-system", deployment.Spec.Template.Labels}
	proxied := map[string]string{"landscaper.gardener.cloud/ui-proxy": "true"}
	for name, policies := range map[string][]*networkingv1.NetworkPolicy{
		"alone":               typed[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy"),
		"beside the policies": typed[networkingv1.NetworkPolicy](t, append(builtFrom(t, "flux/policies"), objects...), "NetworkPolicy"),
	} {
		t.Run(name, func(t *testing.T) {
			assert.True(t, admits(t, policies, peer{"ls-system", proxied}, page, 8443))
			assert.True(t, admits(t, policies, peer{"monitoring", nil}, page, 8080), "metrics are scraped")
			assert.False(t, admits(t, policies, peer{"shop", proxied}, page, 8443), "a tenant takes the label of the proxy")
			assert.False(t, admits(t, policies, peer{"ls-system", nil}, page, 8443), "another Pod beside it")
			assert.False(t, admits(t, policies, peer{}, page, 8443), "from outside")
		})
	}
}

func TestTheProxyOfThePageProvesItself(t *testing.T) {
	const certificate, secret = "--requestheader-client-ca-file=/etc/landscaper/ui/ca.crt", "--requestheader-secret-file=/etc/landscaper/ui/secret"
	args := func(objects []*unstructured.Unstructured) []string {
		return typed[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.Containers[0].Args
	}
	assert.Contains(t, args(builtFrom(t, "flux/ui")), certificate)
	assert.NotContains(t, args(builtFrom(t, "flux/ui")), secret)

	shared := args(fluxBuilds(t, "ui", "shared-secret"))

	assert.Contains(t, shared, secret)
	assert.NotContains(t, shared, certificate)
	requireFlags(t, typed[appsv1.Deployment](t, fluxBuilds(t, "ui", "shared-secret"), "Deployment"))
}

var metricName = regexp.MustCompile(`\b(?:landscaper|gotk|controller_runtime|workqueue|rest_client|process)_[a-z_]+`)

func TestMonitoringUsesMetricsThatAreDocumented(t *testing.T) {
	documented := string(content(t, "docs/operate/monitor.md"))
	known := map[string]bool{"gotk_resource_info": true, "process_resident_memory_bytes": true, "workqueue_longest_running_processor_seconds": true}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		used := metricName.FindAllString(string(content(t, "flux/monitoring/"+file)), -1)
		assert.NotEmpty(t, used, file)
		for _, name := range used {
			name = strings.TrimSuffix(name, "_bucket")
			short := strings.TrimPrefix(name, "controller_runtime_reconcile_")
			assert.True(t, known[name] || strings.Contains(documented, name) || strings.Contains(documented, "..._"+short), "%s of %s", name, file)
		}
	}
}

func TestDashboardNamesNoNamespace(t *testing.T) {
	assert.NotContains(t, string(content(t, "flux/monitoring/dashboard.json")), "ls-system", "the dashboard shows nothing where landscaper lies in another namespace")
	for _, monitor := range builtFrom(t, "flux/monitoring") {
		if monitor.GetKind() == "PodMonitor" {
			assert.Equal(t, "landscaper", monitor.GetName(), "the queries find the processes by the job, which is namespace and name of the PodMonitor")
		}
	}
}

func TestMonitoringReadsStatusThatExists(t *testing.T) {
	var config struct {
		Spec struct {
			Resources []struct{ GroupVersionKind metav1.GroupVersionKind }
		}
	}
	require.NoError(t, yaml.Unmarshal(content(t, "flux/monitoring/kube-state-metrics.yaml"), &config))
	hasConditions := map[string]bool{}
	for _, definition := range typed[apiextensionsv1.CustomResourceDefinition](t, builtFrom(t, "flux/crds"), "CustomResourceDefinition") {
		for _, version := range definition.Spec.Versions {
			status := version.Schema.OpenAPIV3Schema.Properties["status"]
			_, has := status.Properties["conditions"]
			hasConditions[definition.Spec.Group+"/"+version.Name+"/"+definition.Spec.Names.Kind] = has
		}
	}
	assert.NotEmpty(t, config.Spec.Resources)
	for _, resource := range config.Spec.Resources {
		kind := resource.GroupVersionKind
		assert.True(t, hasConditions[kind.Group+"/"+kind.Version+"/"+kind.Kind], kind.String())
	}
}

func TestMonitoringScrapesEachProcess(t *testing.T) {
	monitors := builtFrom(t, "flux/monitoring")
	for _, monitor := range monitors {
		if monitor.GetKind() != "PodMonitor" {
			continue
		}
		raw, found, err := unstructured.NestedMap(monitor.Object, "spec", "selector")
		require.NoError(t, err)
		require.True(t, found)
		selector := &metav1.LabelSelector{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(raw, selector))
		chosen, err := metav1.LabelSelectorAsSelector(selector)
		require.NoError(t, err)
		for _, folder := range []string{"flux/install", "flux/webhooks", "flux/ui", "flux/container-deployer"} {
			for _, deployment := range typed[appsv1.Deployment](t, builtFrom(t, folder), "Deployment") {
				assert.True(t, chosen.Matches(klabels.Set(deployment.Spec.Template.Labels)), deployment.Name)
				assert.Equal(t, "http-prom", deployment.Spec.Template.Spec.Containers[0].Ports[portOf(deployment, 8080)].Name, deployment.Name)
			}
		}
	}
}

func portOf(deployment *appsv1.Deployment, number int32) int {
	for i, port := range deployment.Spec.Template.Spec.Containers[0].Ports {
		if port.ContainerPort == number {
			return i
		}
	}
	return 0
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(loaded(t).Path(path))
	require.NoError(t, err)
	return raw
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/agent"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/publishing/release"
)

type object = map[string]any

// rendered are the objects of a chart.
type rendered struct {
	*testing.T
	objects []runtime.Object
}

// render renders the chart of that name as release "edge" in namespace "fence", and decodes every object strictly.
func render(t *testing.T, name string, values object) rendered {
	t.Helper()
	return renderAs(t, chartutil.ReleaseOptions{Name: "edge", Namespace: "fence"}, name, values)
}

func renderAs(t *testing.T, as chartutil.ReleaseOptions, name string, values object) rendered {
	t.Helper()
	files, err := tryRenderAs(t, as, name, values)
	require.NoError(t, err)
	r := rendered{T: t}
	for name, text := range files {
		for _, document := range strings.Split(text, "\n---\n") {
			if strings.HasSuffix(name, ".tpl") || strings.HasSuffix(name, ".txt") || strings.TrimSpace(document) == "" {
				continue
			}
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
			require.NoError(t, err, "%s\n%s", name, document)
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), object), "%s\n%s", name, document)
			r.objects = append(r.objects, object)
		}
	}
	return r
}

// tryRender returns the texts of the templates by their names.
func tryRender(t *testing.T, name string, values object) (map[string]string, error) {
	t.Helper()
	return tryRenderAs(t, chartutil.ReleaseOptions{Name: "edge", Namespace: "fence"}, name, values)
}

// tryRenderAs returns the texts of the templates of a release.
func tryRenderAs(t *testing.T, as chartutil.ReleaseOptions, name string, values object) (map[string]string, error) {
	t.Helper()
	return tryRenderChart(t, as, released(t, name, ""), values)
}

// released is a chart of a release whose image has a digest.
func released(t *testing.T, name, digest string) *chart.Chart {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "chart")
	require.NoError(t, release.Chart(folder, name, release.Options{
		Source: "../..", Repository: "registry.example.com/landscaper", Release: containerimage.Release{Version: "v1.2.3"}, Digest: digest,
	}))
	chart, err := loader.LoadDir(folder)
	require.NoError(t, err)
	require.NoError(t, chart.Validate())
	require.NoError(t, action.CheckDependencies(chart, chart.Metadata.Dependencies))
	return chart
}

func tryRenderChart(t *testing.T, as chartutil.ReleaseOptions, chart *chart.Chart, values object) (map[string]string, error) {
	t.Helper()
	require.NoError(t, chartutil.ProcessDependenciesWithMerge(chart, values))
	all, err := chartutil.ToRenderValues(chart, values, as, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// find returns the objects of a type.
func find[O runtime.Object](r rendered) []O {
	var found []O
	for _, object := range r.objects {
		if typed, ok := object.(O); ok {
			found = append(found, typed)
		}
	}
	return found
}

func (r rendered) deployment() *appsv1.Deployment {
	r.Helper()
	found := find[*appsv1.Deployment](r)
	require.Len(r, found, 1)
	return found[0]
}

// configuration returns the configuration file.
func (r rendered) configuration() object {
	r.Helper()
	for _, secret := range find[*corev1.Secret](r) {
		if text, ok := secret.StringData["config.yaml"]; ok {
			var config object
			require.NoError(r, yaml.Unmarshal([]byte(text), &config))
			return config
		}
	}
	require.Fail(r, "the chart has no configuration")
	return nil
}

func TestEachDeployerHasAChart(t *testing.T) {
	versions := map[string]string{"manifest": "v1alpha2"}
	for _, deployer := range []string{"helm", "manifest", "container", "mock"} {
		t.Run(deployer, func(t *testing.T) {
			r := render(t, deployer+"-deployer", nil)

			container := r.deployment().Spec.Template.Spec.Containers[0]
			assert.Equal(t, "registry.example.com/landscaper:v1.2.3", container.Image)
			assert.Equal(t, []string{"deployer", deployer}, container.Args[:2])
			version := versions[deployer]
			if version == "" {
				version = "v1alpha1"
			}
			assert.Equal(t, deployer+".deployer.landscaper.gardener.cloud/"+version, r.configuration()["apiVersion"])
			roles := find[*rbacv1.ClusterRole](r)
			require.Len(t, roles, 1, "the DeployItems are in the same cluster")
			assert.NotEmpty(t, roles[0].Rules)
		})
	}
}

func TestADeployerReachesAnotherCluster(t *testing.T) {
	for name, c := range map[string]struct {
		access object
		secret string
		made   bool
	}{
		"by the text of a kubeconfig": {object{"kubeconfig": "apiVersion: v1\n"}, "edge-helm-deployer-landscaper-cluster-kubeconfig", true},
		"by a Secret":                 {object{"secretRef": "access"}, "access", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := render(t, "helm-deployer", object{"deployer": object{"landscaperClusterKubeconfig": c.access}})

			pod := r.deployment().Spec.Template.Spec
			assert.Contains(t, pod.Containers[0].Args, "--landscaper-kubeconfig=/etc/landscaper/cluster/kubeconfig")
			var mounted []string
			for _, volume := range pod.Volumes {
				if volume.Secret != nil {
					mounted = append(mounted, volume.Secret.SecretName)
				}
			}
			assert.Contains(t, mounted, c.secret)
			assert.Empty(t, find[*rbacv1.ClusterRole](r), "its rights are those of the kubeconfig")
			role := named[*rbacv1.Role](r, "edge-helm-deployer")
			for _, group := range []string{"", "events.k8s.io"} {
				assert.True(t, slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
					return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, "events") && slices.Contains(rule.Verbs, "create")
				}), "it tells of its election in the own cluster, by events of %q", group)
			}
			made := false
			for _, secret := range find[*corev1.Secret](r) {
				made = made || secret.Name == c.secret
			}
			assert.Equal(t, c.made, made)
		})
	}
}

func TestValuesBecomeTheConfiguration(t *testing.T) {
	selector := []any{object{"annotations": []any{object{"key": "environment", "operator": "=", "values": []any{"edge"}}}}}
	r := render(t, "container-deployer", object{"image": object{"tag": "sha256:00"}, "deployer": object{
		"identity": "container-edge", "targetSelector": selector, "environment": "edge", "watchNamespaces": []any{"a", "b"}, "namespace": "pods", "verbosityLevel": "debug",
		"defaultImage": object{"repository": "alpine", "tag": "3"}, "oci": object{"secrets": object{"logins": object{"auths": object{}}}},
	}})

	config := r.configuration()

	assert.Equal(t, "container-edge", config["identity"])
	assert.Equal(t, selector, config["targetSelector"])
	assert.Equal(t, "pods", config["namespace"])
	assert.Equal(t, object{"image": "alpine:3"}, config["defaultImage"])
	assert.Equal(t, object{"configFiles": []any{"/etc/landscaper/registries/logins"}}, config["oci"])
	container := r.deployment().Spec.Template.Spec.Containers[0]
	assert.Equal(t, "registry.example.com/landscaper@sha256:00", container.Image)
	assert.Subset(t, container.Args, []string{"--environment=edge", "--log-level=debug", "--watch-namespaces=a,b"})
	namespaces := map[string]bool{}
	for _, role := range find[*rbacv1.Role](r) {
		namespaces[role.Namespace] = true
	}
	assert.Equal(t, map[string]bool{"": true, "pods": true}, namespaces)
}

func TestTheLeaseOfADeployerBehindAFenceGoesWithIt(t *testing.T) {
	r := render(t, "mock-deployer", object{"deployer": object{"environment": "edge", "landscaperClusterKubeconfig": object{"secretRef": "access"}}})
	lease := named[*coordinationv1.Lease](r, "landscaper-mock-deployer-edge")
	assert.Equal(t, managedresource.SSAIfNotPresent, lease.Annotations[managedresource.SSAAnnotation], "its holder writes it")
	assert.Empty(t, find[*coordinationv1.Lease](render(t, "mock-deployer", nil)))
}

func TestTheAgentHasAChart(t *testing.T) {
	r := render(t, "landscaper-agent", object{"agent": object{
		"landscaperClusterKubeconfig": object{"secretRef": object{"name": "access"}}, "verbosity": "debug", "eventsAddr": "http://events", "extraArgs": []any{"--instance=a"},
		"targetNamespaces": []any{"shop"}, "registryConfig": object{"secrets": object{"logins": object{"auths": object{}}}},
	}})

	assert.Equal(t, object{
		"apiVersion": "config.landscaper.gardener.cloud/v1alpha1", "kind": "AgentConfiguration", "name": "edge", "namespace": "fence",
		"landscaperNamespace": "ls-env-edge", "hostRights": "Namespace", "targetNamespaces": []any{"shop"},
		"oci": object{"configFiles": []any{"/etc/landscaper/registries/logins"}},
	}, r.configuration())
	container := r.deployment().Spec.Template.Spec.Containers[0]
	assert.Equal(t, []string{
		"agent", "--bootstrap-kubeconfig=/etc/landscaper/cluster/bootstrap-kubeconfig", "--events-addr=http://events", "--instance=a", "--config=/etc/landscaper/configuration/config.yaml", "--log-level=debug",
		"--landscaper-kubeconfig=/etc/landscaper/cluster/kubeconfig",
	}, container.Args)
	text, err := yaml.Marshal(r.configuration())
	require.NoError(t, err)
	_, unknown, err := agent.ReadConfiguration(text)
	require.NoError(t, err)
	assert.Empty(t, unknown)
}

func TestTheAgentHasTheRightsOfFluxAgent(t *testing.T) {
	access := object{"kubeconfig": "apiVersion: v1\n"}
	r := render(t, "landscaper-agent", object{"agent": object{"name": "north", "namespace": "deployers", "landscaperClusterKubeconfig": access}})
	roles := find[*rbacv1.Role](r)
	require.Len(t, roles, 1)
	assert.Equal(t, "deployers", roles[0].Namespace)
	var tokens []string
	for _, rule := range roles[0].Rules {
		if slices.Contains(rule.Resources, "serviceaccounts/token") {
			tokens = rule.ResourceNames
		}
	}
	assert.Equal(t, []string{"deployer-north"}, tokens)
	clusterRoles := find[*rbacv1.ClusterRole](r)
	require.Len(t, clusterRoles, 1)
	assert.Equal(t, []string{"landscaper:agent:deployer:north"}, clusterRoles[0].Rules[0].ResourceNames)
	assert.Len(t, find[*rbacv1.ClusterRoleBinding](r), 1)

	r = render(t, "landscaper-agent", object{"agent": object{"hostRights": "Cluster", "landscaperClusterKubeconfig": access}})
	assert.Len(t, find[*rbacv1.ClusterRoleBinding](r), 2, "it gives all rights, so it needs them")
}

func TestAgentsBesideEachOtherShareNothing(t *testing.T) {
	keysOf := func(as chartutil.ReleaseOptions, environment string) map[string]bool {
		keys := map[string]bool{}
		for _, made := range renderAs(t, as, "landscaper-agent", object{"agent": object{
			"name": environment, "namespace": "deployers", "hostRights": "Cluster", "landscaperClusterKubeconfig": object{"kubeconfig": "apiVersion: v1\n"},
		}}).objects {
			meta := made.(metav1.Object)
			keys[fmt.Sprintf("%T %s/%s", made, cmp.Or(meta.GetNamespace(), as.Namespace), meta.GetName())] = true
		}
		return keys
	}
	first := keysOf(chartutil.ReleaseOptions{Name: "agent", Namespace: "fence"}, "north")
	require.Contains(t, first, "*v1.Role deployers/fence:agent-landscaper-agent")
	for name, as := range map[string]chartutil.ReleaseOptions{
		"in one namespace": {Name: "other", Namespace: "fence"}, "in two namespaces": {Name: "agent", Namespace: "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			for key := range keysOf(as, "south") {
				assert.NotContains(t, first, key)
			}
		})
	}
}

func TestAContentRelayIsRefusedWithItsCure(t *testing.T) {
	for chart, part := range map[string]string{"landscaper-agent": "agent", "helm-deployer": "deployer", "container-deployer": "deployer"} {
		t.Run(chart, func(t *testing.T) {
			_, err := tryRender(t, chart, reached(chart, object{part: object{"contentRelay": "ls-system/landscaper-relay"}}))
			require.ErrorContains(t, err, part+".contentRelay: there is no content relay; fill a registry inside the fence with flux-landscaper mirror push")
			render(t, chart, reached(chart, object{part: object{"contentRelay": ""}}))
		})
	}
}

// Each process ends by itself, and not its node, where it grows. The children that render charts, four by default, fit in beside their parent.
func TestTheGarbageCollectorGoesByTheMemoryLimit(t *testing.T) {
	for _, chart := range append(names(), release.AgentChart) {
		for name, tc := range map[string]struct {
			values object
			want   string
		}{
			"as the chart has it": {object{}, shippedLimits[chart]},
			"of a user":           {object{"resources": object{"limits": object{"memory": "3Gi"}}}, "3Gi"},
		} {
			t.Run(chart+" "+name, func(t *testing.T) {
				container := render(t, chart, reached(chart, tc.values)).deployment().Spec.Template.Spec.Containers[0]
				assert.Equal(t, tc.want, container.Resources.Limits.Memory().String())
				at := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == "GOMEMLIMIT" })
				require.GreaterOrEqual(t, at, 0)
				assert.Equal(t, "limits.memory", container.Env[at].ValueFrom.ResourceFieldRef.Resource)
			})
		}
		none := render(t, chart, reached(chart, object{"resources": object{"limits": nil}})).deployment().Spec.Template.Spec.Containers[0]
		assert.True(t, none.Resources.Limits.Memory().IsZero(), chart)
		assert.False(t, slices.ContainsFunc(none.Env, func(v corev1.EnvVar) bool { return v.Name == "GOMEMLIMIT" }), "%s: without a limit it would be that of the node", chart)
	}
}

// shippedLimits are the memory limits that charts have without values, those of flux/install where it has the process.
var shippedLimits = map[string]string{
	"helm-deployer": "2560Mi", "manifest-deployer": "1Gi", "container-deployer": "1Gi", "mock-deployer": "512Mi", release.AgentChart: "2560Mi",
}

// What a proxy with a login, and registries with an authority of their own, need.
func TestVariablesAndFilesReachTheProcess(t *testing.T) {
	for _, chart := range append(names(), release.AgentChart) {
		t.Run(chart, func(t *testing.T) {
			pod := render(t, chart, reached(chart, object{
				"env":          []any{object{"name": "HTTPS_PROXY", "valueFrom": object{"secretKeyRef": object{"name": "proxy", "key": "url"}}}},
				"volumes":      []any{object{"name": "authorities", "configMap": object{"name": "authorities"}}},
				"volumeMounts": []any{object{"name": "authorities", "mountPath": "/etc/ssl/certs/own.crt", "subPath": "own.crt"}},
			})).deployment().Spec.Template.Spec

			container := pod.Containers[0]
			assert.Equal(t, "HTTPS_PROXY", container.Env[len(container.Env)-1].Name)
			assert.Equal(t, "proxy", container.Env[len(container.Env)-1].ValueFrom.SecretKeyRef.Name)
			assert.True(t, slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "authorities" }))
			assert.True(t, slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/ssl/certs/own.crt" }))
			_, err := tryRender(t, chart, reached(chart, object{"env": object{"HTTPS_PROXY": "a"}}))
			require.ErrorContains(t, err, "env", "a map is not what containers have")
		})
	}
}

func TestDeployersReportToTheOwnFlux(t *testing.T) {
	for _, chart := range names() {
		args := func(values object) []string {
			return render(t, chart, values).deployment().Spec.Template.Spec.Containers[0].Args
		}
		assert.Contains(t, args(object{"deployer": object{"eventsAddr": "http://events"}}), "--events-addr=http://events", chart)
		assert.NotContains(t, strings.Join(args(nil), " "), "--events-addr", chart)
	}
}

func TestMonitoringScrapesWhatChartsInstall(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "flux", "monitoring", "scraping.yaml"))
	require.NoError(t, err)
	var monitor struct {
		Spec struct {
			Selector            metav1.LabelSelector
			PodMetricsEndpoints []struct{ Port string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &monitor))
	chosen, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	require.NoError(t, err)
	require.Len(t, monitor.Spec.PodMetricsEndpoints, 1)
	for _, chart := range append(names(), release.AgentChart, release.LandscaperChart) {
		values := object{}
		if chart != release.LandscaperChart {
			values = reached(chart, values)
		}
		for _, deployment := range find[*appsv1.Deployment](render(t, chart, values)) {
			pod := deployment.Spec.Template
			assert.True(t, chosen.Matches(labels.Set(pod.Labels)), "%s: %v", deployment.Name, pod.Labels)
			assert.True(t, slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
				return p.Name == monitor.Spec.PodMetricsEndpoints[0].Port
			}), deployment.Name)
		}
	}
}

func TestTheAgentNeedsAnAccess(t *testing.T) {
	_, err := tryRender(t, "landscaper-agent", nil)
	assert.ErrorContains(t, err, "agent.landscaperClusterKubeconfig: give secretRef")
}

// reached adds to values what the chart of the agent cannot do without: how the landscaper cluster is reached.
func reached(name string, values object) object {
	if name != release.AgentChart {
		return values
	}
	agent, isSet := values["agent"].(object)
	if !isSet {
		agent = object{}
	}
	if agent["landscaperClusterKubeconfig"] == nil {
		agent["landscaperClusterKubeconfig"] = object{"secretRef": "access"}
	}
	values["agent"] = agent
	return values
}

func TestValuesThatNobodyReadsAreRefused(t *testing.T) {
	charts := append([]string{release.AgentChart}, names()...)
	for _, chart := range charts {
		part := map[bool]string{true: "agent", false: "deployer"}[chart == release.AgentChart]
		for name, c := range map[string]struct {
			values object
			says   string
		}{
			"at the top":         {object{"replicas": 2}, "replicas"},
			"of the process":     {object{part: object{"identiy": "a"}}, "identiy"},
			"of the image":       {object{"image": object{"name": "a"}}, "name"},
			"of the access":      {object{part: object{"landscaperClusterKubeconfig": object{"secret": "a"}}}, "secret"},
			"of another type":    {object{"replicaCount": "two"}, "replicaCount"},
			"no pull policy":     {object{"image": object{"pullPolicy": "Sometimes"}}, "pullPolicy"},
			"no account setting": {object{"serviceAccount": object{"created": true}}, "created"},
		} {
			t.Run(chart+"/"+name, func(t *testing.T) {
				_, err := tryRender(t, chart, reached(chart, c.values))
				require.Error(t, err)
				assert.Contains(t, err.Error(), c.says)
			})
		}
	}
	for chart, values := range map[string]object{
		"helm-deployer":      {"deployer": object{"defaultImage": object{"repository": "a"}}},
		"landscaper-agent":   reached("landscaper-agent", object{"agent": object{"hostRights": "All"}}),
		"container-deployer": {"deployer": object{"defaultImage": object{"name": "a"}}},
	} {
		_, err := tryRender(t, chart, values)
		assert.Error(t, err, chart)
	}
}

// names are those of the charts of deployers.
func names() []string {
	var all []string
	for _, deployer := range []string{"helm", "manifest", "container", "mock"} {
		all = append(all, deployer+"-deployer")
	}
	return all
}

func TestEachValueIsTaken(t *testing.T) {
	shared := object{
		"global": object{"a": "b"}, "enabled": true, "replicaCount": 2, "image": object{"repository": "r", "tag": "t", "pullPolicy": "Always"},
		"imagePullSecrets": []any{object{"name": "s"}}, "nameOverride": "n", "fullnameOverride": "full",
		"serviceAccount": object{"create": false, "annotations": object{"a": "b"}, "name": "n"}, "podAnnotations": object{"a": "b"},
		"podSecurityContext": object{"fsGroup": 1}, "securityContext": object{"privileged": false}, "resources": object{"limits": object{"cpu": 1}},
		"nodeSelector": object{"a": "b"}, "tolerations": []any{object{"key": "a"}}, "affinity": object{"nodeAffinity": object{}},
		"env": []any{object{"name": "A", "value": "b"}}, "volumes": []any{object{"name": "v", "emptyDir": object{}}}, "volumeMounts": []any{object{"name": "v", "mountPath": "/v"}},
	}
	selectors := []any{object{"targets": []any{object{"name": "a"}}, "annotations": []any{object{"key": "a"}}, "labels": []any{object{"key": "a"}}}}
	logins := object{"logins": object{"auths": object{}}}
	process := object{
		"landscaperClusterKubeconfig": object{"kubeconfig": "apiVersion: v1"}, "identity": "i", "namespace": "n", "verbosityLevel": "error",
		"targetSelector": selectors, "environment": "e", "watchNamespaces": []any{"a"}, "eventsAddr": "http://e", "extraArgs": []any{"--a"}, "k8sClientSettings": object{"hostClient": object{"qps": 1}},
		"controller": object{"workers": 3, "cacheSyncTimeout": "2m"}, "oci": object{"secrets": logins, "allowPlainHttp": true, "insecureSkipVerify": false},
	}
	for _, chart := range append(names(), release.AgentChart) {
		t.Run(chart, func(t *testing.T) {
			values := object{}
			maps.Copy(values, shared)
			switch chart {
			case release.AgentChart:
				values["agent"] = object{
					"name": "a", "namespace": "n", "landscaperClusterKubeconfig": object{"secretRef": object{"name": "s"}}, "landscaperNamespace": "l",
					"hostRights": "Cluster", "targetNamespaces": []any{"a"}, "targetSelectors": selectors, "verbosity": "info", "eventsAddr": "http://e",
					"registryConfig": object{"secrets": logins, "cache": object{}, "allowPlainHttpRegistries": false, "insecureSkipVerify": false}, "extraArgs": []any{"--a"},
				}
			default:
				own := object{}
				maps.Copy(own, process)
				if chart == "container-deployer" {
					own["defaultImage"], own["initContainer"], own["waitContainer"] = object{"repository": "r", "tag": "t"}, object{"repository": "r"}, object{"tag": "t"}
				}
				values["deployer"], values["hpa"] = own, object{"maxReplicas": 1, "averageCpuUtilization": 80, "averageMemoryUtilization": 80}
			}
			made := render(t, chart, values).deployment()
			assert.Equal(t, "full", made.Name)
			assert.Equal(t, "n", made.Labels["app.kubernetes.io/name"], "no name is taken for another type of YAML")
		})
	}
}

// everyChart are the names of all charts.
func everyChart(t *testing.T) (names []string) {
	t.Helper()
	folders, err := filepath.Glob("../../charts/*/Chart.yaml")
	require.NoError(t, err)
	require.Len(t, folders, 9)
	for _, file := range folders {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

func TestAChartOfTheCheckoutRefuses(t *testing.T) {
	for _, name := range everyChart(t) {
		t.Run(name, func(t *testing.T) {
			chart, err := loader.LoadDir(filepath.Join("../../charts", name))
			require.NoError(t, err)
			require.NoError(t, action.CheckDependencies(chart, chart.Metadata.Dependencies), "Helm says this before the chart says its sentence")
			values, err := chartutil.ToRenderValues(chart, nil, chartutil.ReleaseOptions{Name: "edge", Namespace: "fence"}, nil)
			require.NoError(t, err)
			_, err = engine.Render(chart, values)
			require.ErrorContains(t, err, "use oci://ghcr.io/flux-landscaper/charts/"+name+",")
		})
	}
}

func TestChartsOfAReleaseSayWhatTheyAreAndWhatComesNext(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	parts := []string{release.ControllerChart, release.RightsChart} // of another chart, which says what comes next
	for _, name := range everyChart(t) {
		t.Run(name, func(t *testing.T) {
			made := released(t, name, digest)
			about := made.Metadata
			assert.Equal(t, ">=1.31.0-0", about.KubeVersion)
			for what, said := range map[string]string{"icon": about.Icon, "home": about.Home, "description": about.Description} {
				assert.NotEmpty(t, said, what)
			}
			assert.NotEmpty(t, about.Keywords)
			assert.NotEmpty(t, about.Sources)
			assert.True(t, slices.ContainsFunc(made.Raw, func(file *chart.File) bool { return file.Name == "README.md" }))

			files, err := tryRenderChart(t, chartutil.ReleaseOptions{Name: "edge", Namespace: "fence"}, made, reached(name, object{}))
			require.NoError(t, err)
			if !slices.Contains(parts, name) {
				assert.Contains(t, files[name+"/templates/NOTES.txt"], "\nNext: ")
			}
			for file, text := range files {
				for _, image := range imageLine.FindAllStringSubmatch(text, -1) {
					assert.Equal(t, "registry.example.com/landscaper:v1.2.3@"+digest, image[1], file)
				}
			}
		})
	}
}

// imageLine is a line of a Pod that names its image.
var imageLine = regexp.MustCompile(`(?m)^ *(?:- )?image: "?([^"\n]*)"?$`)

func TestTheWholeChartHasControllerAndDeployers(t *testing.T) {
	all := func(values object) (names []string) {
		r := render(t, release.WholeChart, values)
		for _, deployment := range find[*appsv1.Deployment](r) {
			names = append(names, deployment.Name)
		}
		slices.Sort(names)
		return names
	}
	assert.Equal(t, []string{"edge-helm-deployer", "edge-landscaper", "edge-landscaper-webhooks", "edge-manifest-deployer"}, all(nil))
	assert.Equal(t, []string{"edge-helm-deployer", "edge-landscaper", "edge-landscaper-webhooks"}, all(object{"manifest-deployer": object{"enabled": false}}))
	r := render(t, release.WholeChart, object{"landscaper": object{"landscaper": object{"landscaper": object{"extraArgs": []any{"--reconcile-if-changed"}}}}})
	assert.Contains(t, named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Args, "--reconcile-if-changed")
	_, err := tryRender(t, release.WholeChart, object{"helmDeployer": object{}})
	require.ErrorContains(t, err, "helmDeployer")
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/publishing/release"
)

// named returns the object of a type with a name.
func named[O interface {
	runtime.Object
	client.Object
}](r rendered, name string) O {
	r.Helper()
	all := find[O](r)
	at := slices.IndexFunc(all, func(o O) bool { return o.GetName() == name })
	require.GreaterOrEqual(r, at, 0, "there is no %T %s", *new(O), name)
	return all[at]
}

// ofProcesses are values of the chart landscaper for controller and webhooks.
func ofProcesses(values object) object { return object{release.LandscaperChart: values} }

func TestLandscaperHasAChart(t *testing.T) {
	r := render(t, release.LandscaperChart, nil)

	controller, webhooks := named[*appsv1.Deployment](r, "edge-landscaper"), named[*appsv1.Deployment](r, "edge-landscaper-webhooks")
	for _, deployment := range []*appsv1.Deployment{controller, webhooks} {
		assert.Equal(t, "registry.example.com/landscaper:v1.2.3", deployment.Spec.Template.Spec.Containers[0].Image)
		assert.Subset(t, deployment.Spec.Template.Labels, deployment.Spec.Selector.MatchLabels)
	}
	assert.NotEqual(t, controller.Spec.Selector.MatchLabels, webhooks.Spec.Selector.MatchLabels, "they are not each other's Pods")
	assert.Equal(t, []string{
		"controller", "--enable-leader-election", "--log-level=info", "--pickup-timeout=60m", "--default-blueprint-access=imports",
	}, controller.Spec.Template.Spec.Containers[0].Args)
	assert.Equal(t, []string{
		"webhooks", "--graceful-shutdown-timeout=20s", "--log-level=info", "--webhook-service=fence/edge-landscaper-webhooks", "--webhook-service-port=9443",
	}, webhooks.Spec.Template.Spec.Containers[0].Args)
	service := named[*corev1.Service](r, "edge-landscaper-webhooks")
	assert.Equal(t, webhooks.Spec.Selector.MatchLabels, service.Spec.Selector)
	assert.EqualValues(t, 9443, service.Spec.Ports[0].Port)
}

func TestLandscaperBringsTheCRDs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "chart")
	require.NoError(t, release.Chart(folder, release.LandscaperChart, release.Options{
		Source: "../..", Repository: "registry.example.com/landscaper", Release: containerimage.Release{Version: "v1.2.3"},
	}))
	chart, err := loader.LoadDir(folder)
	require.NoError(t, err)
	definitions, err := os.ReadDir("../../config/crd/bases")
	require.NoError(t, err)
	require.NotEmpty(t, definitions)
	assert.Len(t, chart.CRDObjects(), len(definitions))
}

func TestEachProcessHasItsRights(t *testing.T) {
	r := render(t, release.LandscaperChart, ofProcesses(object{"landscaper": object{"deployerManagement": object{"disable": false}}}))

	roles := map[string]bool{}
	for _, role := range find[*rbacv1.ClusterRole](r) {
		assert.NotEmpty(t, role.Rules, role.Name)
		roles[role.Name] = true
	}
	given := map[string][]string{}
	give := func(ref rbacv1.RoleRef, subjects []rbacv1.Subject, scope string) {
		assert.True(t, roles[ref.Name], "%s is a role of the chart", ref.Name)
		require.Len(t, subjects, 1)
		assert.Equal(t, "fence", subjects[0].Namespace)
		given[subjects[0].Name] = append(given[subjects[0].Name], scope+ref.Name)
	}
	for _, binding := range find[*rbacv1.ClusterRoleBinding](r) {
		give(binding.RoleRef, binding.Subjects, "")
	}
	for _, binding := range find[*rbacv1.RoleBinding](r) {
		give(binding.RoleRef, binding.Subjects, "own ")
	}
	for _, roles := range given {
		slices.Sort(roles)
	}
	// As in flux/install, flux/install/deployer-management and flux/webhooks.
	assert.Equal(t, map[string][]string{
		"landscaper":          {"landscaper:controller", "landscaper:deployer-management", "own landscaper:leader-election"},
		"landscaper-webhooks": {"landscaper:webhooks", "own landscaper:webhooks-certificates"},
	}, given)
	named[*rbacv1.ClusterRoleBinding](r, "landscaper:webhooks") // to which the process gives its registration
	for account := range given {
		named[*corev1.ServiceAccount](r, account)
	}
	assert.Equal(t, "landscaper", named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.ServiceAccountName)
	assert.Equal(t, "landscaper-webhooks", named[*appsv1.Deployment](r, "edge-landscaper-webhooks").Spec.Template.Spec.ServiceAccountName)
	assert.Subset(t, named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Args,
		[]string{"--deployer-management", "--deployer-management-namespace=fence"})
}

// withAgent are values of the chart landscaper for the cluster itself as an Environment.
func withAgent(agent, more object) object {
	settings := object{"deployerManagement": object{"disable": false, "agent": agent}}
	maps.Copy(settings, more)
	return object{"landscaper": settings}
}

func TestTheClusterItselfIsAnEnvironmentByAValue(t *testing.T) {
	values := ofProcesses(withAgent(object{"name": "home", "targetSelectors": []any{object{"labels": []any{object{"key": "a", "operator": "exists"}}}}}, object{
		"eventsAddr": "http://receiver/", "registryConfig": object{"secrets": object{"ours": object{"auths": object{"a": object{}}}}},
		"truststore": object{"secrets": object{"own": "PEM"}},
	}))
	values["landscaper"].(object)["imagePullSecrets"] = []any{object{"name": "pull"}}
	texts, err := tryRender(t, release.LandscaperChart, values)
	require.NoError(t, err)
	for name, text := range texts {
		assert.NotContains(t, text, "${", name)
	}
	r := render(t, release.LandscaperChart, values)

	agent := named[*appsv1.Deployment](r, "landscaper-agent-home")
	assert.Equal(t, "ls-deployers", agent.Namespace)
	pod := agent.Spec.Template.Spec
	assert.Equal(t, named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Image, pod.Containers[0].Image)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}}, pod.ImagePullSecrets)
	assert.Equal(t, []string{"agent", "--config=/etc/landscaper/config.yaml", "--landscaper-kubeconfig=/var/run/landscaper/kubeconfig"}, pod.Containers[0].Args[:3])
	assert.Subset(t, pod.Containers[0].Args, []string{"--events-addr=http://receiver/", "--log-level=info"})
	assert.NotContains(t, pod.Containers[0].Args, "--events-addr=http://notification-controller.flux-system.svc.cluster.local./")
	var config object
	require.NoError(t, yaml.Unmarshal([]byte(named[*corev1.ConfigMap](r, "landscaper-agent-home").Data["config.yaml"]), &config))
	assert.Equal(t, object{
		"apiVersion": "config.landscaper.gardener.cloud/v1alpha1", "kind": "AgentConfiguration", "name": "home", "namespace": "ls-deployers",
		"landscaperNamespace": "ls-env-home", "oci": object{"configFiles": []any{"/app/ls/registry/secrets/ours"}},
		"targetSelectors": []any{object{"labels": []any{object{"key": "a", "operator": "exists"}}}},
	}, config)
	assert.Equal(t, map[string]string{"/app/ls/registry/secrets": "landscaper-agent-home-registry", "/etc/ssl/certs/own.crt": "landscaper-agent-home-certs"}, files(agent))
	logins := named[*corev1.Secret](r, "landscaper-agent-home-registry")
	assert.Equal(t, "ls-deployers", logins.Namespace)
	assert.JSONEq(t, `{"auths":{"a":{}}}`, string(logins.Data["ours"]))
	management := named[*rbacv1.RoleBinding](r, "landscaper-controller-deployer-management")
	assert.Equal(t, "ls-env-home", management.Namespace)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "landscaper", Namespace: "fence"}}, management.Subjects)
	named[*rbacv1.ClusterRole](r, management.RoleRef.Name)
	for _, name := range []string{"ls-deployers", "ls-env-home"} {
		assert.Equal(t, "keep", named[*corev1.Namespace](r, name).Annotations["helm.sh/resource-policy"], "%s outlives the release", name)
	}
	assert.Equal(t, "ls-env-home,*", named[*corev1.Namespace](r, "ls-env-home").Annotations["deployers.landscaper.gardener.cloud/allowed-namespaces"])
}

func TestTheClusterItselfIsNoEnvironmentUnlessAValueSaysSo(t *testing.T) {
	for name, management := range map[string]object{
		"not named": {"disable": false}, "disabled": {"disable": false, "agent": object{"disable": true, "name": "home"}},
		"without the management": {"disable": true, "agent": object{"disable": false}},
	} {
		t.Run(name, func(t *testing.T) {
			r := render(t, release.LandscaperChart, ofProcesses(object{"landscaper": object{"deployerManagement": management}}))
			assert.Len(t, find[*appsv1.Deployment](r), 2)
			assert.Empty(t, find[*corev1.Namespace](r))
		})
	}
	t.Run("named default", func(t *testing.T) {
		r := render(t, release.LandscaperChart, ofProcesses(withAgent(object{"disable": false}, nil)))
		named[*appsv1.Deployment](r, "landscaper-agent-default")
	})
	t.Run("a name that YAML takes for a number", func(t *testing.T) {
		r := render(t, release.LandscaperChart, ofProcesses(withAgent(object{"name": "123"}, nil)))
		agent := named[*appsv1.Deployment](r, "landscaper-agent-123")
		assert.Equal(t, "123", agent.Spec.Selector.MatchLabels["app.kubernetes.io/instance"])
	})
}

func TestThePageRunsByAValue(t *testing.T) {
	page := object{"enabled": true, "hosts": []any{"landscape.example.com", "ui"}, "extraArgs": []any{"--requestheader-group-headers=X-Remote-Group"}}
	with := func(more object) rendered {
		own := maps.Clone(page)
		maps.Copy(own, more)
		return render(t, release.LandscaperChart, ofProcesses(object{"ui": own, "imagePullSecrets": []any{object{"name": "pull"}}}))
	}
	r := with(nil)

	deployment := named[*appsv1.Deployment](r, "landscaper-ui")
	pod := deployment.Spec.Template.Spec
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}}, pod.ImagePullSecrets)
	assert.Equal(t, named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Image, pod.Containers[0].Image)
	assert.Equal(t, []string{
		"ui", "--allowed-hosts=landscape.example.com,ui", "--tls-cert-file=/etc/landscaper/ui/tls.crt", "--tls-private-key-file=/etc/landscaper/ui/tls.key",
		"--requestheader-client-ca-file=/etc/landscaper/ui/ca.crt", "--requestheader-allowed-names=landscaper-ui-proxy", "--log-level=info",
		"--requestheader-group-headers=X-Remote-Group",
	}, pod.Containers[0].Args)
	binding := named[*rbacv1.ClusterRoleBinding](r, "landscaper-ui")
	named[*rbacv1.ClusterRole](r, binding.RoleRef.Name)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: pod.ServiceAccountName, Namespace: "fence"}}, binding.Subjects)
	named[*corev1.ServiceAccount](r, pod.ServiceAccountName)
	assert.Equal(t, deployment.Spec.Selector.MatchLabels, named[*corev1.Service](r, "landscaper-ui").Spec.Selector)
	policy := named[*networkingv1.NetworkPolicy](r, "landscaper-ui")
	assert.Equal(t, deployment.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels)
	assert.Equal(t, "true", policy.Spec.Ingress[0].From[0].PodSelector.MatchLabels["landscaper.gardener.cloud/ui-proxy"])
	for _, o := range []client.Object{deployment, policy} {
		assert.Empty(t, o.GetNamespace(), "it is in the namespace of the release")
	}

	r = with(object{"proxy": "secret", "from": []any{object{"namespaceSelector": object{}}}})
	args := named[*appsv1.Deployment](r, "landscaper-ui").Spec.Template.Spec.Containers[0].Args
	assert.Contains(t, args, "--requestheader-secret-file=/etc/landscaper/ui/secret")
	assert.NotContains(t, strings.Join(args, " "), "client-ca")
	assert.NotContains(t, strings.Join(args, " "), "allowed-names")
	assert.NotNil(t, named[*networkingv1.NetworkPolicy](r, "landscaper-ui").Spec.Ingress[0].From[0].NamespaceSelector)

	r = with(object{"proxy": "everyone"})
	assert.Contains(t, named[*appsv1.Deployment](r, "landscaper-ui").Spec.Template.Spec.Containers[0].Args, "--everyone-sees-all")

	for _, other := range find[*appsv1.Deployment](render(t, release.LandscaperChart, nil)) {
		assert.NotEqual(t, "landscaper-ui", other.Name, "nobody asked for it")
	}
	_, err := tryRender(t, release.LandscaperChart, ofProcesses(object{"ui": object{"enabled": true}}))
	assert.ErrorContains(t, err, "ui.hosts: name the host of the page")
}

func TestTheHealthCheckIsOfTheOwnDeployments(t *testing.T) {
	off := render(t, release.LandscaperChart, nil)
	assert.NotContains(t, named[*appsv1.Deployment](off, "edge-landscaper").Spec.Template.Spec.Containers[0].Args, "--health-check=edge")

	r := render(t, release.LandscaperChart, ofProcesses(object{"landscaper": object{"healthCheck": object{
		"additionalDeployments": object{"deployments": []any{"helm-deployer"}},
	}}}))
	assert.Subset(t, named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Args,
		[]string{"--health-check=edge", "--health-check-deployments=edge-landscaper,edge-landscaper-webhooks,helm-deployer"})
	binding := named[*rbacv1.RoleBinding](r, "landscaper:health-check")
	named[*rbacv1.ClusterRole](r, binding.RoleRef.Name)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "landscaper", Namespace: "fence"}}, binding.Subjects)
	for _, name := range []string{"edge-landscaper", "edge-landscaper-webhooks"} {
		named[*appsv1.Deployment](r, name)
	}

	alone := render(t, release.LandscaperChart, ofProcesses(object{
		"landscaper": object{"healthCheck": object{"name": "mine"}}, "webhooksServer": object{"disableWebhooks": []any{"all"}},
	}))
	assert.Subset(t, named[*appsv1.Deployment](alone, "edge-landscaper").Spec.Template.Spec.Containers[0].Args,
		[]string{"--health-check=mine", "--health-check-deployments=edge-landscaper"})
}

func TestAccountsAreShared(t *testing.T) {
	r := render(t, release.LandscaperChart, object{"global": object{"serviceAccount": object{
		"controller": object{"create": false, "name": "mine"}, "user": object{"create": true},
	}}})

	assert.Equal(t, "mine", named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.ServiceAccountName)
	assert.Equal(t, "mine", named[*rbacv1.ClusterRoleBinding](r, "landscaper:controller").Subjects[0].Name)
	var made []string
	for _, account := range find[*corev1.ServiceAccount](r) {
		made = append(made, account.Name)
	}
	assert.ElementsMatch(t, []string{"landscaper-webhooks", "landscaper-user"}, made)
}

func TestRolesOfPeopleCanBeLeftOut(t *testing.T) {
	r := render(t, release.LandscaperChart, object{"rbac": object{"aggregation": object{
		"admin": object{"name": "ours", "annotations": object{"a": "b"}}, "view": object{"create": false},
	}}})

	ours := named[*rbacv1.ClusterRole](r, "ours")
	assert.Equal(t, map[string]string{"a": "b"}, ours.Annotations)
	assert.Equal(t, "true", ours.Labels["rbac.authorization.k8s.io/aggregate-to-admin"])
	for _, role := range find[*rbacv1.ClusterRole](r) {
		assert.NotContains(t, role.Name, "view")
	}

	r = render(t, release.LandscaperChart, object{"rbac": object{"enabled": false}})
	assert.Empty(t, find[*rbacv1.ClusterRole](r))
	assert.Empty(t, find[*corev1.ServiceAccount](r))
}

func TestValuesOfLandscaperBecomeFlags(t *testing.T) {
	repository := object{"type": "ociRegistry", "baseUrl": "example.com/comps"}
	const context = `--default-repository-context={"baseUrl":"example.com/comps","type":"ociRegistry"}`
	for name, c := range map[string]struct {
		values object
		want   []string
	}{
		"workers": {
			object{"controllers": object{"installations": object{"workers": 30, "cacheSyncTimeout": "3m"}, "executions": object{"workers": 20}, "syncPeriod": "240h"}},
			[]string{"--concurrent=30", "--cache-sync-timeout=3m"},
		},
		"default Context, as documented": {
			object{"controllers": object{"context": object{"config": object{"default": object{"repositoryContext": repository, "excludeNamespaces": []any{"a", "b"}}}}}},
			[]string{context, "--default-context-excluded-namespaces=a,b"},
		},
		"default Context, as read": {
			object{"controllers": object{"contexts": object{"config": object{"default": object{"repositoryContext": repository, "excludedNamespaces": []any{"a"}}}}}},
			[]string{context, "--default-context-excluded-namespaces=a"},
		},
		"former default Context": {object{"repositoryContext": repository}, []string{context}},
		"no limit":               {object{"deployItemTimeouts": object{"pickup": "none"}}, []string{"--pickup-timeout=0"}},
		"clients": {
			object{"k8sClientSettings": object{"resourceClient": object{"burst": 60, "qps": 40}, "hostClient": object{"burst": 1}}},
			[]string{"--kube-api-qps=40", "--kube-api-burst=60"},
		},
		"others": {
			object{"metrics": object{"port": 9000}, "verbosity": "debug", "signatureVerificationEnforcementPolicy": "Enforce", "eventsAddr": "http://e", "extraArgs": []any{"--a=b"}},
			[]string{"--metrics-addr=:9000", "--log-level=debug", "--signature-verification-enforcement-policy=Enforce", "--events-addr=http://e", "--a=b"},
		},
		"logins": {
			object{"registryConfig": object{"secrets": object{"ours": object{"auths": object{}}}}}, []string{"--oci-config-file=/app/ls/registry/secrets/ours"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := render(t, release.LandscaperChart, ofProcesses(object{"landscaper": c.values}))
			assert.Subset(t, named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Args, c.want)
		})
	}
	t.Run("no default Context", func(t *testing.T) {
		r := render(t, release.LandscaperChart, ofProcesses(object{"landscaper": object{
			"repositoryContext": repository, "controllers": object{"contexts": object{"config": object{"default": object{"disable": true}}}},
		}}))
		for _, arg := range named[*appsv1.Deployment](r, "edge-landscaper").Spec.Template.Spec.Containers[0].Args {
			assert.NotContains(t, arg, "--default-repository-context")
		}
	})
}

// files are what the container of a Deployment finds, by the folder or file that it is mounted as: the Secret.
func files(deployment *appsv1.Deployment) map[string]string {
	found, pod := map[string]string{}, deployment.Spec.Template.Spec
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if volume.Name == mount.Name && volume.Secret != nil {
				found[mount.MountPath] = volume.Secret.SecretName
			}
		}
	}
	return found
}

func TestLandscaperReachesAnotherCluster(t *testing.T) {
	r := render(t, release.LandscaperChart, ofProcesses(object{
		"controller":     object{"landscaperKubeconfig": object{"kubeconfig": "apiVersion: v1\n"}},
		"webhooksServer": object{"landscaperKubeconfig": object{"secretRef": "theirs"}, "ingress": object{"host": "hooks.example.com", "className": "nginx", "dns": object{"class": "garden"}}},
	}))

	const folder = "/app/ls/landscaper-cluster-kubeconfig"
	controller, webhooks := named[*appsv1.Deployment](r, "edge-landscaper"), named[*appsv1.Deployment](r, "edge-landscaper-webhooks")
	assert.Equal(t, map[string]string{folder: "edge-landscaper-controller-cluster-kubeconfig"}, files(controller))
	assert.Equal(t, "apiVersion: v1\n", string(named[*corev1.Secret](r, "edge-landscaper-controller-cluster-kubeconfig").Data["kubeconfig"]))
	assert.Equal(t, map[string]string{folder: "theirs"}, files(webhooks))
	for _, deployment := range []*appsv1.Deployment{controller, webhooks} {
		assert.Contains(t, deployment.Spec.Template.Spec.Containers[0].Args, "--landscaper-kubeconfig="+folder+"/kubeconfig")
		assert.NotEmpty(t, deployment.Spec.Template.Spec.ServiceAccountName, "the leader is elected in the own cluster")
	}
	assert.Subset(t, webhooks.Spec.Template.Spec.Containers[0].Args, []string{"--webhook-url=https://hooks.example.com", "--cert-ns=fence"})
	ingress := named[*networkingv1.Ingress](r, "edge-landscaper-webhooks")
	assert.Equal(t, "hooks.example.com", ingress.Spec.Rules[0].Host)
	assert.Equal(t, "garden", ingress.Annotations["dns.gardener.cloud/class"])
}

func TestFilesReachTheProcesses(t *testing.T) {
	r := render(t, release.LandscaperChart, ofProcesses(object{"landscaper": object{
		"truststore": object{"secrets": object{"ours": "PEM"}}, "registryConfig": object{"secrets": object{"logins": object{"auths": object{"a": object{}}}}},
	}}))

	assert.Equal(t, map[string]string{
		"/etc/ssl/certs/ours.crt": "edge-landscaper-certs", "/app/ls/registry/secrets": "edge-landscaper-registry",
	}, files(named[*appsv1.Deployment](r, "edge-landscaper")))
	assert.Equal(t, "PEM", string(named[*corev1.Secret](r, "edge-landscaper-certs").Data["ours.crt"]))
	assert.JSONEq(t, `{"auths":{"a":{}}}`, string(named[*corev1.Secret](r, "edge-landscaper-registry").Data["logins"]))
}

func TestWebhooksCanBeLeftOut(t *testing.T) {
	r := render(t, release.LandscaperChart, ofProcesses(object{"webhooksServer": object{"disableWebhooks": []any{"all"}}}))
	assert.Len(t, find[*appsv1.Deployment](r), 1)
	assert.Len(t, find[*corev1.Service](r), 1)

	r = render(t, release.LandscaperChart, ofProcesses(object{"webhooksServer": object{"disableWebhooks": []any{"installation", "targets"}}}))
	assert.Contains(t, named[*appsv1.Deployment](r, "edge-landscaper-webhooks").Spec.Template.Spec.Containers[0].Args, "--disable-webhooks=installation,targets")
}

func TestValuesOfLandscaperThatNobodyReadsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		values object
		says   string
	}{
		"at the top":         {object{"landscapr": object{}}, "landscapr"},
		"one level too high": {ofProcesses(object{"verbosity": "debug"}), "verbosity"},
		"of the controller":  {ofProcesses(object{"landscaper": object{"worker": 3}}), "worker"},
		"of a kind":          {ofProcesses(object{"landscaper": object{"controllers": object{"installations": object{"worker": 3}}}}), "worker"},
		"no time":            {ofProcesses(object{"landscaper": object{"deployItemTimeouts": object{"pickup": "soon"}}}), "pickup"},
		"no kind":            {ofProcesses(object{"webhooksServer": object{"disableWebhooks": []any{"pods"}}}), "disableWebhooks"},
		"of the rights":      {object{"rbac": object{"aggregate": object{}}}, "aggregate"},
		"of the accounts":    {object{"global": object{"serviceAccount": object{"agent": object{}}}}, "agent"},
		"of the access":      {ofProcesses(object{"controller": object{"landscaperKubeconfig": object{"secret": "a"}}}), "secret"},
		"of another type":    {ofProcesses(object{"controller": object{"replicaCount": "two"}}), "replicaCount"},
		"no name":            {ofProcesses(withAgent(object{"name": "A b"}, nil)), "name"},
		"a long name":        {ofProcesses(withAgent(object{"name": strings.Repeat("a", 31)}, nil)), "name"},
		"of the agent":       {ofProcesses(withAgent(object{"oci": object{}}, nil)), "oci"},
		"no agent for another cluster": {
			object{release.LandscaperChart: object{
				"landscaper": withAgent(object{"name": "a"}, nil)["landscaper"], "controller": object{"landscaperKubeconfig": object{"secretRef": "b"}},
			}}, "install the chart landscaper-agent in this cluster",
		},
		"no policy of signatures": {ofProcesses(object{"landscaper": object{"signatureVerificationEnforcementPolicy": "Sometimes"}}), "signatureVerification"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryRender(t, release.LandscaperChart, c.values)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
		})
	}
}

// The values of a chart of Gardener Landscaper, with everything that has a place there.
const existingValues = `
landscaper:
  landscaper:
    verbosity: info
    controllers:
      installations: {workers: 30}
      executions: {workers: 30}
      deployItems: {workers: 5}
      componentOverwrites: {workers: 5}
      context: {workers: 5, config: {default: {disable: false, excludeNamespaces: [kube-system]}}}
    crdManagement: {deployCrd: true}
    truststore: {secrets: {}}
    registryConfig: {cache: {useInMemoryOverlay: false}, allowPlainHttpRegistries: false, insecureSkipVerify: false, secrets: {}}
    k8sClientSettings: {hostClient: {burst: 30, qps: 20}, resourceClient: {burst: 60, qps: 40}}
    metrics: {port: 8080}
    deployItemTimeouts: {pickup: 60m, abort: 5m}
    healthCheck: {name: a, additionalDeployments: {deployments: [helm-deployer]}}
    deployers: [helm]
    deployersConfig: {Deployers: {helm: {}}}
    deployerManagement: {disable: true, agent: {disable: true, name: default}}
  image: {tag: ""}
  controller: {containerName: c, landscaperKubeconfig: {}, replicaCount: 1, image: {repository: r, pullPolicy: IfNotPresent, tag: t}}
  webhooksServer:
    {containerName: w, replicaCount: 2, image: {repository: r}, servicePort: 9443, disableWebhooks: [], certificatesNamespace: certs, resources: {}, hpa: {maxReplicas: 10, averageCpuUtilization: 80, averageMemoryUtilization: 80}}
  resources: {requests: {cpu: 100m}}
  resourcesMain: {requests: {cpu: 300m}}
  hpaMain: {maxReplicas: 1, averageCpuUtilization: 80, averageMemoryUtilization: 80}
  imagePullSecrets: [{name: s}]
  nameOverride: "n"
  fullnameOverride: full
  podAnnotations: {a: b}
  podSecurityContext: {fsGroup: 1}
  securityContext: {}
  service: {type: ClusterIP, port: 80}
  nodeSelector: {a: b}
  tolerations: [{key: a}]
  affinity: {nodeAffinity: {}}
rbac:
  aggregation: {admin: {create: true, annotations: {}, name: ours}, view: {create: true}}
global:
  serviceAccount: {controller: {create: true, annotations: {a: b}, name: landscaper}, webhooksServer: {create: true}, user: {create: false}}
`

func TestExistingValuesOfLandscaperAreTaken(t *testing.T) {
	values := object{}
	require.NoError(t, yaml.Unmarshal([]byte(existingValues), &values))
	r := render(t, release.LandscaperChart, values)

	controller := named[*appsv1.Deployment](r, "full")
	assert.Equal(t, "n", controller.Labels["app.kubernetes.io/name"], "no name is taken for another type of YAML")
	assert.Equal(t, "300m", controller.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String())
	assert.Equal(t, "100m", named[*appsv1.Deployment](r, "full-webhooks").Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String())
	assert.Equal(t, "r:t", controller.Spec.Template.Spec.Containers[0].Image)
	assert.Subset(t, slices.Collect(maps.Keys(controller.Spec.Template.Annotations)), []string{"a", "checksum/secrets"})
}

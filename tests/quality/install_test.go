// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// patience bounds every wait; nothing takes that long unless it is broken.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Registry: true, Audit: true, LandscaperCRDs: true,
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// installed returns the objects that flux/install builds, as kustomize orders them.
func installed(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return builtFrom(t, "flux/install")
}

// builtFrom returns the objects that a folder builds.
func builtFrom(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	objects := built(t, loaded(t).Path(folder))
	require.NotEmpty(t, objects)
	return objects
}

func built(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err)
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		content, err := resource.Map()
		require.NoError(t, err)
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects
}

// installedWith returns the objects that flux/install builds with one of its components.
func installedWith(t *testing.T, component string) []*unstructured.Unstructured {
	t.Helper()
	folder := t.TempDir()
	install, err := filepath.Rel(folder, loaded(t).Path("flux/install"))
	require.NoError(t, err)
	overlay := "resources: [" + install + "]\ncomponents: [" + install + "/" + component + "]\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600))
	return built(t, folder)
}

// deployments returns the Deployments among the objects.
func deployments(t *testing.T, objects []*unstructured.Unstructured) []*appsv1.Deployment {
	t.Helper()
	var found []*appsv1.Deployment
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			deployment := &appsv1.Deployment{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, deployment, true))
			found = append(found, deployment)
		}
	}
	require.Len(t, found, 3)
	return found
}

const pruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"

func TestF07CRDsAreApartAndNeverPruned(t *testing.T) {
	definitions := builtFrom(t, "flux/crds")
	assert.Len(t, definitions, len(contents(t, loaded(t).Path("config/crd/bases"))), "list every file of config/crd/bases in config/crd/kustomization.yaml")
	for _, object := range definitions {
		assert.Equal(t, "CustomResourceDefinition", object.GetKind())
		assert.Equal(t, "disabled", object.GetAnnotations()[pruneAnnotation], object.GetName())
	}
	for _, object := range installed(t) {
		assert.NotEqual(t, "CustomResourceDefinition", object.GetKind(), "its objects would go with it")
		if object.GetKind() == "Namespace" {
			assert.Equal(t, "disabled", object.GetAnnotations()[pruneAnnotation], object.GetName())
		}
	}
}

func TestInstallUsesFlagsThatExist(t *testing.T) {
	requireFlags(t, deployments(t, installed(t)))
}

// requireFlags checks that the processes of Deployments know the flags that they are given.
func requireFlags(t *testing.T, deployments []*appsv1.Deployment) {
	t.Helper()
	flags, err := Flags(t.Context())
	require.NoError(t, err)
	for _, deployment := range deployments {
		args := deployment.Spec.Template.Spec.Containers[0].Args
		command, used := splitArgs(args)
		for _, name := range used {
			assert.True(t, slices.ContainsFunc(flags, func(flag Flag) bool {
				return flag.Name == name && slices.Contains(flag.Commands, command)
			}), "landscaper %s has no flag %s", command, name)
		}
	}
}

// splitArgs returns the sub-command and the names of the flags.
func splitArgs(args []string) (command string, flags []string) {
	var words []string
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(name, "--") {
			flags = append(flags, name)
		} else {
			words = append(words, arg)
		}
	}
	return strings.Join(words, " "), flags
}

func TestWithEnvironmentsTheDeployersLeaveTheirTargetsAlone(t *testing.T) {
	given := map[string]string{}
	for _, deployment := range deployments(t, installedWith(t, "deployer-management")) {
		given[deployment.Name] = strings.Join(deployment.Spec.Template.Spec.Containers[0].Args, " ")
	}

	assert.Contains(t, given["landscaper-controller"], "--deployer-management")
	for _, deployer := range []string{"landscaper-helm-deployer", "landscaper-manifest-deployer"} {
		assert.Contains(t, given[deployer], `--target-selector={annotations: [{key: landscaper.gardener.cloud/environment, operator: "!"}]}`)
	}
}

func TestInstallDropsPrivileges(t *testing.T) {
	for _, deployment := range deployments(t, installed(t)) {
		pod := deployment.Spec.Template.Spec
		require.NotNil(t, pod.SecurityContext)
		assert.True(t, *pod.SecurityContext.RunAsNonRoot, deployment.Name)
		container := pod.Containers[0]
		assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, deployment.Name)
		assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation, deployment.Name)
		assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop, deployment.Name)
	}
}

func TestL09TemporaryFilesAreLimited(t *testing.T) {
	var all []*unstructured.Unstructured
	for _, folder := range []string{"install", "container-deployer", "agent", "webhooks", "ui"} {
		all = append(all, builtFrom(t, "flux/"+folder)...)
	}
	for _, deployment := range typed[appsv1.Deployment](t, all, "Deployment") {
		for _, volume := range deployment.Spec.Template.Spec.Volumes {
			if volume.EmptyDir != nil {
				require.NotNil(t, volume.EmptyDir.SizeLimit, "volume %s of %s has no sizeLimit", volume.Name, deployment.Name)
				assert.Positive(t, volume.EmptyDir.SizeLimit.Value())
			}
		}
	}
}

// ownMemory is what a process may need beside its children, in bytes.
const ownMemory = 400 << 20

// Where the memory of a container is at its end, the kernel ends all of its processes: one tenant's charts would end the deployer.
func TestChildProcessesHaveRoomBesideTheirParents(t *testing.T) {
	all := slices.Concat(builtFrom(t, "flux/install"), builtFrom(t, "flux/agent"), builtFrom(t, "flux/shard"))
	byProcess := map[string]confined.Limits{
		"controller": confined.DefaultLimits(), "helm": {Memory: helm.ChildMemory}, "agent": {Memory: helm.ChildMemory},
	}
	found := 0
	for _, deployment := range typed[appsv1.Deployment](t, all, "Deployment") {
		container := deployment.Spec.Template.Spec.Containers[0]
		children, renders := byProcess[processOf(container.Args)]
		if !renders {
			continue
		}
		found++
		for _, argument := range container.Args {
			if number, isSet := strings.CutPrefix(argument, "--render-processes="); isSet {
				var err error
				children.Children, err = strconv.Atoi(number)
				require.NoError(t, err)
			}
		}
		room := container.Resources.Limits.Memory().Value() - children.Most()
		assert.GreaterOrEqual(t, room>>20, int64(ownMemory>>20), "MiB that the children of %s leave of its memory limit", deployment.Name)
	}
	assert.Equal(t, len(byProcess)+2, found, "a shard has two of them")
}

// processOf is the sub-command that a container runs; of deployers their own name.
func processOf(arguments []string) string {
	if arguments[0] == "deployer" {
		return arguments[1]
	}
	return arguments[0]
}

// TestInstalledRightsSuffice installs the manifests, runs the processes under the names of their service accounts and deploys, exports
// and deletes an Installation: no request may be forbidden.
func TestInstalledRightsSuffice(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	binary, err := binaries.BuildLandscaper(ctx)
	require.NoError(t, err)
	p := platform.Shared(t)
	installSources(ctx, t, p)
	objects := installed(t)
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			require.NoError(t, p.Apply(ctx, object), "%s %s", object.GetKind(), object.GetName())
		}
	}
	awaitRights(ctx, t, p, objects)
	started := time.Now()
	for _, deployment := range deployments(t, objects) {
		if container := &deployment.Spec.Template.Spec.Containers[0]; deployment.Name == "landscaper-controller" {
			container.Args = append(container.Args, followsChanges) // by the component that the quick start has
		}
		runAs(t, p, binary, deployment)
	}
	deployAndDelete(ctx, t, p)
	followQuickStart(ctx, t, p)
	requests, err := p.Requests(ctx, started)
	require.NoError(t, err)
	users := map[string]bool{}
	for _, request := range requests {
		users[request.User] = true
		if request.User == "kube-controller-manager" {
			continue // it is refused where the namespace of another test is being deleted
		}
		assert.NotEqual(t, http.StatusForbidden, request.Code, "%s may not %s %s%s %s/%s", request.User, request.Verb, request.Resource, request.Subresource, request.Namespace, request.Name)
	}
	for _, deployment := range deployments(t, objects) {
		assert.True(t, users[serviceAccount(deployment)], "%s has used its rights", deployment.Name)
	}
	assertLeadsAtHomeOnly(ctx, t, p, objects)
	assertViewersSeeNoCredentials(ctx, t, p)
}

// awaitRights waits until the API server has noticed the bindings: it reads them from a cache.
func awaitRights(ctx context.Context, t *testing.T, p *platform.Platform, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() != "ClusterRoleBinding" {
			continue
		}
		binding, role := &rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRole{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, binding))
		require.NoError(t, p.Client().Get(ctx, client.ObjectKey{Name: binding.RoleRef.Name}, role))
		rule, subject := role.Rules[len(role.Rules)-1], binding.Subjects[0]
		last := authorizationv1.ResourceAttributes{Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		require.Eventually(t, func() bool {
			return allowed(ctx, t, p, "system:serviceaccount:"+subject.Namespace+":"+subject.Name, last)
		}, patience, 10*time.Millisecond, binding.Name)
	}
}

// installSources installs the CRDs of Flux's sources, without running Flux.
func installSources(ctx context.Context, t *testing.T, p *platform.Platform) {
	t.Helper()
	tools, err := binaries.Tools(ctx, os.Stderr, binaries.SourceController)
	require.NoError(t, err)
	require.NoError(t, p.InstallCRDs(ctx, tools.CRDDir(binaries.SourceController)))
}

// runAs runs what a Deployment runs, with the rights of its service account.
func runAs(t *testing.T, p *platform.Platform, binary string, deployment *appsv1.Deployment) {
	t.Helper()
	pod := deployment.Spec.Template.Spec
	config, err := p.NewUser(serviceAccount(deployment))
	require.NoError(t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(t, os.WriteFile(path, kubeconfig, 0o600))
	args := slices.DeleteFunc(slices.Clone(pod.Containers[0].Args), func(arg string) bool {
		return strings.HasPrefix(arg, "--events-addr")
	})
	process, err := programs.Start(programs.Command{
		Name: deployment.Name, Path: binary, Dir: dir, Args: append(args, "--metrics-addr=0", "--health-addr="+programs.RequireFreeAddress(t, programs.Loopback)),
		Env: []string{"KUBECONFIG=" + path, "RUNTIME_NAMESPACE=" + deployment.Namespace, "POD_NAME=" + deployment.Name},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of %s:\n%s", deployment.Name, process.LogTail(20))
		}
		assert.NoError(t, process.Stop(10*time.Second))
	})
}

func serviceAccount(deployment *appsv1.Deployment) string {
	return "system:serviceaccount:" + deployment.Namespace + ":" + deployment.Spec.Template.Spec.ServiceAccountName
}

// rights is a landscape that makes every process use all that its role allows: imports of each kind, a Target that Flux may prune,
// a manifest item that exports, a helm item.
const rights = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {text: hello}
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata: {name: greeting, namespace: default}
data: hello
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: cluster, namespace: default, labels: {kustomize.toolkit.fluxcd.io/name: rights}}
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  secretRef: {name: cluster, key: kubeconfig}
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: rights
  namespace: default
  annotations: {landscaper.gardener.cloud/operation: reconcile}
spec:
  imports:
    targets: [{name: cluster, target: cluster}]
    data:
    - {name: greeting, dataRef: greeting}
    - {name: settings, configMapRef: {name: settings}}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          imports:
          - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
          - {name: greeting, type: data, schema: {type: string}}
          - {name: settings, type: data, schema: {type: object}}
          deployExecutions:
          - name: deploy
            type: GoTemplate
            template: |
              deployItems:
              - name: manifest
                type: landscaper.gardener.cloud/kubernetes-manifest
                target: {import: cluster}
                config:
                  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
                  kind: ProviderConfiguration
                  updateStrategy: update
                  manifests:
                  - policy: manage
                    manifest:
                      apiVersion: v1
                      kind: ConfigMap
                      metadata: {name: deployed, namespace: default}
                      data: {text: {{ .imports.greeting }}}
                  exports:
                    exports:
                    - key: text
                      jsonPath: .data.text
                      fromResource: {apiVersion: v1, kind: ConfigMap, name: deployed, namespace: default}
              - name: helm
                type: landscaper.gardener.cloud/helm
                target: {import: cluster}
                config:
                  apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
                  kind: ProviderConfiguration
                  name: tiny
                  namespace: default
                  chart: {ref: "$registry/charts/tiny:1.0.0"}
`

// deployAndDelete takes one Installation through its life, and leaves the result of every step to the audit log.
func deployAndDelete(ctx context.Context, t *testing.T, p *platform.Platform) {
	t.Helper()
	chart, err := servers.PackageChart(fstest.MapFS{
		"Chart.yaml":          {Data: []byte("apiVersion: v2\nname: tiny\nversion: 1.0.0\n")},
		"templates/data.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tiny}\n")},
	})
	require.NoError(t, err)
	_, err = p.Registry.PushHelmChart(ctx, "charts/tiny", "1.0.0", chart)
	require.NoError(t, err)
	giveKubeconfig(ctx, t, p, "default")
	require.NoError(t, p.ApplyYAML(ctx, strings.ReplaceAll(rights, "$registry", p.Registry.Host)))
	inst := awaitSuccess(ctx, t, p, "default", "rights")
	exports := &corev1.SecretList{}
	require.NoError(t, p.Client().List(ctx, exports, client.InNamespace("default")))
	assert.True(t, slices.ContainsFunc(exports.Items, func(secret corev1.Secret) bool { return strings.HasSuffix(secret.Name, "-export") }))
	require.NoError(t, p.Client().Delete(ctx, inst))
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, p.AwaitGone(wait, inst))
}

// giveKubeconfig makes the Secret that the Targets of both landscapes name.
func giveKubeconfig(ctx context.Context, t *testing.T, p *platform.Platform, namespace string) {
	t.Helper()
	require.NoError(t, p.Apply(ctx, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: namespace, Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "rights"}},
		Data:       map[string][]byte{"kubeconfig": p.Kubeconfig},
	}))
}

func awaitSuccess(ctx context.Context, t *testing.T, p *platform.Platform, namespace, name string) *v1alpha1.Installation {
	t.Helper()
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	require.NoError(t, p.Await(wait, inst, func() bool { return inst.Status.JobID != "" && inst.Status.IsIdle() }))
	require.Equal(t, v1alpha1.PhaseSucceeded, inst.Status.Phase, "%+v", inst.Status.LastError)
	return inst
}

// quickStart is the manifest with the Installation in docs/quick-start.md, inside an item of a list.
var quickStart = regexp.MustCompile("(?s)```yaml\n([^`]*kind: Installation\n[^`]*)```")

// followQuickStart does what docs/quick-start.md says after the installation.
func followQuickStart(ctx context.Context, t *testing.T, p *platform.Platform) {
	t.Helper()
	page, err := os.ReadFile(loaded(t).Path("docs/quick-start.md"))
	require.NoError(t, err)
	found := quickStart.FindSubmatch(page)
	require.NotNil(t, found, "docs/quick-start.md has the manifest of an Installation")
	require.NoError(t, p.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hello"}}))
	giveKubeconfig(ctx, t, p, "hello")
	require.NoError(t, p.ApplyYAML(ctx, strings.ReplaceAll("\n"+string(found[1]), "\n   ", "\n")))
	awaitSuccess(ctx, t, p, "hello", "greeting")
}

// assertLeadsAtHomeOnly checks that leases of other namespaces are out of reach.
func assertLeadsAtHomeOnly(ctx context.Context, t *testing.T, p *platform.Platform, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, deployment := range deployments(t, objects) {
		lease := authorizationv1.ResourceAttributes{Namespace: "default", Verb: "update", Group: "coordination.k8s.io", Resource: "leases"}
		assert.False(t, allowed(ctx, t, p, serviceAccount(deployment), lease), deployment.Name)
	}
}

// assertViewersSeeNoCredentials checks what the built-in role view gets from the aggregated ones.
func assertViewersSeeNoCredentials(ctx context.Context, t *testing.T, p *platform.Platform) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view"}}
	require.NoError(t, p.Await(ctx, role, func() bool {
		return slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, v1alpha1.GroupName) })
	}))
	require.NoError(t, p.Client().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "viewer"}},
	}))
	may := func(resource string) bool {
		return allowed(ctx, t, p, "viewer", authorizationv1.ResourceAttributes{Namespace: "default", Verb: "get", Group: v1alpha1.GroupName, Resource: resource})
	}
	// The authorizer reads roles from a cache of its own.
	require.Eventually(t, func() bool { return may("installations") }, time.Minute, 50*time.Millisecond)
	for _, resource := range []string{"targets", "dataobjects", "deployitems"} {
		assert.False(t, may(resource), resource)
	}
}

func allowed(ctx context.Context, t *testing.T, p *platform.Platform, user string, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	may, err := platform.May(ctx, p.Client(), user, what)
	require.NoError(t, err)
	return may
}

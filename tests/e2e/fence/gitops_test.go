// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// deployers are those that the registrations bring behind the fence.
var deployers = []string{"manifest", "container", "mock"}

// registrationOf is a DeployerRegistration for the central repository.
func (w *world) registrationOf(deployer string) string {
	return fmt.Sprintf(`apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployerRegistration
metadata: {name: %[1]s}
spec:
  installationTemplate:
    componentDescriptor:
      ref:
        repositoryContext: {type: ociRegistry, baseUrl: "%[2]s/%[3]s"}
        componentName: github.com/gardener/landscaper/%[1]s-deployer
        version: %[4]s
    blueprint: {ref: {resourceName: %[1]s-deployer-blueprint}}
`, deployer, w.Registry.Host, components, strings.TrimPrefix(version, "v"))
}

// installCentre installs the product on the landscaper cluster by a commit.
func (w *world) installCentre() {
	w.t.Helper()
	access := w.documented("On the landscaper cluster, once for each Environment")
	w.commit(w.central, w.Cluster, map[string]string{
		"tenants.yaml": namespaceOf(tenant) + "---\n" + namespaceOf("team-a"), // those that the access names
		"landscaper.yaml": strings.Join([]string{
			w.landscaperSource(),
			kustomization("landscaper-crds", "crds", ""),
			kustomization("landscaper", "install", "  components: [deployer-management]\n  dependsOn: [{name: landscaper-crds}]\n"),
		}, "---\n"),
		"agents.yaml": strings.Replace(access, "  interval: 1h\n", "  interval: 1h\n  retryInterval: 1s\n  dependsOn: [{name: landscaper}]\n", 1),
	})
	w.awaitApplied(w.Cluster, "landscaper")
	w.awaitApplied(w.Cluster, "landscaper-agent-"+environment)
}

// mirrorPage is how to fill a registry inside the fence, and to lead the agent there.
const mirrorPage = "relay-to-mirror.md"

// fillMirror makes a registry behind the fence and fills it as the page says.
func (w *world) fillMirror() {
	w.t.Helper()
	var err error
	w.mirror, err = servers.StartRegistry()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, w.mirror.Stop()) })
	require.NoError(w.t, w.apart.Lead(w.mirror.Host))
	binary, err := binaries.BuildCLI(w.ctx)
	require.NoError(w.t, err)
	dir := w.t.TempDir()
	list := strings.ReplaceAll(w.mirroring(w.example(mirrorPage, "one in each line:", "```text\n")), ":1.2.0", ":"+strings.TrimPrefix(version, "v"))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "content.txt"), []byte(list), 0o600))
	commands := strings.Split(strings.TrimSpace(w.mirroring(w.example(mirrorPage, "Copy them", "```sh\n"))), "\n")
	require.Len(w.t, commands, 2)
	for _, command := range commands {
		arguments, isOurs := strings.CutPrefix(command, "flux landscaper ")
		require.True(w.t, isOurs, command)
		run := exec.CommandContext(w.ctx, binary, strings.Fields(arguments)...)
		run.Dir = dir
		said, err := run.CombinedOutput()
		require.NoError(w.t, err, "%s: %s", command, said)
	}
}

// mirrored makes the agent get charts from the registry behind the fence, as the page says.
func (w *world) mirrored() string {
	return w.mirroring(w.example(mirrorPage, "The agent, by a patch", "```yaml\n"))
}

// mirroring puts the registries of the test in place of those of the page.
func (w *world) mirroring(text string) string {
	return strings.NewReplacer("https://registry.factory.example.com", "http://"+w.mirror.Host, "registry.factory.example.com", w.mirror.Host,
		"registry.example.com", w.Registry.Host).Replace(text)
}

// requireFromMirror checks that the charts of all deployers came from the registry behind the fence.
func (w *world) requireFromMirror() {
	w.t.Helper()
	fetched := map[string]bool{}
	for _, request := range w.mirror.Requests(time.Time{}) {
		if request.Method == http.MethodGet && request.Kind == "blobs" && request.Code == http.StatusOK {
			fetched[request.Repository] = true
		}
	}
	for _, deployer := range deployers {
		assert.True(w.t, fetched[components+"/component-descriptors/github.com/gardener/landscaper/"+deployer+"-deployer"], "%s: %v", deployer, fetched)
	}
}

// installAgent commits what docs/agent.md says to the repository of the fenced cluster.
func (w *world) installAgent() {
	w.t.Helper()
	files := map[string]string{}
	for i, document := range strings.Split(w.documented("In the repository of the host cluster"), "---\n") {
		files[fmt.Sprintf("agent/%d.yaml", i)] = document
	}
	for name, document := range files {
		switch {
		case strings.Contains(document, "\nkind: Secret"):
			files[name] = w.bootstrapToken(document)
		case strings.Contains(document, "\nkind: OCIRepository"):
			files[name] = w.landscaperSource()
		case strings.Contains(document, "\nkind: Kustomization"):
			files[name] = strings.Replace(document, "  interval: 1h\n", "  interval: 1h\n  retryInterval: 1s\n"+w.mirrored(), 1)
		}
	}
	w.commit(w.fenced, w.fence.Cluster, files)
	w.awaitApplied(w.fence.Cluster, "landscaper-agent")
}

// bootstrapToken makes the Secret of the documented manifest by the command line.
func (w *world) bootstrapToken(documented string) string {
	w.t.Helper()
	binary, err := binaries.BuildCLI(w.ctx)
	require.NoError(w.t, err)
	cmd := exec.CommandContext(w.ctx, binary, "agent", "bootstrap-token", environment, "--kubeconfig", w.KubeconfigPath, "--server", "https://"+w.wire.Address)
	said := &bytes.Buffer{}
	cmd.Stderr = said
	made, err := cmd.Output()
	require.NoError(w.t, err, "%s", said)
	secret, want := &corev1.Secret{}, &corev1.Secret{}
	require.NoError(w.t, yaml.UnmarshalStrict(made, secret))
	require.NoError(w.t, yaml.Unmarshal([]byte(documented), want))
	assert.Equal(w.t, client.ObjectKeyFromObject(want), client.ObjectKeyFromObject(secret))
	assert.Equal(w.t, slices.Collect(maps.Keys(want.StringData)), slices.Collect(maps.Keys(secret.StringData)))
	return string(made)
}

// requireEnrolled checks that the bootstrap token is used up, and that applying it again changes nothing.
func (w *world) requireEnrolled() {
	w.t.Helper()
	credential := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: environment + "-agent-credential"}}
	require.NoError(w.t, w.fence.Client().Get(w.ctx, client.ObjectKeyFromObject(credential), credential))
	assert.NotEmpty(w.t, credential.Data["token"])
	assert.NotContains(w.t, credential.Data, "pending-key")
	w.gone(w.Cluster, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.EnvironmentNamespacePrefix + environment, Name: enrolment.ClaimPrefix + environment}})
	settled, since := credential.ResourceVersion, time.Now()
	used := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "landscaper-agent-kubeconfig"}}
	for interval := range 10 {
		require.NoError(w.t, w.fence.Client().Delete(w.ctx, used)) // for Flux to write it, and not only to compare
		w.commit(w.fenced, w.fence.Cluster, map[string]string{"notes.md": fmt.Sprintf("Flux applies the used token again, %d.\n", interval)})
		require.NoError(w.t, w.fence.Client().Get(w.ctx, client.ObjectKeyFromObject(used), used))
	}
	w.replaceAgent()
	require.NoError(w.t, w.fence.Client().Get(w.ctx, client.ObjectKeyFromObject(credential), credential))
	assert.Equal(w.t, settled, credential.ResourceVersion)
	requests, err := w.Requests(w.ctx, since)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, requests)
	for _, request := range requests {
		assert.NotContains(w.t, request.User, "landscaper-agent-bootstrap-")
		assert.NotEqual(w.t, http.StatusUnauthorized, request.Code, "%s %s", request.Verb, request.Name)
	}
}

// replaceAgent deletes the Pod of the agent, and waits until the next one, which looks at its token at once, is ready.
func (w *world) replaceAgent() {
	w.t.Helper()
	pods := func() []corev1.Pod {
		list := &corev1.PodList{}
		require.NoError(w.t, w.fence.Client().List(w.ctx, list, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "landscaper-agent"}))
		return list.Items
	}
	former := pods()
	require.Len(w.t, former, 1)
	require.NoError(w.t, w.fence.Client().Delete(w.ctx, &former[0]))
	require.Eventually(w.t, func() bool {
		now := pods()
		return len(now) == 1 && now[0].UID != former[0].UID && slices.ContainsFunc(now[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}, patience, tick, "the next Pod of the agent is not ready")
}

// registered returns the Environment as it is.
func (w *world) registered() *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: environment}}
}

// pairs returns the Installations of the deployers of the environment, by the name of their registration.
func (w *world) pairs() map[string]*v1alpha1.Installation {
	w.t.Helper()
	list := &v1alpha1.InstallationList{}
	require.NoError(w.t, w.Client().List(w.ctx, list, client.MatchingLabels{v1alpha1.DeployerEnvironmentLabel: environment}))
	pairs := map[string]*v1alpha1.Installation{}
	for i := range list.Items {
		pairs[list.Items[i].Labels[v1alpha1.DeployerRegistrationLabel]] = &list.Items[i]
	}
	return pairs
}

// openTenant makes the tenant on both sides: a namespace each, and an access behind the fence that is for him.
func (w *world) openTenant() {
	w.t.Helper()
	require.NoError(w.t, w.fence.ApplyYAML(w.ctx, namespaceOf(tenant)+fmt.Sprintf(`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: deployer, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: deployer, namespace: %[1]s}]
`, tenant)))
	require.NoError(w.t, w.fence.ApplyYAML(w.ctx, w.documentedAccess()))
	target := strings.Replace(w.documented("A Target of a tenant on the landscaper cluster"), "environment: my-env", "environment: "+environment, 1)
	w.commit(w.central, w.Cluster, map[string]string{"target.yaml": target})
}

// documentedAccess is the Secret of docs/agent.md with the token and the authority that its commands print, and an API server that processes reach.
func (w *world) documentedAccess() string {
	w.t.Helper()
	written, err := clientcmd.Load([]byte(w.kubeconfigOf(w.fence.Cluster, w.fence.RestConfig.Host, tenant, "deployer")))
	require.NoError(w.t, err)
	current := written.Contexts[written.CurrentContext]
	authority := base64.StdEncoding.EncodeToString(written.Clusters[current.Cluster].CertificateAuthorityData)
	return strings.NewReplacer(
		`"https://kubernetes.default.svc"`, w.fence.RestConfig.Host, `certificate-authority-data: "…"`, "certificate-authority-data: "+authority,
		`{token: "…"}`, "\n        token: "+written.AuthInfos[current.AuthInfo].Token,
	).Replace(w.documented("The Secret is in the host cluster, in the namespace of the deployers"))
}

func namespaceOf(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", name)
}

// greeting is an Installation of the tenant that makes a ConfigMap behind the fence, runs a container there, and exports what that says.
func greeting(word, image string) string {
	return fmt.Sprintf(`apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: greeting
  namespace: %[1]s
  annotations: {landscaper.gardener.cloud/reconcile-if-changed: "true"}
spec:
  imports: {targets: [{name: cluster, target: factory}]}
  exports: {data: [{name: report, dataRef: report}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          imports: [{name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
          exports: [{name: report, type: data, schema: {type: object}}]
          deployExecutions:
          - name: greeting
            type: GoTemplate
            template: |
              deployItems:
              - name: greeting
                type: landscaper.gardener.cloud/kubernetes-manifest
                target: {import: cluster}
                config:
                  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
                  kind: ProviderConfiguration
                  updateStrategy: update
                  manifests:
                  - policy: manage
                    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: %[1]s}, data: {word: %[2]s}}
              - name: container
                type: landscaper.gardener.cloud/container
                target: {import: cluster}
                dependsOn: [greeting]
                config:
                  apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1
                  kind: ProviderConfiguration
                  image: %[3]s
                  command: [sh, -euc]
                  args:
                  - |
                    echo "word: %[2]s" >"$EXPORTS_PATH"
                    echo "pod: $POD_NAME" >>"$EXPORTS_PATH"
                    echo "namespace: $POD_NAMESPACE" >>"$EXPORTS_PATH"
                    echo "network: '$(readlink /proc/self/ns/net)'" >>"$EXPORTS_PATH"
                    grep -q '"name":"shop-access"' "$TARGET_PATH"
                    echo "target: $(sha256sum <"$TARGET_PATH" | cut -d ' ' -f 1)" >>"$EXPORTS_PATH"
          exportExecutions:
          - name: report
            type: GoTemplate
            template: |
              exports: {report: {{ toJson .values.deployitems.container }}}
`, tenant, word, image)
}

// report is what the container of the tenant has said.
type report struct {
	Word, Pod, Namespace, Network string
	// Target is the sum of the file with its target.
	Target string
}

// reported returns what the container has exported to the landscaper cluster.
func (w *world) reported() report {
	w.t.Helper()
	data := &v1alpha1.DataObject{}
	require.NoError(w.t, w.Client().Get(w.ctx, client.ObjectKey{Namespace: tenant, Name: "report"}, data))
	said := report{}
	require.NoError(w.t, json.Unmarshal(data.Data.RawMessage, &said))
	return said
}

// requireRanInside checks that a Pod behind the fence has run the container of the tenant.
func (w *world) requireRanInside(said report) {
	w.t.Helper()
	assert.Equal(w.t, system, said.Namespace, "the namespace of the deployers")
	assert.NotEqual(w.t, w.networkOf("thread-self"), said.Network)
	fenced := w.networkOf(strconv.Itoa(w.fence.Process(binaries.APIServer).PID()))
	if w.fenceNode != nil {
		assert.Equal(w.t, fenced, said.Network, "the process has run behind the fence")
		return
	}
	assert.NotEqual(w.t, fenced, said.Network, "a Pod has a network of its own")
	started := &corev1.EventList{}
	require.NoError(w.t, w.fence.Client().List(w.ctx, started, client.InNamespace(system), client.MatchingFields{"involvedObject.name": said.Pod, "reason": "Started"}))
	assert.Len(w.t, started.Items, 3, "the kubelet behind the fence has started all containers of %s", said.Pod)
}

// givenTarget begins to look for what containers behind the fence get as their target, which is there as long as their job. The returned function returns
// the first one.
func (w *world) givenTarget() func() []byte {
	w.t.Helper()
	ofTarget := client.MatchingLabels{sidecar.Type: sidecar.TypeTarget}
	watching, err := w.fence.Client().Watch(w.ctx, &corev1.SecretList{}, client.InNamespace(system), ofTarget)
	require.NoError(w.t, err)
	w.t.Cleanup(watching.Stop)
	return func() []byte {
		event := <-watching.ResultChan() // closed with the context of the test
		require.IsType(w.t, &corev1.Secret{}, event.Object)
		return event.Object.(*corev1.Secret).Data[sidecar.TargetKey]
	}
}

// requireAccess checks that the container of the tenant was given what his Target refers to: a kubeconfig with which the fenced cluster is reached.
func (w *world) requireAccess(said report, written []byte) {
	w.t.Helper()
	assert.Equal(w.t, fmt.Sprintf("%x", sha256.Sum256(written)), said.Target, "that is what the program has read")
	var document struct{ Content string }
	require.NoError(w.t, json.Unmarshal(written, &document))
	var content struct{ Kubeconfig string }
	require.NoError(w.t, json.Unmarshal([]byte(document.Content), &content))
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(content.Kubeconfig))
	require.NoError(w.t, err)
	config.Dial = w.apart.Dial
	inside, err := client.New(config, client.Options{})
	require.NoError(w.t, err)
	found := &corev1.ConfigMap{}
	require.NoError(w.t, inside.Get(w.ctx, greetingKey, found), "the namespace of the tenant is what the access is for")
	err = inside.Get(w.ctx, client.ObjectKey{Namespace: system, Name: "shop-access"}, &corev1.Secret{})
	require.True(w.t, apierrors.IsForbidden(err), "%v", err)
}

// program pushes the image of the container of the tenant. Where processes run it there is none.
func (w *world) program() string {
	w.t.Helper()
	if w.fenceNode != nil {
		return w.Registry.Host + "/shell:1"
	}
	image, err := platform.ShellImage()
	require.NoError(w.t, err)
	reference, err := w.Registry.PushImage(w.ctx, "shell", "1", image)
	require.NoError(w.t, err)
	return reference
}

var greetingKey = client.ObjectKey{Namespace: tenant, Name: "greeting"}

// says returns what the ConfigMap of the tenant behind the fence says.
func (w *world) says() string {
	w.t.Helper()
	config := &corev1.ConfigMap{}
	require.NoError(w.t, w.fence.Client().Get(w.ctx, greetingKey, config))
	return config.Data["word"]
}

// secretsOfTheFence are the credentials of the fenced cluster that there are now.
func (w *world) secretsOfTheFence() map[string]string {
	w.t.Helper()
	secrets, err := w.fence.PrivateKeys()
	require.NoError(w.t, err)
	if w.fenceNode != nil {
		tokens, err := w.fenceNode.Tokens()
		require.NoError(w.t, err)
		for name, token := range tokens {
			secrets["token of Pod "+name] = token
		}
	}
	list := &corev1.SecretList{}
	require.NoError(w.t, w.fence.Client().List(w.ctx, list))
	for _, secret := range list.Items {
		access := string(secret.Data["kubeconfig"])
		if access == "" || strings.Contains(access, w.wire.Address) {
			continue // no access, or one to the landscaper cluster
		}
		_, after, found := strings.Cut(access, "token: ")
		require.True(w.t, found, secret.Name)
		secrets["token in Secret "+secret.Name], _, _ = strings.Cut(after, "\n")
	}
	require.Contains(w.t, secrets, "token in Secret "+environment+"-target-access")
	require.Contains(w.t, secrets, "token in Secret shop-access")
	for name, secret := range secrets {
		require.Greater(w.t, len(secret), 40, name)
	}
	return secrets
}

// requireKept checks that none of these secrets is or was in the etcd of the landscaper cluster.
func (w *world) requireKept(secrets map[string]string) {
	w.t.Helper()
	search := map[string]string{"what is there": environment + "-target-access"}
	for name, secret := range secrets {
		search[name] = secret
	}
	found, err := w.Stores(search)
	require.NoError(w.t, err)
	require.Equal(w.t, []string{"what is there"}, found)
}

// Processes stand for the Pods behind the fence.
func TestFromCommitsToWorkloadsBehindTheFence(t *testing.T) {
	skipWithoutRoot(t)
	newWorld(t, platform.Shared(t), false).fromCommitsToWorkloads()
}

func TestFromCommitsToPodsBehindTheFence(t *testing.T) {
	skipWithoutRoot(t)
	platform.NeedNode(t)
	newWorld(t, platform.New(t, centre()), true).fromCommitsToWorkloads()
}

// fromCommitsToWorkloads has a commit install the agent; commits on the other side bring deployers and workloads behind the fence, and take all of it
// away again.
func (w *world) fromCommitsToWorkloads() {
	t := w.t
	began := time.Now()
	phase := func(what string) { t.Logf("%6.1f s: %s", time.Since(began).Seconds(), what) }
	w.installCentre()
	phase("the landscaper cluster is installed")
	w.requireFenced()
	w.fillMirror()
	w.installAgent()
	phase("the agent is ready")
	w.requireEnrolled()
	env := await(w, w.registered(), func(e *v1alpha1.Environment) bool { return conditions.IsTrue(e, v1alpha1.AgentConnectedCondition) })
	assert.NotEmpty(t, env.Status.AgentVersion)

	registrations := map[string]string{}
	for _, deployer := range deployers {
		registrations["deployers/"+deployer+".yaml"] = w.registrationOf(deployer)
	}
	w.commit(w.central, w.Cluster, registrations)
	for _, deployer := range deployers {
		registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: deployer}}
		await(w, registration, func(d *v1alpha1.DeployerRegistration) bool {
			return conditions.IsReady(d) && len(d.Status.Environments) == 1
		})
	}
	w.requireFromMirror()
	phase("the deployers are installed")
	pairs := w.pairs()
	for _, deployer := range deployers {
		require.Contains(t, pairs, deployer)
		w.succeeded(client.ObjectKeyFromObject(pairs[deployer]))
		installed := &appsv1.Deployment{}
		key := client.ObjectKey{Namespace: env.Spec.Namespace, Name: pairs[deployer].Name + "-" + deployer + "-deployer"}
		require.NoError(t, w.fence.Client().Get(w.ctx, key, installed))
		assert.Equal(t, w.Registry.Host+"/landscaper:"+version, installed.Spec.Template.Spec.Containers[0].Image)
	}

	w.openTenant()
	given := w.givenTarget()
	w.commit(w.central, w.Cluster, map[string]string{"greeting.yaml": greeting("hello", w.program())})
	job := w.succeeded(greetingKey).Status.JobID
	phase("a ConfigMap is behind the fence, and a container has run there")
	assert.Equal(t, "hello", w.says())
	said := w.reported()
	assert.Equal(t, "hello", said.Word)
	w.requireRanInside(said)
	w.requireAccess(said, given())
	secrets := w.secretsOfTheFence()
	w.requireKept(secrets)
	phase("no secret of the fence is outside")
	assert.Equal(t, job, w.succeeded(greetingKey).Status.JobID, "one job was enough")

	w.commit(w.central, w.Cluster, map[string]string{"greeting.yaml": ""})
	w.gone(w.Cluster, &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "greeting"}})
	w.gone(w.fence.Cluster, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "greeting"}})
	w.requireNoContainers()
	phase("the ConfigMap is gone")
	w.removeAll()
	phase("all is gone")
	w.requireKept(secrets)
}

// requireNoContainers checks that nothing of the container of the tenant is left behind the fence.
func (w *world) requireNoContainers() {
	w.t.Helper()
	pods := &corev1.PodList{}
	require.NoError(w.t, w.fence.Client().List(w.ctx, pods, client.InNamespace(system)))
	for _, pod := range pods.Items {
		assert.Equal(w.t, corev1.RestartPolicyAlways, pod.Spec.RestartPolicy, pod.Name)
	}
	secrets := &corev1.SecretList{}
	require.NoError(w.t, w.fence.Client().List(w.ctx, secrets, client.InNamespace(system), client.HasLabels{sidecar.DeployerID}))
	assert.Empty(w.t, secrets.Items)
}

// requireFenced checks that the processes of the landscaper cluster have no way to the fenced one.
func (w *world) requireFenced() {
	w.t.Helper()
	address := strings.TrimPrefix(w.fence.RestConfig.Host, "https://")
	inside, err := w.apart.Dial(w.ctx, "tcp", address)
	require.NoError(w.t, err, "behind the fence it is reached")
	require.NoError(w.t, inside.Close())
	controller := w.centreNode.Process("landscaper-controller")
	require.NotNil(w.t, controller)
	own := w.networkOf("thread-self")
	assert.Equal(w.t, own, w.networkOf(strconv.Itoa(controller.PID())), "what is tried here holds for the controller")
	assert.NotEqual(w.t, own, w.networkOf(strconv.Itoa(w.fence.Process(binaries.APIServer).PID())))
	_, err = net.DialTimeout("tcp", address, time.Second)
	require.Error(w.t, err, "the fenced API server is reached from outside")
}

// networkOf names the network of a process or thread.
func (w *world) networkOf(process string) string {
	w.t.Helper()
	name, err := os.Readlink("/proc/" + process + "/ns/net")
	require.NoError(w.t, err)
	return name
}

func (w *world) gone(cluster *platform.Cluster, object client.Object) {
	w.t.Helper()
	require.NoError(w.t, cluster.AwaitGone(w.ctx, object))
}

// removeAll takes away one registration, the Environment, and the agent.
func (w *world) removeAll() {
	w.t.Helper()
	first := w.pairs()["mock"]
	require.NotNil(w.t, first)
	w.commit(w.central, w.Cluster, map[string]string{"deployers/mock.yaml": ""})
	w.gone(w.Cluster, &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "mock"}})
	w.gone(w.Cluster, first)
	w.gone(w.fence.Cluster, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: first.Name + "-mock-deployer"}})

	env := w.registered()
	require.NoError(w.t, w.Client().Patch(w.ctx, env, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.ReleaseAgentAnnotation+`":"true"}}}`))))
	require.NoError(w.t, w.Client().Delete(w.ctx, env))
	w.gone(w.Cluster, env)
	assert.Empty(w.t, w.pairs())
	w.gone(w.fence.Cluster, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: environment + "-target-access"}})
	deployments := &appsv1.DeploymentList{}
	require.NoError(w.t, w.fence.Client().List(w.ctx, deployments, client.InNamespace(system)))
	require.Len(w.t, deployments.Items, 1, "the agent only")

	w.commit(w.fenced, w.fence.Cluster, map[string]string{"agent/3.yaml": ""})
	w.gone(w.fence.Cluster, &deployments.Items[0])
	left := map[string]string{"deployers/manifest.yaml": "", "deployers/container.yaml": ""}
	w.commit(w.central, w.Cluster, left)
	for _, deployer := range deployers {
		w.gone(w.Cluster, &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: deployer}})
	}
}

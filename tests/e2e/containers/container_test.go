// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package containers runs container deploy items as Pods on a real kubelet, through all of the product: a component from a registry, an
// Installation, the controller, the container deployer, its containers in the Pod. Tests are named for their row of the acceptance matrix.
package containers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// deploying installs a container without a shell that deploys a ConfigMap to its target.
func deploying(s *scene) {
	blueprint := landscape.Blueprint(object{
		"imports": list{
			object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"},
			object{"name": "word", "type": "data", "schema": object{"type": "string"}},
		},
		"deployExecutions": list{object{"name": "default", "type": "GoTemplate", "file": "/deploy.yaml"}},
	})
	manifest := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deployed", "namespace": %q}}`, s.Namespace)
	s.Target("cluster")
	s.Put("DataObject", "word", object{"data": "hello"})
	s.install(s.program(), blueprint, `importValues: {word: {{ .imports.word }}}`, map[string]string{"manifests/config.json": manifest}, object{
		"imports": object{
			"targets": list{object{"name": "cluster", "target": "cluster"}}, "data": list{object{"name": "word", "dataRef": "word"}},
		},
	})
	s.Succeeded("job")
}

func TestB1001AContainerWithoutAShellCreatesAConfigMap(t *testing.T) {
	s := newScene(t)

	deploying(s)

	assert.Equal(t, map[string]string{"word": "hello"}, s.Config("deployed"))
}

func TestGateB1003ADeletionRunsTheContainerForIt(t *testing.T) {
	s := newScene(t)
	deploying(s)

	s.Delete(s.Installation("job"))

	s.Gone(s.Installation("job"), &corev1.ConfigMap{ObjectMeta: s.Named("deployed")})
}

// exporting is a blueprint whose export "report" is what the container exports.
func exporting() string {
	return landscape.Blueprint(object{
		"exports":          list{object{"name": "report", "type": "data", "schema": object{}}},
		"deployExecutions": list{object{"name": "default", "type": "GoTemplate", "file": "/deploy.yaml"}},
		"exportExecutions": landscape.GoTemplate(`exports: {report: {{ toJson .values.deployitems.job }}}`),
	})
}

// report is the spec that publishes the export.
func report() object {
	return object{"exports": object{"data": list{object{"name": "report", "dataRef": "report"}}}}
}

// inContent is the field that runs a script of the blueprint.
func inContent(script string) string {
	return `command: [sh, /data/ls/shared/content/` + script + `]`
}

func TestGateB1002AContainerExportsWhatItFinds(t *testing.T) {
	s := newScene(t)
	script := `set -eu
descriptor=$(tr -d ' \n' <"$COMPONENT_DESCRIPTOR_PATH")
of() { echo "$descriptor" | grep -o "\"$1\":\"[^\"]*\"" | head -1 | cut -d '"' -f 4; }
cd "$CONTENT_PATH"
{
  echo "component: $(echo "$descriptor" | grep -o '"name":"example.com/job"' | cut -d '"' -f 4)"
  echo "version: $(of version)"
  echo "files: $(find . -type f | wc -l)"
  echo "owners: '$(find . -type f -exec stat -c '%u %g' {} + | sort -u)'"
  echo "private: $(find . -type f ! -perm -600 | wc -l)"
  echo "imports: '$(cat "$IMPORTS_PATH")'"
  echo "user: '$(id -u) $(id -g)'"
} >"$EXPORTS_PATH"
`

	s.install(s.shell(), exporting(), inContent("report.sh"), map[string]string{"report.sh": script, "docs/notes.txt": "some"}, report())

	s.Succeeded("job")
	assert.JSONEq(t, `{
		"component": "example.com/job", "version": "1.0.0", "files": 4, "owners": "1000 2000", "private": 0, "imports": "{}", "user": "1000 3000"
	}`, s.Value("report"))
}

func TestB1004AContainerFindsItsState(t *testing.T) {
	s := newScene(t)
	script := `set -eu
count=$(cat "$STATE_PATH/count" 2>/dev/null || echo 0)
echo $((count + 1)) >"$STATE_PATH/count"
echo "count: $(cat "$STATE_PATH/count")" >"$EXPORTS_PATH"
`
	s.install(s.shell(), exporting(), inContent("count.sh"), map[string]string{"count.sh": script}, report())
	first := s.Succeeded("job")
	require.JSONEq(t, `{"count": 1}`, s.Value("report"))

	s.Annotate(s.Installation("job"), v1alpha1.OperationAnnotation, string(v1alpha1.OperationReconcile))

	s.Ran("job", first.Status.JobID, v1alpha1.PhaseSucceeded)
	assert.JSONEq(t, `{"count": 2}`, s.Value("report"))
}

func TestB1005ToB1007AContainerFindsItsTarget(t *testing.T) {
	s := newScene(t)
	image := s.shell()
	secret := &corev1.Secret{ObjectMeta: s.Named("credentials"), StringData: map[string]string{"one": "first: 1\n", "two": "second: 2\n"}}
	require.NoError(t, s.Client().Create(s.Ctx, secret))
	for row, tc := range map[string]struct{ spec, want object }{
		"b1005": {object{"config": object{"inline": "yes"}}, object{"content": `{"inline":"yes"}`}},
		"b1006": {object{"secretRef": object{"name": "credentials", "key": "one"}}, object{"content": "first: 1\n"}},
		"b1007": {object{"secretRef": object{"name": "credentials"}}, object{"content": `{"one":{"first":1},"two":{"second":2}}`}},
	} {
		tc.spec["type"] = "example.com/any"
		s.Put("Target", row, object{"spec": tc.spec})
		exports := s.exported(s.item(row, image, object{"name": row}, "sh", "-c", `cp "$TARGET_PATH" "$EXPORTS_PATH"`))
		assert.Equal(t, tc.want["content"], exports["content"], row)
		seen, _ := exports["target"].(object)
		metadata, _ := seen["metadata"].(object)
		assert.Equal(t, row, metadata["name"], row)
		assert.Equal(t, s.Namespace, metadata["namespace"], row)
		assert.Equal(t, tc.spec, seen["spec"], row)
	}
}

func TestB1008ComponentsComeFromTheRepositoriesOfTheOCMConfiguration(t *testing.T) {
	s := newScene(t)
	base := `components:
- name: example.org/base
  version: 2.0.0
  provider: {name: example.org}
`
	s.publish("second", map[string]string{"component-constructor.yaml": base})
	script := `tr -d ' \n' <"$COMPONENT_DESCRIPTOR_PATH" | grep -o '"name":"example[^"]*/[^"]*"' | sort -u | sed 's/"name":/- /' | sed '1i seen:' >"$EXPORTS_PATH"`
	refers := constructor(s.shell()) + `  componentReferences:
  - {name: base, componentName: example.org/base, version: 2.0.0}
`
	s.publish("first", map[string]string{
		"component-constructor.yaml": refers, "blueprint/blueprint.yaml": exporting(), "blueprint/seen.sh": script,
		"blueprint/deploy.yaml": containerItem(inContent("seen.sh")),
	})
	config := fmt.Sprintf(`type: generic.config.ocm.software/v1
configurations:
- type: ocm.config.ocm.software
  resolvers:
  - prefix: example.com
    repository: {type: OCIRegistry, baseUrl: %[1]s, subPath: %[2]s/first}
  - prefix: example.org
    repository: {type: OCIRegistry, baseUrl: %[1]s, subPath: %[2]s/second}
`, s.Registry.Host, s.Namespace)
	ocm := &corev1.ConfigMap{ObjectMeta: s.Named("ocm"), Data: map[string]string{".ocmconfig": config}}
	require.NoError(t, s.Client().Create(s.Ctx, ocm))
	s.Put("Context", "default", object{"ocmConfig": object{"name": "ocm"}})

	s.Put("Installation", "job", object{
		"metadata": object{"annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"}}, "spec": job(report()),
	})

	s.Succeeded("job")
	assert.JSONEq(t, `{"seen": ["example.com/job", "example.org/base"]}`, s.Value("report"))
}

func TestAnImageThatCannotBePulledFailsTheJobAtOnce(t *testing.T) {
	s := newScene(t)
	reference := s.Registry.Host + "/nobody/pushed:this"

	failed := s.ended(s.item("missing", reference, nil))

	require.Equal(t, v1alpha1.PhaseFailed, failed.Status.Phase)
	assert.Contains(t, failed.Status.LastError.Message, reference)
	s.Gone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: landscape.ContainerPods, Name: podOf(t, failed)}})
}

func TestAProgramThatFailsFailsTheJobWithItsLastWords(t *testing.T) {
	s := newScene(t)

	failed := s.ended(s.item("broken", s.shell(), nil, "sh", "-c", "echo no disk left; exit 3"))

	require.Equal(t, v1alpha1.PhaseFailed, failed.Status.Phase)
	assert.Contains(t, failed.Status.LastError.Message, "no disk left")
	s.Gone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: landscape.ContainerPods, Name: podOf(t, failed)}})
}

func TestAnInterruptEndsAHangingPod(t *testing.T) {
	s := &scene{landscape.NewScene(t)} // not beside the test that kills the deployer
	began, over := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		began <- struct{}{}
		<-over
	}))
	t.Cleanup(func() { close(over); server.Close() })
	item := s.item("hangs", s.shell(), nil, "wget", "-q", "-O", "/dev/null", server.URL)
	<-began
	s.await(item, func() bool { return item.Status.ProviderStatus != nil })
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: landscape.ContainerPods, Name: podOf(t, item)}}
	interrupted := time.Now()

	base := item.DeepCopy()
	item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID
	require.NoError(t, s.Client().Status().Patch(s.Ctx, item, client.MergeFrom(base)))

	s.await(pod, func() bool { return pod.DeletionTimestamp != nil })
	told := time.Since(interrupted)
	s.Gone(pod)
	ended := time.Since(interrupted)
	t.Logf("the Pod was asked to end after %s, its programs had ended after %s", told, ended)
	assert.Less(t, told, 2*time.Second)
	assert.Less(t, ended, pace.Within(2*time.Second))
}

// podOf returns the name of the Pod of an item.
func podOf(t *testing.T, item *v1alpha1.DeployItem) string {
	t.Helper()
	require.NotNil(t, item.Status.ProviderStatus)
	var status containerv1alpha1.ProviderStatus
	require.NoError(t, json.Unmarshal(item.Status.ProviderStatus.Raw, &status))
	require.NotNil(t, status.PodStatus)
	return status.PodStatus.PodName
}

// loggedIn is the content of a Secret with the login of reader.
func loggedIn(host, password string) map[string]string {
	login, err := json.Marshal(object{"auths": object{host: object{"username": "reader", "password": password}}})
	if err != nil {
		panic(err)
	}
	return map[string]string{corev1.DockerConfigJsonKey: string(login)}
}

func TestAPrivateImageIsPulledWithTheSecretsOfTheContextOnly(t *testing.T) {
	s := newScene(t)
	private := registry.Start(t, registry.Options{Users: []registry.User{{Name: "reader", Password: "open sesame"}}})
	image, err := platform.ShellImage()
	require.NoError(t, err)
	parsed, err := name.ParseReference(private.Ref("shell", "1"), name.Insecure)
	require.NoError(t, err)
	login := remote.WithAuth(&authn.Basic{Username: "reader", Password: "open sesame"})
	require.NoError(t, remote.Write(parsed, image, remote.WithContext(s.Ctx), login))

	stranger := s.ended(s.item("stranger", parsed.Name(), nil, "true"))
	require.Equal(t, v1alpha1.PhaseFailed, stranger.Status.Phase)
	assert.Contains(t, stranger.Status.LastError.Message, private.Host)

	require.NoError(t, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("pull"), StringData: loggedIn(private.Host, "open sesame")}))
	s.Put("Context", "default", object{"registryPullSecrets": list{object{"name": "pull"}}})
	reader := s.ended(s.item("reader", parsed.Name(), nil, "true"))
	assert.Equal(t, v1alpha1.PhaseSucceeded, reader.Status.Phase, "%+v", reader.Status.LastError)
}

func TestAUsersProgramFindsNoCredentials(t *testing.T) {
	s := newScene(t)
	script := `{
  echo "tokens: '$(ls /var/run/secrets 2>/dev/null)'"
  echo "internal: '$(ls /data/ls | tr '\n' ' ')'"
  echo "kubeconfig: '${KUBECONFIG:-}'"
  echo "root: '$(touch /data/ls/of-mine 2>/dev/null && echo writable)'"
} >"$EXPORTS_PATH"`

	exports := s.exported(s.item("curious", s.shell(), nil, "sh", "-c", script))

	assert.Equal(t, object{"tokens": "", "internal": "shared ", "kubeconfig": "", "root": ""}, exports)
}

// TestADeployerThatDiesFindsItsPodAgain kills the deployer while the user's program runs, lets the Pod end meanwhile and starts it again.
func TestADeployerThatDiesFindsItsPodAgain(t *testing.T) {
	s := newScene(t)
	started, goOn := make(chan struct{}, 10), make(chan struct{})
	gate := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		started <- struct{}{}
		<-goOn
	}))
	t.Cleanup(gate.Close)
	item := s.item("survives", s.shell(), nil, "sh", "-c",
		`echo run >>"$STATE_PATH/runs"; wget -q -O /dev/null `+gate.URL+`; echo "runs: $(wc -l <"$STATE_PATH/runs")" >"$EXPORTS_PATH"`)
	<-started
	s.await(item, func() bool { return item.Status.ProviderStatus != nil })
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: landscape.ContainerPods, Name: podOf(t, item)}}
	deployer := s.Processes[landscape.ContainerDeployer]

	require.NoError(t, deployer.Kill9())
	close(goOn)
	s.await(pod, func() bool { return pod.Status.Phase == corev1.PodSucceeded })
	require.NoError(t, deployer.Restart())

	assert.Equal(t, object{"runs": float64(1)}, s.exported(item))
	assert.Empty(t, started, "the program ran once")
	s.Gone(pod)
}

// TestAPodThatFitsNowhereFailsTheJobAtOnce has the node to itself: nothing may be scheduled to it.
func TestAPodThatFitsNowhereFailsTheJobAtOnce(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Node().Name}}
	closed := func(closed bool) {
		patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, closed)
		require.NoError(t, s.Client().Patch(s.Ctx, node, client.RawPatch(types.StrategicMergePatchType, patch)))
		s.await(node, func() bool { return len(node.Spec.Taints) > 0 == closed })
	}
	closed(true)
	t.Cleanup(func() { closed(false) })

	failed := s.ended(s.item("nowhere", s.shell(), nil, "true"))

	require.Equal(t, v1alpha1.PhaseFailed, failed.Status.Phase)
	assert.Contains(t, failed.Status.LastError.Message, "nodes are available")
	s.Gone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: landscape.ContainerPods, Name: podOf(t, failed)}})
}

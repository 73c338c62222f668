// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

type document = map[string]any

// target creates a Target of a type that no deployer knows.
func (s *served) target(name string, spec document) {
	s.t.Helper()
	spec["type"] = "example.com/anything"
	raw, err := json.Marshal(document{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
		"metadata": document{"name": name, "namespace": s.namespace}, "spec": spec})
	require.NoError(s.t, err)
	require.NoError(s.t, s.p.ApplyYAML(s.t.Context(), string(raw)))
}

// fencedToken is the credential of the host cluster in tests.
const fencedToken = "fenced-token-q8w3z5sunflower"

// edge lets the deployer work for the Environment "edge", with one access to its cluster.
func edge(o *Options) {
	o.HostSecrets = &target.Host{Environment: "edge", Namespace: o.Namespace, Secrets: o.Host.Client}
}

// refer runs a script with a Target that refers to the access to the host cluster, for Targets of the namespaces that are allowed.
func (s *served) refer(name, environment, allowed, run string, more document) *v1alpha1.DeployItem {
	s.t.Helper()
	kubeconfig := "apiVersion: v1\nkind: Config\nclusters: [{name: here, cluster: {server: https://here.example.com}}]\n" +
		"users: [{name: deployer, user: {token: " + fencedToken + "}}]\n" +
		"contexts: [{name: it, context: {cluster: here, user: deployer}}]\ncurrent-context: it\n"
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.host, Name: name, Annotations: map[string]string{v1alpha1.TargetNamespacesAnnotation: allowed}},
		StringData: map[string]string{"kubeconfig": kubeconfig},
	}))
	spec := document{"type": v1alpha1.KubernetesClusterTargetType, "config": document{"kubeconfig": document{"secretRef": document{"name": name}}}}
	maps.Copy(spec, more)
	raw, err := json.Marshal(document{"metadata": document{
		"name": name, "namespace": s.namespace, "annotations": document{v1alpha1.EnvironmentAnnotation: environment},
	}, "spec": spec})
	require.NoError(s.t, err)
	place := &v1alpha1.Target{}
	require.NoError(s.t, json.Unmarshal(raw, place))
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), place))
	item := s.item(name, script(run))
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: name}
	return s.add(item)
}

func TestTargetOfAnEnvironmentIsGivenWithItsKubeconfig(t *testing.T) {
	s := serve(t, edge)
	item := s.refer("access", "edge", "other, "+s.namespace, `echo "sum: $(sha256sum <"$TARGET_PATH" | cut -d ' ' -f 1)" >"$EXPORTS_PATH"`, nil)

	s.succeed(item)

	secret := &corev1.Secret{}
	name := namesOf(keyOf(item), s.options.Identity).target()
	require.NoError(t, s.p.Client().Get(t.Context(), keyIn(s.host, name), secret))
	written := secret.Data["target.json"]
	assert.JSONEq(t, fmt.Sprintf(`{"sum": "%x"}`, sha256.Sum256(written)), s.exports(item), "that is what the program has read")
	var document struct {
		Target  v1alpha1.Target
		Content string
	}
	require.NoError(t, json.Unmarshal(written, &document))
	assert.JSONEq(t, `{"kubeconfig": {"secretRef": {"name": "access"}}}`, string(document.Target.Spec.Configuration.RawMessage), "the Target is as it is written")
	var content struct{ Kubeconfig string }
	require.NoError(t, json.Unmarshal([]byte(document.Content), &content))
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(content.Kubeconfig))
	require.NoError(t, err)
	assert.Equal(t, fencedToken, config.BearerToken)
}

func TestReferenceToTheHostClusterIsFollowedForWhomItIsMeant(t *testing.T) {
	for name, test := range map[string]struct {
		adjust               func(*Options)
		environment, allowed string
		more                 document
		says                 string
	}{
		"no environment":        {func(*Options) {}, "edge", "*", nil, "kubeconfig.secretRef is no longer supported"},
		"another environment":   {edge, "north", "*", nil, `environment "edge" only`},
		"as ServiceAccount":     {edge, "edge", "*", document{"serviceAccountName": "robot"}, "used as a ServiceAccount"},
		"by default as account": {func(o *Options) { edge(o); o.Accounts.Kubeconfig = "default" }, "edge", "*", nil, "used as a ServiceAccount"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, test.adjust)
			item := s.refer("access", test.environment, test.allowed, "true", test.more)
			s.fail(item, test.says)
			assert.NotContains(t, s.told(item), fencedToken)
		})
	}
}

func TestReferenceToTheHostClusterWaitsForLeave(t *testing.T) {
	s := serve(t, edge)
	item := s.refer("access", "edge", "other", "true", nil)
	s.await(item, func() bool { return item.Status.LastError != nil })
	assert.Contains(t, item.Status.LastError.Message, "has no Secret "+s.host+"/access for Targets of this namespace")

	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.host, Name: "access"}}
	patch := `{"metadata": {"annotations": {"` + v1alpha1.TargetNamespacesAnnotation + `": "other, ` + s.namespace + `"}}}`
	require.NoError(t, s.p.Client().Patch(t.Context(), access, client.RawPatch("application/merge-patch+json", []byte(patch))))
	s.succeed(item)
}

func TestCredentialsOfTheHostClusterStayThere(t *testing.T) {
	s, count := serve(t, edge), 0
	for name, test := range map[string]struct{ script, says string }{
		"exported as a whole":   {`cp "$TARGET_PATH" "$EXPORTS_PATH"`, "a credential of the target"},
		"exported in a text":    {`echo "word: it is TOKEN then" >"$EXPORTS_PATH"`, "a credential of the target"},
		"exported encoded":      {`echo "word: $(printf %s TOKEN | base64)" >"$EXPORTS_PATH"`, "a credential of the target"},
		"exported in documents": {`printf '{"word": "{\\"deep\\": [\\"%s\\"]}"}' "TOKEN" >"$EXPORTS_PATH"`, "a credential of the target"},
		"printed at the end":    {`cat "$TARGET_PATH" >&2; exit 7`, "ended with exit code 7"},
		"kept in the state":     {`cp "$TARGET_PATH" "$STATE_PATH"; echo "server: https://here.example.com" >"$EXPORTS_PATH"`, ""},
	} {
		count++
		called := fmt.Sprintf("access-%d", count)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			found := `$(grep -o 'fenced-token-[a-z0-9]*' "$TARGET_PATH")`
			item := s.refer(called, "edge", s.namespace, strings.ReplaceAll(test.script, "TOKEN", found), nil)
			if test.says == "" {
				s.succeed(item)
				return
			}
			s.fail(item, test.says)
			assert.NotContains(t, s.told(item), fencedToken)
			assert.Nil(t, item.Status.ExportReference)
		})
	}
}

func TestTargetWithItsContent(t *testing.T) {
	s, count := serve(t), 0
	require.NoError(t, s.p.Client().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "login"},
		Data: map[string][]byte{"one": []byte("a: 1"), "two": []byte("text")}}))
	for name, test := range map[string]struct {
		spec    document
		content string
	}{
		"config":             {document{"config": document{"foo": "bar"}}, `{"foo":"bar"}`},
		"Secret with key":    {document{"secretRef": document{"name": "login", "key": "one"}}, "a: 1"},
		"Secret without key": {document{"secretRef": document{"name": "login"}}, `{"one":{"a":1},"two":"text"}`},
	} {
		count++
		called := fmt.Sprintf("place-%d", count)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			s.target(called, test.spec)
			item := s.item(called, script(`cp "$TARGET_PATH" "$EXPORTS_PATH"`))
			item.Spec.Target = &v1alpha1.DeployItemTarget{Name: called}
			s.add(item)

			s.succeed(item)

			var exported struct {
				Target  v1alpha1.Target `json:"target"`
				Content string          `json:"content"`
			}
			require.NoError(t, json.Unmarshal([]byte(s.exports(item)), &exported))
			assert.Equal(t, "Target", exported.Target.Kind)
			assert.Equal(t, called, exported.Target.Name)
			assert.Equal(t, test.content, exported.Content)
		})
	}
}

func TestNoTargetIsNull(t *testing.T) {
	s := serve(t)
	item := s.create(script(`[ "$(cat $TARGET_PATH)" = null ]; [ "$(cat $IMPORTS_PATH)" = "{}" ]; [ ! -e "$COMPONENT_DESCRIPTOR_PATH" ]`))
	s.succeed(item)
	assert.Nil(t, item.Status.ExportReference)
}

func TestMissingTargetFailsAndDeletionWaitsForIt(t *testing.T) {
	s := serve(t)
	s.target("place", document{"config": document{}})
	item := s.item("item", script("true"))
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "place"}
	s.succeed(s.add(item))
	require.NoError(t, s.p.Client().Delete(t.Context(), &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "place"}}))
	s.begin(item)
	s.fail(item, `Target "place" does not exist`)

	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	s.begin(item)
	s.await(item, func() bool { return item.Status.LastError != nil && item.Status.Phase == v1alpha1.PhaseDeleting })
	s.target("place", document{"config": document{}})
	require.NoError(t, s.p.AwaitGone(t.Context(), item))
}

// version is a component descriptor.
func version(name string, references ...document) document {
	if references == nil {
		references = []document{}
	}
	return document{"meta": document{"schemaVersion": "v2"}, "component": document{
		"name": name, "version": "1.0.0", "provider": "acme", "sources": []any{}, "componentReferences": references, "resources": []any{},
		"repositoryContexts": []any{},
	}}
}

func publish(t *testing.T, r *registry.Registry, base string, descriptor document) {
	t.Helper()
	raw, err := json.Marshal(descriptor)
	require.NoError(t, err)
	decoded, err := component.Decode(raw)
	require.NoError(t, err)
	image, err := component.Version{Descriptor: decoded}.Image(component.SchemaV2)
	require.NoError(t, err)
	repository := base + "/component-descriptors/" + decoded.Name
	for _, content := range append([]component.Content{image.Config}, image.Layers...) {
		r.PushBlob(t, repository, content.MediaType, contentOf(t, content))
	}
	r.PushManifest(t, repository, component.Tag(decoded.Version), image.Manifest.MediaType, contentOf(t, image.Manifest))
}

// countComponents exports the names in the list of component descriptors, and what the content holds.
const countComponents = `names=$(tr ',{' '\n\n' < "$COMPONENT_DESCRIPTOR_PATH" | grep -o '"name":"example.com/[a-z]*"' | sort -u | tr '\n' ' ' | tr -d '"')
files=$(cd "$CONTENT_PATH" && find . -type f | sort | tr '\n' ' ')
printf '{"names": "%s", "files": "%s", "text": "%s"}' "$names" "$files" "$(cat $CONTENT_PATH/deep/text)" > "$EXPORTS_PATH"`

const contentInline = `
blueprint: {inline: {filesystem: {blueprint.yaml: "kind: Blueprint", deep: {text: hello}}}}
`

func TestComponentsOfTwoRepositoriesAndContent(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	publish(t, r, "one", version("example.com/root", document{"name": "part", "componentName": "example.com/part", "version": "1.0.0"}))
	publish(t, r, "two", version("example.com/part"))
	s := serve(t)
	s.context(r)
	item := s.create(script(countComponents) + contentInline + `
componentDescriptor: {ref: {componentName: example.com/root, version: 1.0.0}}
`)

	s.succeed(item)

	const want = `{"names": "name:example.com/part name:example.com/root ", "files": "./blueprint.yaml ./deep/text ", "text": "hello"}`
	assert.JSONEq(t, want, s.exports(item))

	t.Run("deletion needs no registry", func(t *testing.T) {
		r.Break(registry.Status(503, 0))
		s.stop() // it would remember the component
		s.start()
		s.configure(item, script(`[ "$OPERATION" = DELETE ] && grep -q example.com/part "$COMPONENT_DESCRIPTOR_PATH" && grep -q hello "$CONTENT_PATH/deep/text"`)+
			contentInline+"\ncomponentDescriptor: {ref: {componentName: example.com/root, version: 1.0.0}}\n")
		s.interrupt(item)
		s.remove(item)
		assert.Empty(t, s.left())
	})
}

func TestTheStatusSaysWhichSourcesWereUsed(t *testing.T) {
	s := serve(t, func(o *Options) { o.Sources = platform.Shared(t).Client() })
	for name, files := range map[string]map[string]string{
		"component": {"component-descriptor.yaml": `meta: {schemaVersion: v2}
component: {name: example.com/root, version: 1.0.0, provider: example.com, repositoryContexts: [], sources: [], componentReferences: [], resources: []}
`},
		"content": {"text": "hello"},
	} {
		_, err := s.p.Registry.PushFluxArtifact(t.Context(), s.namespace+"/"+name, "1.0.0", servers.Files(files))
		require.NoError(t, err)
		require.NoError(t, s.p.ApplyYAML(t.Context(), fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: %s, namespace: %s}
spec: {interval: 1h, insecure: true, url: %q, ref: {tag: 1.0.0}}
`, name, s.namespace, s.p.Registry.URL(s.namespace+"/"+name))))
		require.NoError(t, s.p.AwaitReady(t.Context(), &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}))
	}
	item := s.create(script(`grep -q hello "$CONTENT_PATH/text"; grep -q example.com/root "$COMPONENT_DESCRIPTOR_PATH"`) + `
blueprint: {sourceRef: {kind: OCIRepository, name: content}}
componentDescriptor: {ref: {componentName: example.com/root, version: 1.0.0, repositoryContext: {type: fluxSource, sourceRef: {kind: OCIRepository, name: component}}}}
`)
	s.succeed(item)
	var names []string
	for _, used := range item.Status.Sources {
		names = append(names, used.Kind+" "+used.Namespace+"/"+used.Name)
		assert.Contains(t, used.Revision, "1.0.0@sha256:")
		assert.NotEmpty(t, used.Digest)
	}
	assert.ElementsMatch(t, []string{"OCIRepository " + s.namespace + "/content", "OCIRepository " + s.namespace + "/component"}, names)

	s.configure(item, script("true"))
	s.succeed(item)
	assert.Empty(t, item.Status.Sources, "this run has used none")
}

// context makes the default Context look for components in two repositories of a registry.
func (s *served) context(r *registry.Registry) {
	s.t.Helper()
	config := `{"type": "generic.config.ocm.software/v1", "configurations": [{"type": "ocm.config.ocm.software", "resolvers": [
		{"repository": {"type": "OCIRegistry", "baseUrl": "` + r.URL() + `", "subPath": "one"}, "priority": 10},
		{"repository": {"type": "OCIRegistry", "baseUrl": "` + r.URL() + `", "subPath": "two"}, "priority": 5}]}]}`
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ocm"},
		Data: map[string]string{".ocmconfig": config}}))
	object := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "default"}}
	object.OCMConfig = &v1alpha1.LocalObjectReference{Name: "ocm"}
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), object))
}

func TestPullSecretsReachTheKubeletOnly(t *testing.T) {
	s := serve(t)
	hold := make(chan struct{})
	s.kubelet.hold = hold
	for name, host := range map[string]string{"one": "a.example.com", "two": "b.example.com"} {
		require.NoError(t, s.p.Client().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
			Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{".dockerconfigjson": []byte(`{"auths": {"` + host + `": {"username": "u", "password": "hunter2"}}}`)}}))
	}
	item := s.create(script("true") + "registryPullSecrets: [{name: one}, {name: two, namespace: NS}]\n")
	pod := s.awaitPod(item, corev1.PodRunning)

	require.Len(t, pod.Spec.ImagePullSecrets, 1)
	secret := &corev1.Secret{}
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKey{Namespace: s.host, Name: pod.Spec.ImagePullSecrets[0].Name}, secret))
	assert.Equal(t, corev1.SecretTypeDockerConfigJson, secret.Type)
	var joined struct{ Auths map[string]document }
	require.NoError(t, json.Unmarshal(secret.Data[".dockerconfigjson"], &joined))
	assert.Len(t, joined.Auths, 2)
	raw, err := json.Marshal(pod)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "hunter2")
	for _, volume := range pod.Spec.Volumes {
		mounted, err := json.Marshal(volume)
		require.NoError(t, err)
		assert.NotContains(t, string(mounted), secret.Name, "no container has it")
	}
	close(hold)
	s.succeed(item)
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 0 })
}

func TestContainerRunsAgainByTheClock(t *testing.T) {
	s := serve(t)
	item := s.create(script(`n=$(cat "$STATE_PATH/n" 2>/dev/null || echo 0); echo $((n+1)) > "$STATE_PATH/n"; echo "n: $((n+1))" > "$EXPORTS_PATH"`) +
		"continuousReconcile: {every: 1s}\n")
	s.succeed(item)
	first := item.Status.JobID
	begun := time.Now()
	s.await(item, func() bool {
		return item.Status.JobIDFinished != first && item.Status.JobID == item.Status.JobIDFinished
	})
	require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v after %s", item.Status.LastError, time.Since(begun))
}

func TestContainersCannotBeHeldToAnAccount(t *testing.T) {
	s := serve(t)
	s.target("place", document{"config": document{}, "serviceAccountName": "limited"})
	item := s.item("item", script("true"))
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "place"}
	s.fail(s.add(item), "which no container can be held to")
	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	s.begin(item)
	require.NoError(t, s.p.AwaitGone(t.Context(), item))
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// scene is what one test works in: a namespace of its own. When the test ends, every state that an Installation of the namespace ever
// had must have told the truth.
type scene struct {
	*landscape
	t         *testing.T
	ctx       context.Context
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	l := shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	s := &scene{landscape: l, t: t, ctx: ctx, namespace: l.Namespace(t)}
	t.Cleanup(func() { l.witness.requireTruth(t, s.namespace) })
	started := time.Now()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what was written in %s:\n%s", s.namespace, strings.Join(s.writesSince(started), "\n"))
		}
	})
	return s
}

// deployer is the user under which Targets of the scene let the deployers in, so that its requests can be told apart.
func (s *scene) deployer() string { return "deployer-of-" + s.namespace }

// target makes a Target of the cluster itself.
func (s *scene) target(name string) {
	s.t.Helper()
	s.targetOf(s.ctx, s.t, s.namespace, name, s.deployerConfig())
}

func (s *scene) deployerConfig() *rest.Config {
	s.t.Helper()
	config, err := s.NewUser(s.deployer(), "system:masters")
	require.NoError(s.t, err)
	return config
}

// apply applies manifests server-side, in the namespace of the scene unless they say otherwise.
func (s *scene) apply(manifests ...string) {
	s.t.Helper()
	for _, manifest := range manifests {
		objects, err := documents(manifest)
		require.NoError(s.t, err, manifest)
		for _, object := range objects {
			if object.GetNamespace() == "" {
				object.SetNamespace(s.namespace)
			}
			require.NoError(s.t, s.Apply(s.ctx, object))
		}
	}
}

// leaf is an Installation that deploys one ConfigMap of its name with one value.
type leaf struct {
	name, value string
	annotations map[string]string
	// target is the Target that it imports, "cluster" when empty. Blueprint replaces the inline blueprint, spec is added to the spec.
	target, blueprint, spec string
}

// follows are the annotations of an Installation that runs at every change.
func follows() map[string]string {
	return map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}
}

func (l leaf) String() string {
	blueprint := l.blueprint
	if blueprint == "" {
		blueprint = "inline: {filesystem: {blueprint.yaml: " + quote(configBlueprint(l.name, l.value)) + "}}"
	}
	target := l.target
	if target == "" {
		target = "cluster"
	}
	annotations := ""
	for name, value := range l.annotations {
		annotations += fmt.Sprintf("    %s: %q\n", name, value)
	}
	if annotations != "" {
		annotations = "  annotations:\n" + annotations
	}
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata:\n  name: " + l.name + "\n" + annotations +
		"spec:\n  blueprint:\n    " + blueprint + "\n  imports: {targets: [{name: cluster, target: " + target + "}]}\n" + l.spec
}

// quote writes a text as one YAML scalar.
func quote(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// configBlueprint is a blueprint that deploys one ConfigMap into the namespace of the Installation.
func configBlueprint(name, value string) string {
	return blueprintOf("deployItems:\n" + manifestItem("config", name, value))
}

// blueprintOf is a blueprint with a target import and one deploy execution.
func blueprintOf(template string) string {
	return `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchema: "https://json-schema.org/draft/2019-09/schema"
imports:
- name: cluster
  type: target
  targetType: landscaper.gardener.cloud/kubernetes-cluster
deployExecutions:
- name: default
  type: GoTemplate
  template: ` + quote(template)
}

// manifestItem is a deploy item that deploys one ConfigMap.
func manifestItem(item, name, value string) string {
	return fmt.Sprintf(`- name: %s
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
        metadata: {name: %s, namespace: {{ .imports.cluster.metadata.namespace }}}
        data: {value: %q}
`, item, name, value)
}

// mockItem is a deploy item of the mock deployer that ends in a phase.
func mockItem(item string, phase v1alpha1.Phase) string {
	return fmt.Sprintf(`- name: %s
  type: landscaper.gardener.cloud/mock
  config:
    apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    phase: %s
`, item, phase)
}

func (s *scene) installation(name string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}}
}

// await waits for a state of an Installation.
func (s *scene) await(name string, done func(*v1alpha1.Installation) bool) *v1alpha1.Installation {
	s.t.Helper()
	inst := s.installation(name)
	require.NoError(s.t, s.Await(s.ctx, inst, func() bool { return done(inst) }), "%s", s.witness.history(s.namespace, name))
	return inst
}

// ended waits until an Installation is idle in a phase for its newest spec.
func (s *scene) ended(name string, phase v1alpha1.Phase) *v1alpha1.Installation {
	s.t.Helper()
	return s.await(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == phase && inst.Status.IsIdle() && inst.Status.JobID != "" &&
			inst.Status.ObservedGeneration == inst.Generation
	})
}

// ran waits until a job other than the given one has ended in a phase.
func (s *scene) ran(name, former string, phase v1alpha1.Phase) *v1alpha1.Installation {
	s.t.Helper()
	return s.await(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == phase && inst.Status.IsIdle() && inst.Status.JobID != former
	})
}

// annotate sets or, with nil, removes an annotation, as kubectl annotate does.
func (s *scene) annotate(object client.Object, name string, value any) {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
	require.NoError(s.t, err)
	require.NoError(s.t, s.Client().Patch(s.ctx, object, client.RawPatch("application/merge-patch+json", raw)))
}

// delete deletes an object and waits until it is gone.
func (s *scene) delete(object client.Object) {
	s.t.Helper()
	require.NoError(s.t, s.Client().Delete(s.ctx, object))
	require.NoError(s.t, s.AwaitGone(s.ctx, object))
}

// requireValue checks what an Installation has deployed.
func (s *scene) requireValue(name, value string) {
	s.t.Helper()
	config := &corev1.ConfigMap{}
	require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, config))
	require.Equal(s.t, value, config.Data["value"])
}

// requireJobs checks how many jobs an Installation has had.
func (s *scene) requireJobs(count int, names ...string) {
	s.t.Helper()
	for _, name := range names {
		require.Len(s.t, s.witness.jobs(s.namespace, name), count, "%s", s.witness.history(s.namespace, name))
	}
}

// events counts the events of an Installation with a reason.
func (s *scene) events(name, reason string) int {
	s.t.Helper()
	list := &corev1.EventList{}
	require.NoError(s.t, s.Client().List(s.ctx, list, client.InNamespace(s.namespace)))
	count := 0
	for i := range list.Items {
		event := &list.Items[i]
		if event.InvolvedObject.Kind == "Installation" && event.InvolvedObject.Name == name && event.Reason == reason {
			count += max(int(event.Count), 1)
		}
	}
	return count
}

// awaitEvents waits until the events of an Installation with a reason, which are written behind the scenes, are as many as expected.
func (s *scene) awaitEvents(count int, name, reason string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.events(name, reason) >= count }, patience, 50*time.Millisecond)
	require.Equal(s.t, count, s.events(name, reason))
}

// requireNoWrites checks that since a moment neither our processes nor what they deploy with has written anything here.
func (s *scene) requireNoWrites(since time.Time) {
	s.t.Helper()
	require.Empty(s.t, s.writesSince(since))
}

// writesSince lists what our processes, and what they deploy with, wrote here since a moment.
func (s *scene) writesSince(since time.Time) []string {
	s.t.Helper()
	requests, err := s.Requests(context.Background(), since)
	require.NoError(s.t, err)
	var writes []string
	for _, r := range requests {
		if r.Writes() && r.Namespace == s.namespace && (ours[r.User] || r.User == s.deployer()) {
			writes = append(writes, fmt.Sprintf("%s %s %s %s %s %s %d", r.Time.Format("15:04:05.000000"), r.User, r.Verb, r.Resource,
				r.Subresource, r.Name, r.Code))
		}
	}
	return writes
}

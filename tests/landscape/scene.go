// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// Patience bounds every wait; nothing takes that long unless it is broken, also with the race detector on a busy machine.
const Patience = 3 * time.Minute

// Scene is what one test works in: a namespace of its own. When the test ends, every state that an Installation of the namespace ever
// had must have told the truth.
type Scene struct {
	*Landscape
	// T is the test.
	T testing.TB
	// Ctx ends after twice the patience.
	Ctx context.Context
	// Namespace of the test.
	Namespace string
}

// NewScene makes the namespace of a test.
func NewScene(t testing.TB) *Scene {
	t.Helper()
	l := Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	t.Cleanup(cancel)
	s := &Scene{Landscape: l, T: t, Ctx: ctx, Namespace: l.Namespace(t)}
	t.Cleanup(func() {
		l.Witness.RequireTruth(t, s.Namespace)
		if t.Failed() {
			t.Logf("what the Installations went through:\n%s", l.Witness.History(s.Namespace))
		}
	})
	return s
}

// Deployer is the user under which Targets of the scene let the deployers in, so that its requests can be told apart.
func (s *Scene) Deployer() string { return "deployer-of-" + s.Namespace }

// Target makes a Target of the cluster itself.
func (s *Scene) Target(name string) {
	s.T.Helper()
	config, err := s.NewUser(s.Deployer(), "system:masters")
	require.NoError(s.T, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.T, err)
	s.Put("Target", name, map[string]any{"spec": map[string]any{
		"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": map[string]any{"kubeconfig": string(kubeconfig)},
	}})
}

// Put applies an object of our API group server-side: content is everything beside its name.
func (s *Scene) Put(kind, name string, content map[string]any) {
	s.T.Helper()
	raw, err := json.Marshal(content)
	require.NoError(s.T, err)
	object := &unstructured.Unstructured{}
	require.NoError(s.T, json.Unmarshal(raw, &object.Object))
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	object.SetName(name)
	object.SetNamespace(s.Namespace)
	require.NoError(s.T, s.Apply(s.Ctx, object))
}

// Installation returns an empty Installation with a name, to read into.
func (s *Scene) Installation(name string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}}
}

// AwaitState waits for a state of an Installation.
func (s *Scene) AwaitState(name string, done func(*v1alpha1.Installation) bool) *v1alpha1.Installation {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, Patience)
	defer cancel()
	inst := s.Installation(name)
	require.NoError(s.T, s.Await(ctx, inst, func() bool { return done(inst) }))
	return inst
}

// Ended waits until an Installation is idle in a phase for its newest spec.
func (s *Scene) Ended(name string, phase v1alpha1.Phase) *v1alpha1.Installation {
	s.T.Helper()
	return s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == phase && inst.Status.IsIdle() && inst.Status.JobID != "" &&
			inst.Status.ObservedGeneration == inst.Generation
	})
}

// Ran waits until a job other than the given one has ended in a phase.
func (s *Scene) Ran(name, former string, phase v1alpha1.Phase) *v1alpha1.Installation {
	s.T.Helper()
	return s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == phase && inst.Status.IsIdle() && inst.Status.JobID != former
	})
}

// Annotate sets or, with nil, removes an annotation, as kubectl annotate does.
func (s *Scene) Annotate(object client.Object, name string, value any) {
	s.T.Helper()
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
	require.NoError(s.T, err)
	require.NoError(s.T, s.Client().Patch(s.Ctx, object, client.RawPatch("application/merge-patch+json", raw)))
}

// Delete asks for the deletion of an object.
func (s *Scene) Delete(object client.Object) {
	s.T.Helper()
	require.NoError(s.T, s.Client().Delete(s.Ctx, object))
}

// Gone waits until objects are gone.
func (s *Scene) Gone(objects ...client.Object) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, Patience)
	defer cancel()
	for _, object := range objects {
		require.NoError(s.T, s.AwaitGone(ctx, object))
	}
}

// RequireJobs checks how many jobs an Installation has had. The witness may lag behind the test, but not ahead of it.
func (s *Scene) RequireJobs(count int, names ...string) {
	s.T.Helper()
	for _, name := range names {
		seen := func() bool { return len(s.Witness.Jobs(s.Namespace, name)) >= count }
		require.Eventually(s.T, seen, Patience, 20*time.Millisecond, "jobs of %s", name)
		require.Len(s.T, s.Witness.Jobs(s.Namespace, name), count, "jobs of %s", name)
	}
}

// Child returns the sub-installation of an Installation with a template name, nil when there is none.
func (s *Scene) Child(parent, template string) *v1alpha1.Installation {
	s.T.Helper()
	list := &v1alpha1.InstallationList{}
	labels := client.MatchingLabels{v1alpha1.EncompassedByLabel: parent}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), labels))
	for i := range list.Items {
		if list.Items[i].Annotations[v1alpha1.SubinstallationNameAnnotation] == template {
			return &list.Items[i]
		}
	}
	return nil
}

// RequireNoWrites checks that since a moment neither our processes nor what they deploy with has written anything here.
func (s *Scene) RequireNoWrites(since time.Time) {
	s.T.Helper()
	requests, err := s.Requests(s.Ctx, since)
	require.NoError(s.T, err)
	var writes []string
	for _, r := range requests {
		if r.Writes() && r.Namespace == s.Namespace && (s.Processes[r.User] != nil || r.User == s.Deployer()) {
			writes = append(writes, strings.Join([]string{r.Time.Format(time.StampMilli), r.User, r.Verb, r.Resource, r.Subresource, r.Name}, " "))
		}
	}
	require.Empty(s.T, writes)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Patience bounds every wait; nothing takes that long unless it is broken, also with the race detector on a busy machine.
const Patience = 10 * time.Minute

// Scene is what one test works in: a namespace of its own. When the test ends, every state that an Installation of the namespace ever
// had must have told the truth, and in whatever state the test leaves its objects, resource versions have to stand still soon.
type Scene struct {
	*Landscape
	// T is the test.
	T testing.TB
	// Ctx ends after twice the patience.
	Ctx context.Context
	// Namespace of the test.
	Namespace string
	// restless says that the namespace need not come to a standstill.
	restless bool
}

// NewScene makes the namespace of a test.
func NewScene(t testing.TB) *Scene {
	t.Helper()
	l := Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	t.Cleanup(cancel)
	s := &Scene{Landscape: l, T: t, Ctx: ctx, Namespace: l.Namespace(t)}
	begun := time.Now()
	t.Cleanup(func() {
		if t.Failed() || s.restless {
			l.removeNamespace(s.Namespace)
			return
		}
		l.Standstill.leave(t.Name(), s.Namespace)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what was written in %s:\n%s", s.Namespace, strings.Join(s.writesSince(begun), ""))
		}
	})
	t.Cleanup(func() {
		l.Witness.RequireTruth(t, s.Namespace)
		if t.Failed() {
			t.Logf("what the Installations went through:\n%s", l.Witness.History(s.Namespace))
		}
	})
	return s
}

// Put applies an object of our API group server-side: content is everything beside its name.
func (s *Scene) Put(kind, name string, content map[string]any) {
	s.T.Helper()
	raw, err := json.Marshal(content)
	require.NoError(s.T, err)
	object := &unstructured.Unstructured{}
	require.NoError(s.T, kjson.UnmarshalCaseSensitivePreserveInts(raw, &object.Object))
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	object.SetName(name)
	object.SetNamespace(s.Namespace)
	require.NoError(s.T, s.Apply(s.Ctx, object))
}

// Named returns the metadata of an object of the scene.
func (s *Scene) Named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: s.Namespace}
}

// Installation returns an empty Installation with a name, to read into.
func (s *Scene) Installation(name string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: s.Named(name)}
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

// Succeeded waits until an Installation has succeeded with its newest spec.
func (s *Scene) Succeeded(name string) *v1alpha1.Installation {
	s.T.Helper()
	return s.Ended(name, v1alpha1.PhaseSucceeded)
}

// Failed waits until an Installation has failed and returns why.
func (s *Scene) Failed(name string) *v1alpha1.Error {
	s.T.Helper()
	inst := s.Ended(name, v1alpha1.PhaseFailed)
	require.NotNil(s.T, inst.Status.LastError)
	return inst.Status.LastError
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

// AwaitEvents waits until the events of Installations with a reason, which are written behind the scenes, are as many as expected.
func (s *Scene) AwaitEvents(count int, reason string, names ...string) {
	s.T.Helper()
	for _, name := range names {
		told := func() bool { return s.events(name, reason) >= count }
		require.Eventually(s.T, told, Patience, 50*time.Millisecond, "events %s of %s", reason, name)
		require.Equal(s.T, count, s.events(name, reason), "events %s of %s", reason, name)
	}
}

func (s *Scene) events(name, reason string) (count int) {
	s.T.Helper()
	list := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.kind": "Installation", "involvedObject.name": name, "reason": reason}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), about))
	for i := range list.Items {
		count += max(int(list.Items[i].Count), 1)
	}
	return count
}

// Value returns the content of a DataObject as JSON.
func (s *Scene) Value(name string) string {
	s.T.Helper()
	data := &v1alpha1.DataObject{ObjectMeta: s.Named(name)}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(data), data))
	return string(data.Data.RawMessage)
}

// Config returns the content of a ConfigMap that was deployed.
func (s *Scene) Config(name string) map[string]string {
	s.T.Helper()
	config := &corev1.ConfigMap{ObjectMeta: s.Named(name)}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(config), config))
	return config.Data
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
	require.Empty(s.T, s.writesSince(since))
}

// writesSince lists what our processes, and what they deploy with, wrote here since a moment.
func (s *Scene) writesSince(since time.Time) []string {
	s.T.Helper()
	requests, err := s.Requests(context.WithoutCancel(s.Ctx), since)
	require.NoError(s.T, err)
	var writes []string
	for _, r := range requests {
		if r.Writes() && r.Namespace == s.Namespace && (s.Processes[r.User] != nil || r.User == s.Deployer()) {
			writes = append(writes, fmt.Sprintln(r.Time.Format(time.StampMicro), r.User, r.Verb, r.Resource, r.Subresource, r.Name, r.Code))
		}
	}
	return writes
}

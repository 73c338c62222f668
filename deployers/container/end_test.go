// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

func contentOf(t testing.TB, c component.Content) []byte {
	t.Helper()
	raw, err := io.ReadAll(c.Reader())
	require.NoError(t, err)
	return raw
}

// endsWithin is how soon a Pod has to end whose job is over.
const endsWithin = 2 * time.Second

// awaitNoPod waits until the Pod of an item is gone and returns how long that took.
func (s *served) awaitNoPod(item *v1alpha1.DeployItem, since time.Time) time.Duration {
	s.t.Helper()
	pod := s.pod(item)
	require.Eventually(s.t, func() bool {
		return apierrors.IsNotFound(s.p.Client().Get(s.t.Context(), client.ObjectKeyFromObject(pod), pod))
	}, pace.Within(10*time.Second), 10*time.Millisecond)
	return time.Since(since)
}

// TestARunningPodEnds ends one Pod of an item after another: by an interrupt, by one while no deployer runs, by a new job and by a deletion.
func TestARunningPodEnds(t *testing.T) {
	s := serve(t)
	item := s.create(script("sleep 300"))
	s.awaitPod(item, corev1.PodRunning)
	begun := time.Now()
	s.interrupt(item)
	assert.Less(t, s.awaitNoPod(item, begun), pace.Within(endsWithin))
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 0 })

	s.configure(item, script("sleep 300"))
	s.awaitPod(item, corev1.PodRunning)
	s.stop()
	s.interrupt(item)
	s.start()
	s.awaitNoPod(item, time.Now())

	s.configure(item, script("sleep 300"))
	old := s.awaitPod(item, corev1.PodRunning)
	s.configure(item, script("true"))
	s.succeed(item)
	assert.NotEqual(t, old.Annotations[sidecar.Job], item.Status.JobID)

	s.configure(item, script(`[ "$OPERATION" = DELETE ] || sleep 300`))
	s.awaitPod(item, corev1.PodRunning)
	s.remove(item)
	assert.Empty(t, s.left())
}

func TestTimeoutEndsThePod(t *testing.T) {
	s := serve(t)
	item := s.item("item", script("sleep 300"))
	item.Spec.Timeout = &v1alpha1.Duration{Duration: 3 * time.Second}
	s.add(item)
	s.awaitPod(item, corev1.PodRunning)
	s.ended(item)
	assert.Less(t, s.awaitNoPod(item, time.Now()), pace.Within(endsWithin))
	assert.Contains(t, item.Status.LastError.Codes, v1alpha1.ErrorTimeout)
	assert.Contains(t, item.Status.LastError.Message, `timeout at: "container deployer: start reconcile"`)
}

func TestItemThatNeverRanGoesWithoutRunning(t *testing.T) {
	s := serve(t)
	item := s.create(`registryPullSecrets: [{name: a, namespace: other}]`)
	s.fail(item, "registryPullSecrets[0].namespace")
	s.remove(item)
	assert.Empty(t, s.left())
}

func TestPodThatAPersonDeletesIsJudgedAllTheSame(t *testing.T) {
	s := serve(t)
	item := s.create(script("sleep 300"))
	pod := s.awaitPod(item, corev1.PodRunning)
	s.kubelet.hold = nil
	require.NoError(t, s.p.Client().Delete(t.Context(), pod, client.GracePeriodSeconds(1)))
	patched := pod.DeepCopy()
	patched.Status.Phase = corev1.PodFailed // what a kubelet writes when the containers have ended
	patched.Status.Reason, patched.Status.Message = "Terminated", "Pod was terminated by a person"
	require.NoError(t, s.p.Client().Status().Patch(t.Context(), patched, client.MergeFrom(pod)))
	s.fail(item, "Pod was terminated by a person")
	s.awaitNoPod(item, time.Now())
}

func TestKeptPodStaysUntilTheNextJob(t *testing.T) {
	s := serve(t, func(o *Options) { o.KeepPods = true })
	item := s.create(script("exit 4"))
	s.fail(item, "exit code 4")
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 0 })
	first := s.pod(item)
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(first), first))
	s.configure(item, script("true"))
	s.succeed(item)
	second := s.pod(item)
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(second), second))
	assert.NotEqual(t, first.UID, second.UID)
	s.remove(item)
	assert.Empty(t, s.left())
}

// leftovers are what an item has on the host cluster.
func (s *served) leftovers(of names) []client.Object {
	meta := of.meta(s.host, of.base, sidecar.TypeIdentity, nil)
	pod := podOf(&emptyConfiguration)
	pod.ObjectMeta = meta
	pod.Finalizers, pod.Spec.ServiceAccountName = []string{sidecar.Finalizer}, of.base
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta}, &rbacv1.Role{ObjectMeta: meta},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: of.base}},
		&corev1.Secret{ObjectMeta: of.meta(s.host, of.state(1)+"0", sidecar.TypeState, nil)}, &corev1.Secret{ObjectMeta: of.meta(s.host, of.config(), sidecar.TypeConfig, nil)},
		pod,
	}
}

func TestDisabledGarbageCollectionEndsPodsOnly(t *testing.T) {
	for name, disabled := range map[string]bool{"collected": false, "disabled": true} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t, func(o *Options) { o.Garbage.Disable = disabled })
			s.kubelet.ignore = true
			gone := namesOf(keyIn(s.namespace, "gone"), s.options.Identity)
			for _, object := range s.leftovers(gone) {
				require.NoError(t, s.p.Client().Create(t.Context(), object), "%T", object)
			}
			all := s.left()

			require.NoError(t, s.options.hostFor(gone.item).abandon(t.Context()))

			s.awaitLeft(func(left map[string][]string) bool { return len(left["Pod"]) == 0 })
			delete(all, "Pod")
			if !disabled {
				all = map[string][]string{}
			}
			assert.Equal(t, all, s.left())
		})
	}
}

func TestC27ContainerGarbageCollection(t *testing.T) {
	s := serve(t, func(o *Options) { o.Garbage.RequeueTimeSeconds = 1 })
	kept := s.create(script(`echo x > "$STATE_PATH/x"`))
	s.succeed(kept)
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 1 })
	before := s.left()

	gone := namesOf(client.ObjectKey{Namespace: s.namespace, Name: "gone"}, s.options.Identity)
	foreign := namesOf(client.ObjectKey{Namespace: s.namespace, Name: "gone"}, "another deployer")
	s.kubelet.ignore = true
	for _, object := range append(s.leftovers(gone), s.leftovers(foreign)...) {
		require.NoError(t, s.p.Client().Create(t.Context(), object), "%T", object)
	}
	unmarked := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.host, Name: gone.base + "-unmarked"}}
	require.NoError(t, s.p.Client().Create(t.Context(), unmarked))

	s.awaitLeft(func(left map[string][]string) bool { return assert.ObjectsAreEqual(before, left) })

	for _, object := range append(s.leftovers(foreign), unmarked) {
		assert.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object), "%T of others stays", object)
	}
}

func TestOneWaitingItemHoldsNoWorker(t *testing.T) {
	s := serve(t)
	s.stop()
	s.concurrency = 1
	s.start()
	hanging := s.create(script("sleep 300"))
	s.awaitPod(hanging, corev1.PodRunning)
	s.succeed(s.add(s.item("other", script("true"))))
}

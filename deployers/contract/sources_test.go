// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// A ConfigMap stands for a source in these tests; its key "revision" is what it offers.

func sourceNames(item *v1alpha1.DeployItem) []string {
	if item.Spec.Configuration == nil {
		return nil
	}
	_, name, found := strings.Cut(string(item.Spec.Configuration.Raw), `"source":"`)
	if !found {
		return nil
	}
	name, _, _ = strings.Cut(name, `"`)
	return []string{name}
}

// offer is what the source of an item offers, read by c.
func offer(ctx context.Context, c client.Reader, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error) {
	var offered []v1alpha1.SourceStatus
	for _, name := range sourceNames(item) {
		source := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: name}, source)
		if apierrors.IsNotFound(err) || err == nil && source.Data["revision"] == "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		offered = append(offered, v1alpha1.SourceStatus{Kind: "ConfigMap", Namespace: item.Namespace, Name: name, Revision: source.Data["revision"]})
	}
	return offered, nil
}

// sourceWatch lacks Offered.
func sourceWatch() *SourceWatch {
	return &SourceWatch{
		Kinds: []client.Object{&corev1.ConfigMap{}}, News: predicate.ResourceVersionChangedPredicate{},
		KeyOf: func(source client.Object) string { return source.GetNamespace() + "/" + source.GetName() },
		KeysOf: func(item *v1alpha1.DeployItem) []string {
			var keys []string
			for _, name := range sourceNames(item) {
				keys = append(keys, item.Namespace+"/"+name)
			}
			return keys
		},
	}
}

// sourceStage is a stage whose items use what their sources offer, unless the test says otherwise.
type sourceStage struct {
	*stage
	options Options
	mu      sync.Mutex
	// used are the revisions of the calls, by item.
	used map[string][]string
	// fail is what a call returns for a revision, before it comes to the source; nil lets it succeed.
	fail func(item *Item, revision string) error
}

func newSourceStage(t *testing.T) *sourceStage {
	t.Helper()
	s := &sourceStage{used: map[string][]string{}, options: Options{Sources: sourceWatch(), Identity: "test"}}
	deployer := &scripted{}
	deployer.ensure = s.ensure
	// The sources are read with the client of the platform, which the stage has once it is made.
	s.options.Sources.Offered = func(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error) {
		return offer(ctx, s.client(), item)
	}
	s.stage = newStageOf(t, deployer, repeating{deployer}, s.options)
	return s
}

func (s *sourceStage) ensure(ctx context.Context, item *Item) (Outcome, error) {
	offered, err := offer(ctx, s.client(), item.DeployItem)
	if err != nil {
		return Outcome{}, err
	}
	if len(offered) == 0 {
		return Outcome{Waiting: "no source", Sources: []v1alpha1.SourceStatus{}}, nil
	}
	revision := offered[0].Revision
	s.mu.Lock()
	s.used[item.DeployItem.Name] = append(s.used[item.DeployItem.Name], revision)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if err := fail(item, revision); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{Done: true, Sources: offered}, nil
}

func (s *sourceStage) revisions(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.used[name]...)
}

// failWith makes calls fail from now on.
func (s *sourceStage) failWith(fail func(item *Item, revision string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// offers makes a source offer a revision, "" for none.
func (s *sourceStage) offers(name, revision string) {
	s.t.Helper()
	source := s.configMap(name)
	source.Data = map[string]string{"revision": revision}
	err := s.client().Create(s.t.Context(), source)
	if apierrors.IsAlreadyExists(err) {
		err = s.client().Update(s.t.Context(), source)
	}
	require.NoError(s.t, err)
}

func from(source string) func(*v1alpha1.DeployItem) {
	return func(item *v1alpha1.DeployItem) {
		item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"source":%q}`, source))}
	}
}

// deployed creates an item, runs its first job and returns it.
func (s *sourceStage) deployed(name, source string, change ...func(*v1alpha1.DeployItem)) *v1alpha1.DeployItem {
	s.t.Helper()
	item := s.create(name, append(change, from(source))...)
	s.trigger(item)
	return s.finished(item)
}

// awaitRevision waits until a job of the item's own has ended with a revision.
func (s *sourceStage) awaitRevision(item *v1alpha1.DeployItem, revision string) {
	s.t.Helper()
	require.NoError(s.t, s.p.Await(s.context(), item, func() bool {
		return item.Job().IsIdle() && len(item.Status.Sources) == 1 && item.Status.Sources[0].Revision == revision
	}))
	require.True(s.t, strings.HasPrefix(item.Status.JobID, v1alpha1.ContinuousJobPrefix), item.Status.JobID)
}

// standsStill checks that an item does not change while another one follows its source twice.
func (s *sourceStage) standsStill(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, s.client().Get(s.t.Context(), keyOfItem(item), item))
	version, fence := item.ResourceVersion, "fence-"+uuid.NewString()[:8]
	s.offers(fence, "1")
	other := s.deployed(fence, fence)
	for _, revision := range []string{"2", "3"} {
		s.offers(fence, revision)
		s.awaitRevision(other, revision)
	}
	require.NoError(s.t, s.client().Get(s.t.Context(), keyOfItem(item), item))
	require.Equal(s.t, version, item.ResourceVersion)
}

func TestNewRevisionStartsOneJob(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	item := s.deployed("item", "source")
	assert.Equal(t, []v1alpha1.SourceStatus{{Kind: "ConfigMap", Namespace: s.namespace, Name: "source", Revision: "1"}}, item.Status.Sources)
	s.offers("source", "2")
	s.awaitRevision(item, "2")
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	s.offers("source", "2")
	s.standsStill(item)
	assert.Equal(t, []string{"1", "2"}, s.revisions("item"))
}

func TestRestartFindsAMissedRevision(t *testing.T) {
	s := newSourceStage(t)
	s.offers("equal", "1")
	s.offers("source", "1")
	item, equal := s.deployed("item", "source"), s.deployed("equal", "equal")
	s.stop()
	s.offers("source", "2")
	s.start(s.options)
	s.awaitRevision(item, "2")
	s.standsStill(equal)
	assert.Equal(t, []string{"1"}, s.revisions("equal"))
}

func TestRevisionThatFailsIsTriedOnce(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	item := s.deployed("item", "source")
	s.failWith(func(item *Item, revision string) error {
		if revision == "2" && item.DeployItem.Name == "item" {
			return protocol.Stall("Work", "Broken", "it is broken")
		}
		return nil
	})
	s.offers("source", "2")
	s.awaitRevision(item, "2")
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase, "it failed before it told what it used")
	s.standsStill(item)
	s.offers("source", "3")
	s.awaitRevision(item, "3")
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.Equal(t, []string{"1", "2", "3"}, s.revisions("item"))
}

func TestSourceThatOffersNothingChangesNothing(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	item := s.deployed("item", "source")
	s.offers("source", "")
	s.standsStill(item)
	require.NoError(t, s.client().Delete(t.Context(), s.configMap("source")))
	s.standsStill(item)
	s.offers("source", "1")
	s.standsStill(item)
	s.offers("source", "2")
	s.awaitRevision(item, "2")
	assert.Equal(t, []string{"1", "2"}, s.revisions("item"))
}

func TestRunningJobIsFollowedByOneForTheNewRevision(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	working, release := make(chan struct{}, 1), make(chan struct{})
	s.failWith(func(item *Item, revision string) error {
		if item.DeployItem.Name == "item" && revision == "1" {
			working <- struct{}{}
			<-release
		}
		return nil
	})
	item := s.create("item", from("source"))
	s.trigger(item)
	job := item.Status.JobID
	<-working
	s.offers("source", "2")
	s.offers("source", "3")
	s.offers("other", "1")
	other := s.deployed("other", "other")
	s.offers("other", "2")
	s.awaitRevision(other, "2")
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, job, item.Status.JobID, "the job is not disturbed")
	close(release)
	s.awaitRevision(item, "3")
	assert.Equal(t, []string{"1", "3"}, s.revisions("item"))
	s.standsStill(item)
}

func TestJobThatEndedWithoutItsSourceIsFollowedByAnother(t *testing.T) {
	s := newSourceStage(t)
	item := s.deployed("item", "source", timeout(time.Second))
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Empty(t, item.Status.Sources)
	s.standsStill(item)
	s.offers("source", "1")
	s.awaitRevision(item, "1")
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestOwnersHoldANewRevisionBack(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	inst, execution, owned := s.owned()
	inst.Spec.Suspend = true
	require.NoError(t, s.client().Update(t.Context(), inst))
	item := s.deployed("item", "source", owned)
	s.offers("source", "2")
	s.standsStill(item)

	execution.Status.JobID, execution.Status.Phase = "running", v1alpha1.PhaseProgressing
	require.NoError(t, s.client().Status().Update(t.Context(), execution))
	inst.Spec.Suspend = false
	require.NoError(t, s.client().Update(t.Context(), inst))
	s.standsStill(item)

	since := time.Now()
	s.standsStill(item)
	for _, request := range s.requestsOf(since, "executions") {
		assert.Fail(t, "an item that waits for its owner costs requests", request)
	}

	execution.Status.JobIDFinished = "running"
	require.NoError(t, s.client().Status().Update(t.Context(), execution))
	s.awaitRevision(item, "2")
	assert.Equal(t, []string{"1", "2"}, s.revisions("item"))
}

func TestSourceOfAnotherNamespaceStartsNoJob(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	item := s.deployed("item", "source")
	elsewhere := s.configMap("source")
	elsewhere.Namespace = s.p.Namespace(t)
	elsewhere.Data = map[string]string{"revision": "2"}
	require.NoError(t, s.client().Create(t.Context(), elsewhere))
	s.standsStill(item)
}

func TestNewRevisionCountsForUpdateOnChangeOnly(t *testing.T) {
	s := newSourceStage(t)
	s.offers("source", "1")
	item := s.deployed("item", "source", func(item *v1alpha1.DeployItem) { item.Spec.UpdateOnChangeOnly = true })
	s.stop()
	s.offers("source", "2")
	s.trigger(item)
	s.start(s.options)
	s.finished(item)
	assert.Equal(t, "2", item.Status.Sources[0].Revision)
	assert.Equal(t, []string{"1", "2"}, s.revisions("item"))
}

func TestEventOfAJobIsPostedOnce(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{Done: true, Event: &Event{Reason: "Worked", Message: "it worked", Revision: "main@sha1:1"}}, nil
	}}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	var found corev1.EventList
	require.Eventually(t, func() bool {
		require.NoError(t, s.client().List(t.Context(), &found, client.InNamespace(s.namespace)))
		return len(found.Items) > 0
	}, patience, 10*time.Millisecond)
	require.Len(t, found.Items, 1)
	posted := found.Items[0]
	assert.Equal(t, []string{"Normal", "Worked", "it worked"}, []string{posted.Type, posted.Reason, posted.Message})
	assert.Equal(t, map[string]string{
		"landscaper.gardener.cloud/revision": "main@sha1:1", "landscaper.gardener.cloud/token": item.Status.JobIDFinished,
	}, posted.Annotations)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package driftdesk

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// TestATargetThatCannotBeOpenedIsTriedAtItsTime lets items of a Target that does not exist have one event after the other.
func TestATargetThatCannotBeOpenedIsTriedAtItsTime(t *testing.T) {
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	reader := readerOf(t)
	desk := New(Options{TargetName: targetName, IsAtRest: isAtRest, Clients: clients, Client: reader, Live: reader})
	site := desk.siteOf(siteKey{"ns", "absent", target.Actor{}})
	began := time.Now()
	require.Zero(t, site.untilOpening(began), "the first attempt is made at once")
	pause := site.open(t.Context())
	require.Positive(t, pause)
	site.retryAt = site.opened.Add(pause)
	for name, tc := range map[string]struct {
		after  time.Duration
		events func()
		waits  bool
	}{
		"an item has changed":    {0, func() { desk.mu.Lock(); site.enqueue(types.NamespacedName{Name: "item"}); desk.mu.Unlock() }, true},
		"its time has come":      {pause, func() {}, false},
		"its Target has changed": {minOpeningPause, func() { desk.TargetChanged("ns", "absent") }, false},
		"and changes all along":  {minOpeningPause / 2, func() { desk.TargetChanged("ns", "absent") }, true},
		"another has changed":    {minOpeningPause, func() { desk.TargetChanged("ns", "other") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.events()
			t.Cleanup(func() { site.changed = false })
			assert.Equal(t, tc.waits, site.untilOpening(site.opened.Add(tc.after)) > 0)
		})
	}
}

// readerOf returns an API server in memory.
func readerOf(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// detector looks at nothing; what it says about drift is the default.
type detector struct{ Detector }

func (detector) Name() string { return "detector" }

func (detector) DriftDetection(*v1alpha1.DeployItem) (*managedresource.DriftDetection, error) {
	return nil, nil
}

func TestAJobWaitsForASearchNoLongerThanItsContext(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "item"}
	running, ended := make(chan struct{}), make(chan struct{})
	close(ended)
	for name, tc := range map[string]struct {
		search *search
		want   error
	}{
		"no search":             {nil, nil},
		"one that has ended":    {&search{cancel: func() {}, done: ended}, nil},
		"one that does not end": {&search{cancel: func() {}, done: running}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			desk := New(Options{TargetName: targetName, IsAtRest: isAtRest, Detector: detector{}})
			ctx := t.Context()
			if tc.search != nil {
				desk.searches[key] = tc.search
			}
			if tc.want != nil {
				var end context.CancelFunc
				ctx, end = context.WithCancel(ctx)
				end()
			}
			require.ErrorIs(t, desk.Stop(ctx, key), tc.want)
		})
	}
}

func TestAWorkerIsWokenForNewsOnly(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "item"}
	drifted := Found{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"}, Missing: true}
	wasFound := findings{drifted: map[managedresource.ResourceReference]Found{drifted.Resource: drifted}}
	shown := wasFound.condition(1, time.Now())
	corrected := metav1.Condition{Type: v1alpha1.DriftedCondition, Status: metav1.ConditionFalse, Reason: reasonCorrected}
	for name, tc := range map[string]struct {
		shown []metav1.Condition
		known driftItem
		want  int
	}{
		"nothing found, nothing shown":    {nil, driftItem{followed: true}, 0},
		"found":                           {nil, driftItem{followed: true, findings: wasFound}, 1},
		"found and shown":                 {[]metav1.Condition{*shown}, driftItem{followed: true, findings: wasFound}, 0},
		"shown, and gone":                 {[]metav1.Condition{*shown}, driftItem{followed: true}, 1},
		"shown by an earlier process":     {[]metav1.Condition{*shown}, driftItem{followed: true, doubtful: true}, 0},
		"corrected before, nothing found": {[]metav1.Condition{corrected}, driftItem{followed: true}, 0},
		"an event to post":                {nil, driftItem{followed: true, notes: []Note{{corev1.EventTypeNormal, reasonCorrected, "x"}}}, 1},
		"the target cannot be reached":    {nil, driftItem{unreachable: true, findings: findings{trouble: "cannot be reached"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid", Generation: 1}}
			item.Status.Conditions = tc.shown
			tc.known.uid = "uid"
			woken := 0
			desk := New(Options{TargetName: targetName, IsAtRest: isAtRest, Detector: detector{}, Client: readerOf(t, item), Queue: func(types.NamespacedName) { woken++ }})
			desk.items[key] = &tc.known
			desk.tell(t.Context(), key)
			assert.Equal(t, tc.want, woken)
		})
	}
}

// present is a detector whose items are all at their cluster.
type present struct{ detector }

func (present) Name() string { return "present" }

func (present) IsAt(*v1alpha1.DeployItem, managedresource.ClusterReference) bool { return true }

func TestAnItemThatIsForgottenMeanwhileIsNotWatched(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "item"}
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	cluster, err := clients.OpenKubeconfig(key.Namespace, []byte(`{"contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`))
	require.NoError(t, err)
	desk := New(Options{TargetName: targetName, IsAtRest: isAtRest, Detector: present{}, Clients: clients, Client: readerOf(t), Queue: func(types.NamespacedName) {}})
	known := &driftItem{key: key, site: desk.siteOf(siteKey{key.Namespace, "absent", target.Actor{}})}
	known.site.users, known.site.cluster, desk.items[key] = 1, cluster, known
	desk.Deployed = func(*v1alpha1.DeployItem) (Deployed, error) {
		desk.Forget(key)
		return Deployed{Objects: []managedresource.ResourceReference{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: "settings"}}}, nil
	}
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	item.Status.LastReconcileTime = new(metav1.Now())
	known.site.follow(item, known)
	_, objects := desk.watches.Count()
	assert.Zero(t, objects)
}

// atRest returns a desk with an item that is at rest and has an object that is due for another correction.
func atRest(t *testing.T, options Options) (*Desk, *driftItem) {
	t.Helper()
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", UID: "uid", Generation: 1}}
	item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase, item.Status.ObservedGeneration = "1", "1", v1alpha1.PhaseSucceeded, 1
	item.Status.LastReconcileTime = &metav1.Time{Time: time.Now()}
	options.Detector, options.Client, options.Queue = detector{}, readerOf(t, item), func(types.NamespacedName) {}
	desk := New(options)
	ref := managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	known := &driftItem{
		key: client.ObjectKeyFromObject(item), uid: item.UID, mode: managedresource.DriftEnabled, job: finishedJob{id: "1", generation: 1}, followed: true,
		site: desk.siteOf(siteKey{"ns", "target", target.Actor{}}),
		findings: findings{
			drifted:     map[managedresource.ResourceReference]Found{ref: {Resource: ref, Missing: true}},
			corrections: map[managedresource.ResourceReference]correction{ref: {}},
		},
	}
	known.site.opened = time.Now()
	known.site.users++
	desk.items[known.key] = known
	t.Cleanup(func() { desk.Forget(known.key) })
	return desk, known
}

func TestAPanicInASearchEndsTheSearchAlone(t *testing.T) {
	for name, tc := range map[string]func(options *Options, desk func() *Desk){
		"of the deployer": func(options *Options, _ func() *Desk) {
			options.Find = func(context.Context, Search) ([]Found, error) { panic("broken") }
		},
		"of what shows it": func(options *Options, desk func() *Desk) {
			options.Find = func(context.Context, Search) ([]Found, error) {
				desk().Client = nil
				return nil, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var options Options
			var desk *Desk
			var known *driftItem
			tc(&options, func() *Desk { return desk })
			desk, known = atRest(t, options)
			known.site.try(t.Context(), known.key)
			assert.Equal(t, 1, known.attempt)
			assert.NotNil(t, known.timer, "it is searched again later")
			require.NoError(t, desk.Stop(t.Context(), known.key)) // a job waits for no search
		})
	}
}

func TestWhatAPanicKeptFromBeingComparedIsSearchedAgain(t *testing.T) {
	desk, known := atRest(t, Options{TargetName: targetName, IsAtRest: isAtRest, Find: func(context.Context, Search) ([]Found, error) { panic("broken") }})
	item := &v1alpha1.DeployItem{}
	require.NoError(t, desk.Client.Get(t.Context(), known.key, item))
	objects := []managedresource.ResourceReference{{Kind: "ConfigMap", Name: "settings"}}
	found, isHeld, err := known.site.find(t.Context(), item, known, objects)
	require.ErrorContains(t, err, "it broke off by a panic")
	assert.Equal(t, objects, failedObjects(objects, found, err, isHeld))
}

func TestAPanicOverTheAnswerOfATargetIsAFailedAttempt(t *testing.T) {
	desk := New(Options{TargetName: targetName, IsAtRest: isAtRest, Clients: nil}) // which panics
	site := desk.siteOf(siteKey{"ns", "target", target.Actor{}})
	assert.Positive(t, site.open(t.Context()))
	assert.Equal(t, 1, site.attempt)
	assert.True(t, site.stale)
}

func targetName(item *v1alpha1.DeployItem) string {
	return item.Annotations[v1alpha1.DeployerTargetNameAnnotation]
}

func isAtRest(item *v1alpha1.DeployItem) bool { return item.Job().IsIdle() }

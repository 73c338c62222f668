// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

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
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
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
	desk := deskOf(detector{}, clients, reader)
	site := desk.siteOf(driftSiteKey{"ns", "absent", target.Actor{}})
	desk.items[types.NamespacedName{Name: "item"}] = &driftItem{site: site}
	began := time.Now()
	pause := site.open(t.Context(), began)
	require.Positive(t, pause)
	for _, tc := range []struct {
		name    string
		after   time.Duration
		changed string
		tried   bool
	}{
		{"an item has changed", 0, "", false},
		{"another has changed", minOpeningPause, "other", false},
		{"and changes all along", minOpeningPause / 2, "absent", false},
		{"its Target has changed", minOpeningPause, "absent", true},
		{"its time has come", time.Hour, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tried := site.attempt
			desk.TargetChanged("ns", tc.changed)
			require.Positive(t, site.open(t.Context(), began.Add(tc.after)))
			assert.Equal(t, tc.tried, site.attempt > tried)
		})
	}
}

// deskOf returns a desk that does not run; clients and reader may be nil.
func deskOf(deployer Deployer, clients *target.Clients, reader client.Client) *driftDesk {
	r := &reconciler{
		deployer: deployer, options: &Options{Clients: clients}, client: reader, live: reader,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]()),
	}
	return r.newDriftDesk()
}

// readerOf returns an API server in memory.
func readerOf(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// detector looks at nothing; what it says about drift is the default.
type detector struct {
	DriftDetector
	deployed func() Deployed
	find     func() ([]Drift, error)
}

func (detector) Name() string { return "detector" }

func (detector) DriftDetection(*v1alpha1.DeployItem) (*managedresource.DriftDetection, error) {
	return nil, nil
}

func (d detector) Deployed(*v1alpha1.DeployItem) (Deployed, error) { return d.deployed(), nil }

func (detector) IsAt(*v1alpha1.DeployItem, managedresource.ClusterReference) bool { return true }

func (d detector) FindDrift(context.Context, *Item, DriftSearch) ([]Drift, error) { return d.find() }

func TestAJobWaitsForASearchNoLongerThanItsContext(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "item"}
	running, ended := make(chan struct{}), make(chan struct{})
	close(ended)
	for name, tc := range map[string]struct {
		search *driftRun
		want   error
	}{
		"no search":             {nil, nil},
		"one that has ended":    {&driftRun{cancel: func() {}, done: ended}, nil},
		"one that does not end": {&driftRun{cancel: func() {}, done: running}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			desk := deskOf(detector{}, nil, nil)
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
	drifted := Drift{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"}, Missing: true}
	wasFound := driftFindings{drifted: map[managedresource.ResourceReference]Drift{drifted.Resource: drifted}}
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
		"an event to post":                {nil, driftItem{followed: true, notes: []driftNote{{corev1.EventTypeNormal, reasonCorrected, "x"}}}, 1},
		"the target cannot be reached":    {nil, driftItem{unreachable: true, findings: driftFindings{trouble: "cannot be reached"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid", Generation: 1}}
			item.Status.Conditions = tc.shown
			tc.known.uid = "uid"
			desk := deskOf(detector{}, nil, readerOf(t, item))
			desk.items[key] = &tc.known
			desk.tell(t.Context(), key)
			assert.Equal(t, tc.want, desk.queue.Len())
		})
	}
}

func TestAnItemThatIsForgottenMeanwhileIsNotWatched(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "item"}
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	cluster, err := clients.OpenKubeconfig(key.Namespace, []byte(`{"contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`))
	require.NoError(t, err)
	var desk *driftDesk
	desk = deskOf(detector{deployed: func() Deployed {
		desk.Forget(key)
		return Deployed{Objects: []managedresource.ResourceReference{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: "settings"}}}
	}}, clients, readerOf(t))
	known := &driftItem{key: key, site: desk.siteOf(driftSiteKey{key.Namespace, "absent", target.Actor{}})}
	known.site.users, known.site.cluster, desk.items[key] = 1, cluster, known
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	item.Status.LastReconcileTime = new(metav1.Now())
	known.site.follow(item, known)
	assert.Empty(t, desk.streams)
}

// atRest returns a desk with an item that is at rest and has an object that is due for another correction.
func atRest(t *testing.T, find func() ([]Drift, error)) (*driftDesk, *driftItem) {
	t.Helper()
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", UID: "uid", Generation: 1}}
	item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase, item.Status.ObservedGeneration = "1", "1", v1alpha1.PhaseSucceeded, 1
	item.Status.LastReconcileTime = &metav1.Time{Time: time.Now()}
	desk := deskOf(detector{find: find}, nil, readerOf(t, item))
	ref := managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	known := &driftItem{
		key: client.ObjectKeyFromObject(item), uid: item.UID, mode: managedresource.DriftEnabled, job: finishedJob{id: "1", generation: 1}, followed: true,
		site: desk.siteOf(driftSiteKey{"ns", "target", target.Actor{}}), pace: flowcontrol.NewFakeAlwaysRateLimiter(),
		findings: driftFindings{
			drifted:     map[managedresource.ResourceReference]Drift{ref: {Resource: ref, Missing: true}},
			corrections: map[managedresource.ResourceReference]correction{ref: {}},
		},
	}
	known.site.opened, known.site.cluster = time.Now(), &target.Cluster{}
	known.site.users++
	desk.items[known.key] = known
	t.Cleanup(func() { desk.Forget(known.key) })
	return desk, known
}

func TestAPanicInASearchEndsTheSearchAlone(t *testing.T) {
	var desk *driftDesk
	for name, find := range map[string]func() ([]Drift, error){
		"of the deployer":  func() ([]Drift, error) { panic("broken") },
		"of what shows it": func() ([]Drift, error) { desk.client = nil; return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var known *driftItem
			desk, known = atRest(t, find)
			known.site.try(t.Context(), known.key)
			assert.Equal(t, 1, known.attempt)
			require.NoError(t, desk.Stop(t.Context(), known.key)) // a job waits for no search
		})
	}
}

func TestWhatAPanicKeptFromBeingComparedIsSearchedAgain(t *testing.T) {
	desk, known := atRest(t, func() ([]Drift, error) { panic("broken") })
	item := &v1alpha1.DeployItem{}
	require.NoError(t, desk.client.Get(t.Context(), known.key, item))
	objects := []managedresource.ResourceReference{{Kind: "ConfigMap", Name: "settings"}}
	found, isHeld, err := known.site.find(t.Context(), item, known, objects)
	require.ErrorContains(t, err, "it broke off by a panic")
	assert.Equal(t, objects, failedObjects(objects, found, err, isHeld))
}

func TestAPanicOverTheAnswerOfATargetIsAFailedAttempt(t *testing.T) {
	desk := deskOf(detector{}, nil, nil) // without clients, which panics
	site := desk.siteOf(driftSiteKey{"ns", "target", target.Actor{}})
	assert.Positive(t, site.open(t.Context(), time.Now()))
	assert.Equal(t, 1, site.attempt)
	assert.True(t, site.stale)
}

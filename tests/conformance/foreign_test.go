// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/conformance"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// stranger is a deployer that knows nothing of our library. Each item in work has a goroutine of its own.
type stranger struct {
	client   client.WithWatch
	itemType string
	// Faults.
	splitsEnd, touchesIdle, ignoresInterrupt, ignoresTimeout, forgetsDeployer, losesExports, takesAll, deletesAtOnce, answersOnce, leavesBegun, chokes, overwrites bool
	// late is how old its news are.
	late time.Duration
}

func (d *stranger) start(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, err := d.client.Watch(ctx, &v1alpha1.DeployItemList{}, client.InNamespace(namespace))
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); events.Stop(); <-ended })
	go func() {
		defer close(ended)
		stops := map[string]context.CancelFunc{}
		for event := range events.ResultChan() {
			<-time.After(d.late)
			item, isItem := event.Object.(*v1alpha1.DeployItem)
			if !isItem || event.Type == apiwatch.Deleted || item.Spec.Type != d.itemType && !d.takesAll {
				continue
			}
			d.handle(ctx, stops, item)
		}
	}()
}

// handle starts the work for a version of an item, which stops when another version shows that the job is over.
func (d *stranger) handle(ctx context.Context, stops map[string]context.CancelFunc, item *v1alpha1.DeployItem) {
	if item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationTestReconcile {
		delete(item.Annotations, v1alpha1.OperationAnnotation)
		if d.client.Update(ctx, item) == nil {
			item.Status.JobID = uuid.NewString()
			_ = d.client.Status().Update(ctx, item)
		}
		return
	}
	if d.deletesAtOnce && !item.DeletionTimestamp.IsZero() {
		d.release(ctx, item)
		return
	}
	if item.Status.JobID == item.Status.JobIDFinished {
		if stop := stops[item.Name]; stop != nil {
			stop()
		}
		if d.touchesIdle && item.Status.DeployItemPhase == "" {
			item.Status.DeployItemPhase = "Idle"
			_ = d.client.Status().Update(ctx, item)
		}
		return
	}
	key := item.Name + item.Status.JobID
	if stops[key] != nil || d.answersOnce && item.Status.JobIDFinished != "" && item.DeletionTimestamp.IsZero() {
		return
	}
	phase := item.Status.Phase
	if d.leavesBegun && phase != "" && !phase.IsFinal() || d.chokes && phase == "Nonsense" {
		return
	}
	work, stop := context.WithCancel(ctx)
	stops[key], stops[item.Name] = stop, stop
	go d.work(work, item.DeepCopy())
}

func (d *stranger) work(ctx context.Context, item *v1alpha1.DeployItem) {
	item.Status.Phase, item.Status.ObservedGeneration = v1alpha1.PhaseProgressing, item.Generation
	item.Status.LastReconcileTime = &metav1.Time{Time: time.Now()}
	if !d.forgetsDeployer {
		item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "stranger", Name: "stranger", Version: "v1"}
	}
	if d.overwrites {
		current := &v1alpha1.DeployItem{}
		_ = d.client.Get(ctx, client.ObjectKeyFromObject(item), current)
		item.ResourceVersion = current.ResourceVersion
	}
	if d.client.Status().Update(ctx, item) != nil {
		return
	}
	if !item.DeletionTimestamp.IsZero() {
		d.release(ctx, item)
		return
	}
	var config struct{ Ends string }
	_ = json.Unmarshal(item.Spec.Configuration.Raw, &config)
	phase := v1alpha1.PhaseSucceeded
	switch config.Ends {
	case "badly":
		phase = v1alpha1.PhaseFailed
	case "never":
		phase = v1alpha1.PhaseFailed
		limit := item.ProgressTimeout()
		if d.ignoresTimeout {
			limit = time.Hour
		}
		select {
		case <-time.After(limit):
		case <-ctx.Done():
			if !d.ignoresInterrupt {
				return
			}
			ctx, phase = context.WithoutCancel(ctx), v1alpha1.PhaseSucceeded
		}
	default:
		item.Status.ExportReference = d.export(ctx, item)
	}
	d.end(ctx, item, phase)
}

func (d *stranger) end(ctx context.Context, item *v1alpha1.DeployItem, phase v1alpha1.Phase) {
	write := func() bool {
		if d.ignoresInterrupt { // by a blind write
			current := &v1alpha1.DeployItem{}
			if d.client.Get(ctx, client.ObjectKeyFromObject(item), current) != nil {
				return false
			}
			item.ResourceVersion = current.ResourceVersion
		}
		return d.client.Status().Update(ctx, item) == nil
	}
	item.Status.Phase, item.Status.LastError = phase, nil
	if phase == v1alpha1.PhaseFailed {
		now := metav1.Now()
		item.Status.LastError = &v1alpha1.Error{Operation: "Work", Reason: "Failed", Message: "it failed", LastTransitionTime: now, LastUpdateTime: now}
	}
	if d.splitsEnd && !write() {
		return
	}
	item.Status.JobIDFinished = item.Status.JobID
	write()
}

func (d *stranger) export(ctx context.Context, item *v1alpha1.DeployItem) *v1alpha1.ObjectReference {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name}, StringData: map[string]string{"config": "a: 1"}}
	if controllerutil.SetControllerReference(item, secret, d.client.Scheme()) == nil && !d.losesExports {
		_ = d.client.Create(ctx, secret) // may be there from the job before
	}
	return &v1alpha1.ObjectReference{Namespace: item.Namespace, Name: item.Name}
}

func (d *stranger) release(ctx context.Context, item *v1alpha1.DeployItem) {
	item.Finalizers = nil
	_ = d.client.Update(ctx, item)
}

// put puts a stranger through checks.
func put(t *testing.T, d *stranger, only ...string) *conformance.Report {
	t.Helper()
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	d.client, d.itemType = p.Client(), "example.com/"+namespace
	d.start(t, namespace)
	report, err := conformance.Run(t.Context(), conformance.Options{
		Client: p.Client(), Type: d.itemType, Namespace: namespace, Only: only, JobTimeout: 8 * time.Second, Quiet: 3 * time.Second, Parallel: 8,
		Configurations: conformance.Configurations{
			conformance.Good: json.RawMessage(`{"ends":"well"}`), conformance.Bad: json.RawMessage(`{"ends":"badly"}`),
			conformance.Slow: json.RawMessage(`{"ends":"never"}`),
		},
	})
	require.NoError(t, err)
	requireNothingLeft(t, namespace)
	return report
}

func TestStrangerConforms(t *testing.T) {
	t.Parallel()
	report := put(t, &stranger{})
	found := verdicts(t, report)
	delete(found, "stale-news") // skipped where the deployer is faster each time
	require.Empty(t, found)
	require.Len(t, report.Results, len(conformance.Names()))
}

// lateness is how old news are that a deployer gets after the next request of the suite, and not much later.
const lateness = 100 * time.Millisecond

// TestOldNewsAreNoFault has a deployer that learns of everything late, and overwrites nothing.
func TestOldNewsAreNoFault(t *testing.T) {
	t.Parallel()
	report := put(t, &stranger{late: lateness}, "stale-news")
	require.Equal(t, conformance.OK, report.Results[0].Verdict, report.Results[0].Seen)
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deployer stranger
		// checks to run, and those of them that have to fail.
		checks, fail []string
	}{
		"ends in two writes":         {stranger{splitsEnd: true}, []string{"pick-up", "final-phase", "failure", "once"}, []string{"failure", "final-phase"}},
		"touches idle items":         {stranger{touchesIdle: true}, []string{"final-phase", "idle"}, []string{"idle"}},
		"ignores an interrupt":       {stranger{ignoresInterrupt: true}, []string{"interrupt", "final-phase", "stale-news"}, []string{"interrupt", "stale-news"}},
		"acts on old news":           {stranger{overwrites: true, late: lateness}, []string{"stale-news", "final-phase"}, []string{"stale-news"}},
		"ignores the timeout":        {stranger{ignoresTimeout: true}, []string{"timeout", "interrupt"}, []string{"timeout"}},
		"does not say who it is":     {stranger{forgetsDeployer: true}, []string{"pick-up", "final-phase"}, []string{"pick-up"}},
		"loses exports":              {stranger{losesExports: true}, []string{"exports", "final-phase"}, []string{"exports"}},
		"takes items of other types": {stranger{takesAll: true}, []string{"other-types", "final-phase"}, []string{"other-types"}},
		"deletes without a job":      {stranger{deletesAtOnce: true}, []string{"delete", "final-phase"}, []string{"delete"}},
		"forgets what it began":      {stranger{leavesBegun: true}, []string{"crash", "final-phase", "delete"}, []string{"crash"}},
		"chokes on garbage":          {stranger{chokes: true}, []string{"garbage-status", "final-phase"}, []string{"garbage-status"}},
		"takes one job only":         {stranger{answersOnce: true}, []string{"second-job", "observed-generation", "once"}, []string{"observed-generation", "second-job"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := verdicts(t, put(t, &c.deployer, c.checks...))
			require.Equal(t, c.fail, slices.Sorted(maps.Keys(found)))
		})
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// remove deletes an item and hands over the job for it, as an Execution does.
func (s *stage) remove(item *v1alpha1.DeployItem) time.Time {
	s.t.Helper()
	require.NoError(s.t, s.client().Delete(s.t.Context(), item))
	return s.trigger(item)
}

// durations counts the items whose calls have a measured duration.
func (s *stage) durations() (count int) {
	s.t.Helper()
	collectors := s.recorder.Collectors()
	ctrlmetrics.Registry.MustRegister(collectors...)
	defer func() {
		for _, c := range collectors {
			ctrlmetrics.Registry.Unregister(c)
		}
	}()
	families, err := ctrlmetrics.Registry.Gather()
	require.NoError(s.t, err)
	for _, family := range families {
		if family.GetName() == "gotk_reconcile_duration_seconds" {
			count = len(family.GetMetric())
		}
	}
	return count
}

func TestDeletionRemovesTheMetrics(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.DeployItem){
		"uninstalled": func(*v1alpha1.DeployItem) {},
		"left behind": func(item *v1alpha1.DeployItem) {
			item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, &scripted{}, Options{})
			item := s.create("item", change)
			s.trigger(item)
			s.finished(item)
			assert.Equal(t, 1, s.durations())
			s.remove(item)
			require.NoError(t, s.p.AwaitGone(s.context(), item))
			s.stop()
			assert.Zero(t, s.durations())
		})
	}
}

// measure has a new process measure its calls. What it returns counts the items with a duration.
func (d *desk) measure() (series func() int) {
	d.t.Helper()
	recorder, registry := metrics.NewRecorder(), prometheus.NewRegistry()
	registry.MustRegister(recorder.Collectors()...)
	d.options.Metrics = runtimectrl.Metrics{Scheme: d.api.Scheme(), MetricsRecorder: recorder}
	d.restart()
	return func() int {
		found, err := registry.Gather()
		require.NoError(d.t, err)
		return len(found)
	}
}

// TestNoDurationIsKeptOfAnItemThatGoesAtOnce has an item that needs no worker any more when it is deleted, because somebody has taken its finalizer away.
func TestNoDurationIsKeptOfAnItemThatGoesAtOnce(t *testing.T) {
	d := newDesk(t, &scripted{})
	series := d.measure()
	d.trigger("1")
	d.pass()
	require.Equal(t, 1, series())
	(&itemHandler{reconciler: d.r}).Delete(t.Context(), event.DeleteEvent{Object: d.item()}, nil)
	assert.Zero(t, series())
}

// TestACallThatOutlastsItsItemIsNotMeasured deletes an item while the deployer works on it.
func TestACallThatOutlastsItsItemIsNotMeasured(t *testing.T) {
	var d *desk
	d = newDesk(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		(&itemHandler{reconciler: d.r}).Delete(ctx, event.DeleteEvent{Object: item.DeployItem}, nil)
		return Outcome{Done: true}, nil
	}})
	series := d.measure()
	d.trigger("1")
	d.pass()
	assert.Zero(t, series())
}

func TestDeletionIsShownWhileItLasts(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, &scripted{remove: func(context.Context, *Item) (Outcome, error) {
		<-release
		return Outcome{Done: true}, nil
	}}, Options{})
	item := s.create("item")
	s.remove(item)
	s.underWay(item, func() bool { return item.Status.Phase == v1alpha1.PhaseDeleting })
	close(release)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
}

func TestWhatADeletionNeeds(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	left := s.create("left", named("absent"), func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	})
	since := s.remove(left)
	require.NoError(t, s.p.AwaitGone(s.context(), left))
	assert.Equal(t, []string{"patch deployitems"}, s.requests(since), "without uninstall")

	waiting := s.create("waiting", func(item *v1alpha1.DeployItem) { item.Spec.Context = "absent" })
	require.NoError(t, s.client().Delete(t.Context(), waiting))
	other := s.create("other")
	s.trigger(other)
	s.finished(other)
	_, erased := s.deployer.calls()
	assert.Zero(t, erased, "only the engine starts deletions")

	s.trigger(waiting)
	require.NoError(t, s.p.AwaitGone(s.context(), waiting), "a deletion needs no Context")
	_, erased = s.deployer.calls()
	assert.Equal(t, 1, erased)
}

func TestFailedDeletionIsTriedAgainWithANewJob(t *testing.T) {
	err := protocol.Stall("Uninstall", "Stuck", "the object is stuck")
	s := newStage(t, &scripted{remove: func(context.Context, *Item) (Outcome, error) { return Outcome{Done: err == nil}, err }}, Options{})
	item := s.create("item")
	s.remove(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseDeleteFailed, item.Status.Phase)
	assert.Equal(t, "the object is stuck", item.Status.LastError.Message)
	err = nil
	s.trigger(item)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
}

func TestDeletionWithoutTargetEndsAtTheTimeout(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item", named("gone"), timeout(time.Hour))
	s.remove(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Equal(t, "NoTargetFound", item.Status.LastError.Reason)
	assert.Contains(t, item.Status.LastError.Message, v1alpha1.ForceDeleteAnnotation, "in a namespace that is being deleted nobody makes a Target")
	assert.Equal(t, v1alpha1.PhaseDeleting, item.Status.Phase)
	s.patch(item, timeout(time.Second))
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseDeleteFailed, item.Status.Phase)
	assert.Contains(t, item.Status.LastError.Message, `timeout at: "start delete": Target "gone" does not exist`)
}

func TestDeletionGoesOnWhenTheTargetIsBack(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item", named("back"))
	s.remove(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	s.createTarget("back", nil)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
}

// TestADeletedItemWithoutAnExecutionGoesByTheTestAnnotation follows the advice of an Execution that meets one with the name that it needs.
func TestADeletedItemWithoutAnExecutionGoesByTheTestAnnotation(t *testing.T) {
	for leave, erasures := range map[string]int{"true": 0, "false": 1} {
		t.Run(leave, func(t *testing.T) {
			s := newStage(t, &scripted{}, Options{})
			item := s.create("item")
			s.trigger(item)
			s.finished(item)
			annotate := func(name, value string) {
				patch := `{"metadata":{"annotations":{"` + name + `":"` + value + `"}}}`
				require.NoError(t, s.client().Patch(t.Context(), item, client.RawPatch(types.MergePatchType, []byte(patch))))
			}
			annotate(v1alpha1.DeleteWithoutUninstallAnnotation, leave)
			require.NoError(t, s.client().Delete(t.Context(), item))
			annotate(v1alpha1.OperationAnnotation, v1alpha1.OperationTestReconcile)
			require.NoError(t, s.p.AwaitGone(s.context(), item))
			_, erased := s.deployer.calls()
			assert.Equal(t, erasures, erased)
		})
	}
}

func TestDeletionOfAnItemThatChangesMeanwhile(t *testing.T) {
	h := newHeld()
	h.remove = func(ctx context.Context, _ *Item) (Outcome, error) {
		close(h.began)
		select {
		case <-h.release:
			return Outcome{Done: true}, nil
		case <-ctx.Done():
			return Outcome{}, errors.New("cancelled")
		}
	}
	s := newStage(t, h.scripted, Options{})
	item := s.create("item")
	s.remove(item)
	<-h.began
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	item.Labels = map[string]string{"touched": "yes"}
	require.NoError(t, s.client().Update(t.Context(), item))
	close(h.release)
	require.NoError(t, s.p.AwaitGone(s.context(), item))
	_, erased := s.deployer.calls()
	assert.Equal(t, 1, erased)
}

func TestAnUninstallThatWasLateGoesOnWhenWhatHeldItIsGone(t *testing.T) {
	for name, restart := range map[string]func(s *stage, letGo func()){
		"in one process": func(_ *stage, letGo func()) { letGo() },
		"after a restart": func(s *stage, letGo func()) {
			s.stop()
			s.start(Options{})
			since := time.Now()
			time.Sleep(2 * time.Second)
			require.Empty(t, s.requestsOf(since, "deployitems/status"))
			letGo()
		},
		"in between": func(s *stage, letGo func()) { s.stop(); letGo(); s.start(Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			deployer := &scripted{}
			served := &keeping{planning: planning{scripted: deployer}}
			s := newStageOf(t, deployer, served, Options{})
			held := s.configMap("held")
			held.Finalizers = []string{"example.com/held"}
			require.NoError(t, s.client().Create(t.Context(), held))
			watched := Watched{APIVersion: "v1", Kind: "ConfigMap", Namespace: held.Namespace, Name: "held"}
			served.sites = []managedresource.Site{{
				Cluster: managedresource.ClusterReference{Target: "cluster"},
				Resources: []managedresource.ManagedResourceStatus{{Resource: managedresource.ResourceReference{
					APIVersion: watched.APIVersion, Kind: watched.Kind, Namespace: watched.Namespace, Name: watched.Name,
				}}},
			}}
			deployer.remove = func(ctx context.Context, item *Item) (Outcome, error) {
				if err := client.IgnoreNotFound(item.Target.Client.Delete(ctx, s.configMap("held"))); err != nil {
					return Outcome{}, err
				}
				err := item.Target.Client.Get(ctx, client.ObjectKeyFromObject(held), s.configMap("held"))
				if apierrors.IsNotFound(err) {
					return Outcome{Done: true}, nil
				}
				watched.Cluster = item.Target
				return Outcome{Waiting: "ConfigMap held is held", Watch: []Watched{watched}}, err
			}
			item := s.create("item", s.withTarget("cluster"), timeout(3*time.Second))
			s.trigger(item)
			s.finished(item)
			s.remove(item)
			s.finished(item)
			require.Equal(t, v1alpha1.PhaseDeleteFailed, item.Status.Phase)

			restart(s, func() {
				require.NoError(t, platform.Edit(t.Context(), s.client(), held, func(held *corev1.ConfigMap) { held.Finalizers = nil }))
			})
			require.NoError(t, s.p.AwaitGone(s.context(), item))
		})
	}
}

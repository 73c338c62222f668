// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// newer is an object as the API server returned it from a write that the cache does not show yet.
func newer[O client.Object](object O) O {
	next := object.DeepCopyObject().(O)
	next.SetResourceVersion("1000000")
	return next
}

func TestNothingIsDecidedOnAnInstallationThatTheCacheShowsTooOld(t *testing.T) {
	inst := fixture.Working("root", "1", "")
	inst.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	for name, lags := range map[string]bool{"old": true, "as it is": false} {
		t.Run(name, func(t *testing.T) {
			r, writes := with(t, inst.DeepCopy()), 0
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
					writes++
					return nil
				},
			})
			r.Now, r.Backoff, r.Recorder = time.Now, kit.NewBackoff(time.Second, time.Minute), silent
			if lags {
				r.installations.Wrote(newer(inst))
			}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(inst)})
			require.NoError(t, err)
			assert.Equal(t, lags, writes == 0)
		})
	}
}

func TestNothingIsDecidedOnChildrenThatTheCacheShowsTooOld(t *testing.T) {
	root := fixture.Working("root", "1", "job")
	root.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{ObjectName: "child"}}}
	child := below(root, fixture.Working("child", "2", "job"))
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root", UID: "3"}}
	execution.OwnerReferences = child.OwnerReferences
	for name, tc := range map[string]struct {
		cached []client.Object
		wrote  func(*Reconciler)
		stops  bool
	}{
		"all as they are":     {[]client.Object{child, execution}, func(*Reconciler) {}, false},
		"an old child":        {[]client.Object{child, execution}, func(r *Reconciler) { r.installations.Wrote(newer(child)) }, true},
		"a new child":         {[]client.Object{execution}, func(r *Reconciler) { r.installations.Created(newer(child)) }, true},
		"a child that went":   {[]client.Object{execution}, func(*Reconciler) {}, false},
		"an old Execution":    {[]client.Object{child, execution}, func(r *Reconciler) { r.executions.Wrote(newer(execution)) }, true},
		"a new Execution":     {[]client.Object{child}, func(r *Reconciler) { r.executions.Created(newer(execution)) }, true},
		"no Execution at all": {[]client.Object{child}, func(*Reconciler) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t, tc.cached...)
			tc.wrote(r)
			err := kit.Through(t.Context(), &scope{inst: root}, []kit.Phase[*scope]{r.findExecution, r.findChildren})
			if !tc.stops {
				require.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, kit.ErrStop)
		})
	}
}

func TestNothingIsDecidedOnAPredecessorThatTheCacheShowsTooOld(t *testing.T) {
	producer, consumer := fixture.Exporter("producer", "1", ""), fixture.Working("consumer", "2", "job")
	producer.Status.Phase, producer.Status.LastError = v1alpha1.PhaseSucceeded, nil
	consumer.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "out"}}
	r := with(t, producer, consumer, &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}})
	require.NoError(t, r.awaitPredecessors(t.Context(), &scope{inst: consumer}))
	r.installations.Wrote(newer(producer))
	assert.ErrorIs(t, r.awaitPredecessors(t.Context(), &scope{inst: consumer}), kit.ErrStop)
}

func TestTheGenerationIsObservedUntilAChildHasTheJob(t *testing.T) {
	for name, given := range map[string]bool{"no child has it": false, "one has it": true} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Working("root", "1", "job")
			inst.Generation, inst.Status.ObservedGeneration = 2, 1
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}}
			if given {
				execution.Status.JobID = "job"
			}
			r := with(t, inst)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
					return nil
				},
			})
			s := &scope{inst: inst, persisted: inst.Status.DeepCopy(), execution: execution, plan: &plan{subinstallations: []model.InstallationTemplate{}}}
			require.NoError(t, r.recordJob(t.Context(), s))
			assert.Equal(t, given, inst.Status.ObservedGeneration == 1)
		})
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAJobOfAnotherTypeEnds(t *testing.T) {
	type change = func(*v1alpha1.DeployItem)
	by := func(kind string) change {
		return func(item *v1alpha1.DeployItem) { item.Status.Deployer = &v1alpha1.DeployerInformation{Type: kind} }
	}
	ignored := func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
	}
	for name, tc := range map[string]struct {
		item []change
		// ends is the phase in which the job ends; empty where it goes on, or there is none.
		ends v1alpha1.Phase
	}{
		"while its deployer works":           {item: []change{pickedUp, by("example.com/former")}, ends: v1alpha1.PhaseFailed},
		"while its deployer uninstalls":      {item: []change{pickedUp, inDeletion, by("example.com/former")}, ends: v1alpha1.PhaseDeleteFailed},
		"before anybody begins it":           {item: []change{by("example.com/former")}, ends: v1alpha1.PhaseFailed},
		"an item without a job stays":        {item: []change{idle, by("example.com/former")}},
		"an item that is ignored stays":      {item: []change{pickedUp, ignored, by("example.com/former")}},
		"the type is the same":               {item: []change{pickedUp, by("example.com/none")}},
		"a deployer that does not say it":    {item: []change{pickedUp, by("")}},
		"nobody has begun a job of the item": {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.item...)
			b.at(time.Second)
			for range 3 {
				b.pass(t)
			}
			item := b.shown(t)
			if tc.ends == "" {
				assert.Equal(t, b.item.Status.JobIDFinished, item.Status.JobIDFinished)
				assert.Zero(t, b.writes)
				return
			}
			assert.Equal(t, tc.ends, item.Status.Phase)
			assert.Equal(t, "job", item.Status.JobIDFinished)
			assert.Equal(t, item.Generation, item.Status.ObservedGeneration)
			assert.Equal(t, b.item.Status.Deployer, item.Status.Deployer)
			require.NotNil(t, item.Status.LastError)
			assert.Equal(t, "TypeChanged", item.Status.LastError.Reason)
			assert.Contains(t, item.Status.LastError.Message, "spec.type was example.com/former before")
			assert.Equal(t, 1, b.writes)
			assert.Len(t, b.events.Events, 1)
		})
	}
}

// leaving asks that a deletion leaves what was deployed.
func leaving(item *v1alpha1.DeployItem) {
	metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.DeleteWithoutUninstallAnnotation, "true")
}

// formerly makes the last job of an item one of another type.
func formerly(item *v1alpha1.DeployItem) {
	item.Status.Deployer = &v1alpha1.DeployerInformation{Type: "example.com/former"}
}

// isGone reports whether the API server has the item no more.
func (b *bench) isGone(t *testing.T) bool {
	t.Helper()
	err := b.api.Get(t.Context(), client.ObjectKeyFromObject(b.item), &v1alpha1.DeployItem{})
	require.NoError(t, client.IgnoreNotFound(err))
	return err != nil
}

func TestAnItemOfAnotherTypeIsLetGoWhereNothingIsToBeUninstalled(t *testing.T) {
	type change = func(*v1alpha1.DeployItem)
	ignored := func(item *v1alpha1.DeployItem) {
		metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.IgnoreAnnotation, "true")
	}
	denied := func(item *v1alpha1.DeployItem) {
		metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.DeleteWithoutUninstallAnnotation, "false")
	}
	served := func(item *v1alpha1.DeployItem) {
		item.Status.Deployer = &v1alpha1.DeployerInformation{Type: item.Spec.Type}
	}
	for name, tc := range map[string]struct {
		item []change
		gone bool
	}{
		"after its job has failed":            {item: []change{idle, formerly, inDeletion, leaving}, gone: true},
		"while its job waits for somebody":    {item: []change{pickedUp, formerly, inDeletion, leaving}, gone: true},
		"together with an interrupt":          {item: []change{pickedUp, formerly, inDeletion, leaving, interrupting}, gone: true},
		"nobody has asked for that":           {item: []change{idle, formerly, inDeletion}},
		"somebody has asked for the opposite": {item: []change{idle, formerly, inDeletion, denied}},
		"it is not in deletion":               {item: []change{idle, formerly, leaving}},
		"a deployer of its type is asked":     {item: []change{idle, served, inDeletion, leaving}},
		"so is one where no job has begun":    {item: []change{idle, inDeletion, leaving}},
		"an item that is ignored stays":       {item: []change{idle, formerly, inDeletion, leaving, ignored}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.item...)
			b.at(time.Second)
			for range 3 {
				b.pass(t)
			}
			assert.Equal(t, tc.gone, b.isGone(t))
			assert.Zero(t, b.writes, "the status stays")
		})
	}
}

// TestAnItemOfAnotherTypeWaitsForWhatElseHoldsIt has the finalizer of somebody else, too.
func TestAnItemOfAnotherTypeWaitsForWhatElseHoldsIt(t *testing.T) {
	b := newBench(t, pickedUp, formerly, inDeletion, leaving, func(item *v1alpha1.DeployItem) {
		item.Finalizers = append(item.Finalizers, "example.com/other")
	})
	b.at(time.Second)
	for range 3 {
		b.pass(t)
	}
	item := b.shown(t)
	assert.Equal(t, []string{"example.com/other"}, item.Finalizers)
	assert.Equal(t, v1alpha1.PhaseDeleteFailed, item.Status.Phase, "whoever waits for the job learns of its end")
	assert.Equal(t, 1, b.writes)
}

// TestALetGoThatFailsIsTriedAgain lets the API server refuse the only write, and a deployer of the new type come first.
func TestALetGoThatFailsIsTriedAgain(t *testing.T) {
	b := newBench(t, idle, formerly, inDeletion, leaving)
	b.refusePatch = errors.New("the process has died")
	_, err := b.r.Reconcile(t.Context(), b.request())
	require.ErrorIs(t, err, b.refusePatch)
	for _, first := range []error{apierrors.NewConflict(schema.GroupResource{}, "item", nil), apierrors.NewNotFound(schema.GroupResource{}, "item")} {
		b.refusePatch = first
		b.pass(t)
	}
	require.False(t, b.isGone(t))
	b.refusePatch = nil
	b.pass(t)
	assert.True(t, b.isGone(t))
}

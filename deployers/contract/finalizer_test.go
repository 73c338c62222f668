// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// strip removes the finalizers of an item by hand.
func (s *stage) strip(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, s.client().Get(s.t.Context(), keyOfItem(item), item))
	item.Finalizers = nil
	require.NoError(s.t, s.client().Update(s.t.Context(), item))
}

// controlled puts an item below an Execution.
func controlled(item *v1alpha1.DeployItem) {
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "execution", UID: "execution"}}
	item.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(execution, v1alpha1.GroupVersion.WithKind("Execution"))}
}

// succeed has the item deployed.
func (d *desk) succeed() {
	d.t.Helper()
	d.trigger("1")
	d.pass()
	require.Equal(d.t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
	d.requireSteady()
}

// strip removes the finalizers of the item by hand.
func (d *desk) strip() {
	d.t.Helper()
	item := d.item()
	item.Finalizers = nil
	require.NoError(d.t, d.api.Update(d.t.Context(), item))
	require.True(d.t, d.r.seen(d.item()))
}

// refuse makes the API server refuse all patches, and returns how many there were.
func (d *desk) refuse(err error) *int {
	asked := 0
	d.before = func(verb string) error {
		if verb != "patch" {
			return nil
		}
		asked++
		return err
	}
	return &asked
}

var errDenied = apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), "item", errors.New("denied"))

func TestAFinalizerThatIsRefusedIsTriedMoreAndMoreRarely(t *testing.T) {
	d := newDesk(t, &scripted{}, controlled)
	d.succeed()
	d.strip()
	asked := d.refuse(errDenied)

	for range 5 {
		assert.Positive(t, d.pass().RequeueAfter)
	}

	assert.Equal(t, 1, *asked)
	assert.Len(t, d.events.Events, 0)
}

func TestAFinalizerThatIsRefusedKeepsNothingElseFromTheItem(t *testing.T) {
	d := newDesk(t, &scripted{}, controlled)
	d.succeed()
	d.strip()
	d.refuse(errDenied)
	isReached := false
	d.hook(func() (*HookResult, error) {
		isReached = true
		return nil, nil
	})

	d.pass()

	assert.True(t, isReached)
}

func TestAFinalizerThatCannotBeWrittenNowIsTriedAgain(t *testing.T) {
	for name, err := range map[string]error{
		"for another write": apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), "item", errors.New("changed")),
		"for the network":   &url.Error{Op: "Patch", URL: "https://api", Err: syscall.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, &scripted{}, controlled)
			d.succeed()
			d.strip()
			asked := d.refuse(err)

			d.pass()
			d.pass()

			assert.Equal(t, 2, *asked)
		})
	}
}

func TestAStrippedFinalizerComesBack(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	_, _, owned := s.owned()
	item := s.create("item", owned)
	s.trigger(item)
	s.finished(item)
	since := time.Now()
	s.strip(item)

	s.underWay(item, func() bool { return len(item.Finalizers) == 1 })

	assert.Equal(t, []string{v1alpha1.Finalizer}, item.Finalizers)
	assert.Equal(t, []string{"patch deployitems"}, s.requests(since))
}

func TestAStrippedFinalizerIsPutBackMoreAndMoreRarely(t *testing.T) {
	d := newDesk(t, &scripted{}, controlled)
	d.succeed()
	d.strip()
	d.writes = nil
	d.pass()
	require.Equal(t, []string{"patch"}, d.writes)
	assert.Contains(t, d.item().Finalizers, v1alpha1.Finalizer)
	d.requireSteady()

	d.strip()
	d.writes = nil
	result := d.pass()

	assert.Empty(t, d.writes)
	assert.Positive(t, result.RequeueAfter)
}

func TestWhoseFinalizerIsPutBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(item *v1alpha1.DeployItem)
		want   bool
	}{
		"of an idle item":             {change: func(*v1alpha1.DeployItem) {}, want: true},
		"of none that has it":         {change: func(item *v1alpha1.DeployItem) { item.Finalizers = []string{v1alpha1.Finalizer} }},
		"of none that never had one":  {change: func(item *v1alpha1.DeployItem) { item.Status.Deployer = nil }},
		"of none of another deployer": {change: func(item *v1alpha1.DeployItem) { item.Status.Deployer.Name = "other" }},
		"of none in deletion":         {change: func(item *v1alpha1.DeployItem) { item.DeletionTimestamp = &metav1.Time{Time: time.Now()} }},
		"of none that is to leave what it has deployed": {change: func(item *v1alpha1.DeployItem) {
			item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
		}},
		"of none without a controller":       {change: func(item *v1alpha1.DeployItem) { item.OwnerReferences = nil }},
		"of none without an Execution above": {change: func(item *v1alpha1.DeployItem) { item.OwnerReferences[0].Kind = "Installation" }},
		"of none that is ignored": {change: func(item *v1alpha1.DeployItem) {
			item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			deployer := &scripted{itemType: "example.com/whose"}
			r := newReconciler(nil, nil, deployer, Options{})
			item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Type: deployer.itemType}}
			item.Status.JobID, item.Status.JobIDFinished = "1", "1"
			item.Status.Deployer = &v1alpha1.DeployerInformation{Name: deployer.Name()}
			controlled(item)
			tc.change(item)

			assert.Equal(t, tc.want, r.concerns(item))
		})
	}
}

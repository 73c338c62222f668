// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"errors"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

var deployItems = schema.GroupResource{Group: v1alpha1.GroupName, Resource: "deployitems"}

// refuse answers writes of a kind with an error.
func refuse(want string, err error) func(string, client.Object) error {
	return func(verb string, obj client.Object) error {
		if _, isItem := obj.(*v1alpha1.DeployItem); isItem && verb == want {
			return err
		}
		return nil
	}
}

func TestE17ItemThatVanishesWhileItIsMetIsCreatedAgain(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.before = refuse("create", apierrors.NewAlreadyExists(deployItems, "a"))
	b.start("1")
	require.Nil(t, b.item("a"))
	assert.Nil(t, b.execution().Status.LastError, "a lost race is not shown")
	b.before = nil
	b.settle()
	require.Equal(t, "1", b.item("a").Status.JobID)
}

func TestItemActsAsItsTemplateSays(t *testing.T) {
	acting := template("a", "t")
	acting.ServiceAccountName = "deployer"
	b := newBench(t, acting)
	b.start("1")
	require.Equal(t, "deployer", b.item("a").Spec.ServiceAccountName)
}

func TestItemThatTheCacheDoesNotShowIsTakenLive(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.restart()
	b.cached[client.ObjectKeyFromObject(b.item("a"))] = nil
	b.before = refuse("create", apierrors.NewAlreadyExists(deployItems, "a"))
	b.specify(template("a", "t"))
	b.start("2")
	require.Equal(t, "2", b.item("a").Status.JobID)
	assert.Nil(t, b.execution().Status.LastError)
}

func TestItemInDeletionThatTheCacheDoesNotShowMakesRoom(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.restart()
	require.NoError(t, b.api.Delete(t.Context(), b.item("a")))
	b.cached[client.ObjectKeyFromObject(b.item("a"))] = nil
	b.before = refuse("create", apierrors.NewAlreadyExists(deployItems, "a"))
	b.start("2")
	require.Equal(t, "2", b.item("a").Status.JobID)
	b.requirePhase(v1alpha1.PhaseProgressing)
}

func TestItemOfOthersWithOurNameIsLeftAlone(t *testing.T) {
	b := newBench(t, template("a", "t"))
	foreign := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: storage.ChildName("one", "a")}}
	foreign.Spec.Type = "theirs"
	require.NoError(t, b.api.Create(t.Context(), foreign))
	version := b.item("a").ResourceVersion
	b.start("1")
	failed := b.requirePhase(v1alpha1.PhaseFailed)
	assert.Equal(t, "DeployItemExists", failed.Status.LastError.Reason)
	assert.Contains(t, failed.Status.LastError.Message, "landscaper.gardener.cloud/operation=test-reconcile", "without that it never goes")
	assert.Equal(t, version, b.item("a").ResourceVersion)
	b.requireSteady()
}

func TestItemThatTheAPIServerRefusesFailsTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		refusal error
		phase   v1alpha1.Phase
	}{
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{Kind: "DeployItem"}, "a", nil), v1alpha1.PhaseFailed},
		"too large": {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), v1alpha1.PhaseFailed},
		"quota":     {apierrors.NewForbidden(deployItems, "a", errors.New("exceeded quota")), v1alpha1.PhaseProgressing},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.before = refuse("create", c.refusal)
			b.start("1")
			shown := b.requirePhase(c.phase)
			assert.Contains(t, shown.Status.LastError.Message, c.refusal.Error())
			b.requireSteady()
		})
	}
}

func TestAnItemThatHasLostItsLabelsIsNotUninstalled(t *testing.T) {
	b := deployed(t)
	before := b.item("a")
	stripped := before.DeepCopy()
	stripped.Labels = nil
	require.NoError(t, b.api.Update(t.Context(), stripped))
	b.settle()
	assert.Empty(t, protocol.CauseOf(b.execution()).Message)
	assert.True(t, conditions.IsTrue(b.execution(), meta.ReadyCondition), "it is there")

	b.start("2")
	b.settle()
	after := b.item("a")
	require.NotNil(t, after)
	assert.True(t, after.DeletionTimestamp.IsZero())
	assert.Equal(t, before.Labels, after.Labels, "the next job puts them back")
	assert.Equal(t, "2", after.Status.JobID)
	assert.Equal(t, "1", after.Status.JobIDFinished, "it is no other one")
	b.requireSteady()
}

func TestPair(t *testing.T) {
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "own"}}
	item := func(name, template, itemType string, uid string) *v1alpha1.DeployItem {
		owner := *execution
		owner.UID = "own"
		if uid != "" {
			owner.UID = "other"
		}
		return &v1alpha1.DeployItem{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{v1alpha1.ExecutionManagedNameLabel: template},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&owner, v1alpha1.GroupVersion.WithKind("Execution"))},
			},
			Spec: v1alpha1.DeployItemSpec{Type: itemType},
		}
	}
	going := item("f", "f", "t", "")
	going.DeletionTimestamp = &metav1.Time{}
	now := metav1.Now()
	going.DeletionTimestamp = &now
	paired, orphans := pair(execution, []v1alpha1.DeployItemTemplate{template("a", "t"), template("d", "t"), template("e", "t"), template("f", "t")},
		[]*v1alpha1.DeployItem{
			item("z-a", "a", "t", ""), item("b-a", "a", "t", ""), item("c", "c", "t", ""), item("d", "d", "u", ""), item("e", "e", "t", "other"), going,
		})
	require.Len(t, paired, 1)
	assert.Equal(t, "b-a", paired["a"].Name, "the first by name, in whatever order a cache lists them")
	names := []string{}
	for _, orphan := range orphans {
		names = append(names, orphan.Name)
	}
	assert.Equal(t, []string{"c", "d", "e", "f", "z-a"}, names)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// fenced puts the Target of the item into an Environment whose agent has a state since a moment.
func (b *bench) fenced(t *testing.T, status metav1.ConditionStatus, since time.Time) {
	t.Helper()
	b.r.Environments = true
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "cluster", Annotations: map[string]string{
		v1alpha1.EnvironmentAnnotation: "east",
	}}}
	require.NoError(t, b.api.Create(t.Context(), target))
	b.connect(t, status, since)
}

// connect changes the state of the agent.
func (b *bench) connect(t *testing.T, status metav1.ConditionStatus, since time.Time) {
	t.Helper()
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
	_ = b.api.Delete(t.Context(), env.DeepCopy())
	apimeta.SetStatusCondition(&env.Status.Conditions, metav1.Condition{
		Type: v1alpha1.AgentConnectedCondition, Status: status, Reason: "Any", LastTransitionTime: metav1.NewTime(since),
	})
	require.NoError(t, b.api.Create(t.Context(), env))
}

func onTarget(item *v1alpha1.DeployItem) {
	item.Spec.Target = &v1alpha1.DeployItemTarget{Namespace: "n", Name: "cluster"}
}

func (b *bench) shown(t *testing.T) *v1alpha1.DeployItem {
	t.Helper()
	item := &v1alpha1.DeployItem{}
	require.NoError(t, b.api.Get(t.Context(), client.ObjectKeyFromObject(b.item), item))
	return item
}

func TestItemsWaitForTheAgentOfTheirEnvironment(t *testing.T) {
	pickedUp := func(item *v1alpha1.DeployItem) {
		item.Status.LastReconcileTime = &metav1.Time{Time: began.Add(time.Second)}
	}
	for name, change := range map[string]func(*v1alpha1.DeployItem){"not picked up": func(*v1alpha1.DeployItem) {}, "picked up": pickedUp} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, onTarget, change)
			b.fenced(t, metav1.ConditionFalse, began)
			b.r.Now = func() time.Time { return began.Add(time.Hour) }
			require.Zero(t, b.pass(t))
			item := b.shown(t)
			assert.Equal(t, protocol.ReasonAgentUnreachable, conditions.GetReason(item, meta.ReconcilingCondition))
			assert.False(t, item.Status.IsIdle())
			assert.Nil(t, item.Status.LastError)
			b.pass(t)
			assert.Equal(t, 1, b.writes, "nothing is written while it waits")
		})
	}
}

func TestTheTimeForPickUpBeginsAnewWhenTheAgentIsBack(t *testing.T) {
	b := newBench(t, onTarget)
	b.fenced(t, metav1.ConditionFalse, began)
	back := began.Add(time.Hour)
	b.r.Now = func() time.Time { return back }
	b.pass(t)
	b.connect(t, metav1.ConditionTrue, back)
	assert.Equal(t, time.Minute, b.pass(t).RequeueAfter)
	assert.Equal(t, meta.ProgressingReason, conditions.GetReason(b.shown(t), meta.ReconcilingCondition))
	b.r.Now = func() time.Time { return back.Add(time.Minute) }
	b.pass(t)
	assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
}

func TestWhoWaitsForNoAgent(t *testing.T) {
	for name, arrange := range map[string]func(*testing.T, *bench){
		"no management":       func(t *testing.T, b *bench) { b.fenced(t, metav1.ConditionFalse, began); b.r.Environments = false },
		"agent is connected":  func(t *testing.T, b *bench) { b.fenced(t, metav1.ConditionTrue, began) },
		"no Target":           func(_ *testing.T, b *bench) { b.r.Environments = true },
		"no such Environment": func(t *testing.T, b *bench) { b.fenced(t, metav1.ConditionFalse, began); b.leave(t) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, onTarget)
			arrange(t, b)
			b.pass(t)
			assert.Equal(t, "PickupTimeout", b.shown(t).Status.LastError.Reason)
		})
	}
}

func TestAnItemInDeletionSaysThatItsEnvironmentIsGone(t *testing.T) {
	b := newBench(t, onTarget, func(item *v1alpha1.DeployItem) {
		item.DeletionTimestamp, item.Finalizers = &metav1.Time{Time: began}, []string{v1alpha1.Finalizer}
	})
	b.fenced(t, metav1.ConditionTrue, began)
	require.NoError(t, b.api.Delete(t.Context(), &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}}))
	b.r.Now = func() time.Time { return began.Add(time.Second) }
	b.pass(t)
	item := b.shown(t)
	assert.Equal(t, "EnvironmentNotFound", conditions.GetReason(item, meta.ReconcilingCondition))
	assert.Contains(t, conditions.GetMessage(item, meta.ReadyCondition), "names Environment east, which does not exist")
	assert.Contains(t, conditions.GetMessage(item, meta.ReadyCondition), v1alpha1.ForceDeleteAnnotation)
	assert.Equal(t, time.Minute-time.Second, b.pass(t).RequeueAfter, "an Environment of the name may come")
	assert.Equal(t, 1, b.writes, "nothing is written while it waits")
}

func TestABusyDeployerOfAnEnvironmentIsWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		deployer v1alpha1.EnvironmentDeployer
		types    []string
		waits    bool
	}{
		"installed":         {v1alpha1.EnvironmentDeployer{Name: "one", Ready: true}, []string{"other", "example.com/none"}, true},
		"of another type":   {v1alpha1.EnvironmentDeployer{Name: "one", Ready: true}, []string{"other"}, false},
		"not installed":     {v1alpha1.EnvironmentDeployer{Name: "one"}, []string{"example.com/none"}, false},
		"of nobody we know": {v1alpha1.EnvironmentDeployer{Name: "gone", Ready: true}, []string{"example.com/none"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, onTarget)
			b.fenced(t, metav1.ConditionTrue, began)
			env := &v1alpha1.Environment{}
			require.NoError(t, b.api.Get(t.Context(), client.ObjectKey{Name: "east"}, env))
			env.Status.Deployers = []v1alpha1.EnvironmentDeployer{tc.deployer}
			require.NoError(t, b.api.Update(t.Context(), env))
			registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
			registration.Spec.DeployItemTypes = tc.types
			require.NoError(t, b.api.Create(t.Context(), registration))
			require.Zero(t, b.pass(t))
			assert.Equal(t, tc.waits, b.shown(t).Status.LastError == nil)
		})
	}
}

func TestTheBusyDeployerOfAnAgentIsWaitedFor(t *testing.T) {
	reserved := map[string]string{v1alpha1.EnvironmentAnnotation: "east", v1alpha1.DeployerOnlyAnnotation: "true"}
	for name, tc := range map[string]struct {
		itemType, home string
		annotations    map[string]string
		waits          bool
	}{
		"a chart for the host cluster":       {v1alpha1.HelmDeployItemType, "n", reserved, true},
		"of another type":                    {v1alpha1.ManifestDeployItemType, "n", reserved, false},
		"for a Target of the other ones":     {v1alpha1.HelmDeployItemType, "n", map[string]string{v1alpha1.EnvironmentAnnotation: "east"}, false},
		"in a namespace that it cannot see":  {v1alpha1.HelmDeployItemType, "ls-env-east", reserved, false},
		"of an Environment without its home": {v1alpha1.HelmDeployItemType, "", reserved, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, onTarget, func(item *v1alpha1.DeployItem) { item.Spec.Type = tc.itemType })
			b.fenced(t, metav1.ConditionTrue, began)
			target, env := &v1alpha1.Target{}, &v1alpha1.Environment{}
			require.NoError(t, b.api.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "cluster"}, target))
			target.Annotations = tc.annotations
			require.NoError(t, b.api.Update(t.Context(), target))
			require.NoError(t, b.api.Get(t.Context(), client.ObjectKey{Name: "east"}, env))
			env.Status.Namespace = tc.home
			require.NoError(t, b.api.Update(t.Context(), env))
			require.Zero(t, b.pass(t))
			b.pass(t)
			assert.Equal(t, tc.waits, b.shown(t).Status.LastError == nil)
			assert.Equal(t, 1, b.writes, "what is shown is written once")
		})
	}
}

func TestWhichEventsOfAnEnvironmentBringItemsBack(t *testing.T) {
	environment := func(ready bool, names ...string) *v1alpha1.Environment {
		env := &v1alpha1.Environment{}
		for _, name := range names {
			env.Status.Deployers = append(env.Status.Deployers, v1alpha1.EnvironmentDeployer{Name: name, Ready: ready})
		}
		return env
	}
	elsewhere := environment(true, "one")
	elsewhere.Spec.Namespaces = []string{"a"}
	for name, tc := range map[string]struct {
		after *v1alpha1.Environment
		back  bool
	}{
		"a deployer is upgraded": {environment(false, "one"), false},
		"a deployer is gone":     {environment(true), true},
		"another one comes":      {environment(true, "one", "two"), true},
		"it works elsewhere":     {elsewhere, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.back, connectionChanged.Update(event.UpdateEvent{ObjectOld: environment(true, "one"), ObjectNew: tc.after}))
		})
	}
}

func TestAnAgentThatIsNotJudgedYetCostsNoWrite(t *testing.T) {
	b := newBench(t, onTarget)
	b.fenced(t, metav1.ConditionUnknown, began)
	require.Zero(t, b.pass(t))
	assert.Zero(t, b.writes)
}

func (b *bench) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, b.api.Delete(t.Context(), &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}}))
}

// owned gives the Environment a namespace of its own, which allows its deployers some namespaces, and the namespaces that it names itself.
func (b *bench) owned(t *testing.T, allowed string, named []string) {
	t.Helper()
	b.r.Homes = pair.Homes{Shared: "ls-system"}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "ls-env-east", Annotations: map[string]string{v1alpha1.AllowedNamespacesAnnotation: allowed},
	}}
	require.NoError(t, b.api.Create(t.Context(), home))
	env := &v1alpha1.Environment{}
	require.NoError(t, b.api.Get(t.Context(), client.ObjectKey{Name: "east"}, env))
	env.Spec.Namespaces, env.Status.Namespace = named, home.Name
	require.NoError(t, b.api.Update(t.Context(), env))
}

func TestAnEnvironmentOfOthersIsToldApartFromNoneByNobody(t *testing.T) {
	shows := func(t *testing.T, arrange func(*bench)) (status v1alpha1.DeployItemStatus) {
		b := newBench(t, onTarget)
		b.fenced(t, metav1.ConditionFalse, began)
		arrange(b)
		require.Zero(t, b.pass(t))
		status = b.shown(t).Status
		require.NotNil(t, status.LastError)
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{} // of the clock of the library
		}
		return status
	}
	none := shows(t, func(b *bench) { b.leave(t) })
	for name, arrange := range map[string]func(*bench){
		"its namespace allows others":   func(b *bench) { b.owned(t, "a, b", nil) },
		"it names others":               func(b *bench) { b.owned(t, "*", []string{"a"}) },
		"it names more than is allowed": func(b *bench) { b.owned(t, "a", []string{"a", "n"}) },
		"it has no namespace yet":       func(b *bench) { b.r.Homes = pair.Homes{Shared: "ls-system"} },
		"its namespace is somebody else's": func(b *bench) {
			b.r.Homes = pair.Homes{Shared: "ls-system"}
			require.NoError(t, b.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-env-east"}}))
		},
		"its agent is connected":             func(b *bench) { b.connect(t, metav1.ConditionTrue, began.Add(time.Second)); b.owned(t, "a", nil) },
		"it shares a namespace and names it": func(b *bench) { b.owned(t, "*", []string{"a"}); b.r.Homes.Shared = "ls-env-east" },
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, none, shows(t, arrange))
		})
	}
	assert.Contains(t, none.LastError.Message, "(annotation landscaper.gardener.cloud/environment of Target n/cluster names Environment east, which does "+
		"not exist or whose deployers may not work in namespace n; name another one, or have its operators allow the namespace)")
}

func TestWhoMayUseAnEnvironmentWaitsForItsAgent(t *testing.T) {
	for name, arrange := range map[string]func(*bench){
		"its namespace allows it":        func(b *bench) { b.owned(t, "a, n", nil) },
		"it names what is allowed":       func(b *bench) { b.owned(t, "a,n", []string{"n"}) },
		"it names it and all is allowed": func(b *bench) { b.owned(t, "*", []string{"n"}) },
		"it has all namespaces":          func(b *bench) { b.owned(t, "*", nil) },
		"it shares a namespace":          func(b *bench) { b.owned(t, "a", nil); b.r.Homes.Shared = "ls-env-east" },
		"its own namespace": func(b *bench) {
			b.owned(t, "a", []string{})
			env := &v1alpha1.Environment{}
			require.NoError(t, b.api.Get(t.Context(), client.ObjectKey{Name: "east"}, env))
			env.Status.Namespace = "n"
			require.NoError(t, b.api.Update(t.Context(), env))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, onTarget)
			b.fenced(t, metav1.ConditionFalse, began)
			arrange(b)
			require.Zero(t, b.pass(t))
			assert.Equal(t, protocol.ReasonAgentUnreachable, conditions.GetReason(b.shown(t), meta.ReconcilingCondition))
		})
	}
}

// TestItemsThatWaitForAnAgentWaitOnWhenTheirNamespaceGoes is for somebody who takes a namespace off the list of an Environment, if only for a minute.
func TestItemsThatWaitForAnAgentWaitOnWhenTheirNamespaceGoes(t *testing.T) {
	b := newBench(t, onTarget)
	b.fenced(t, metav1.ConditionFalse, began)
	b.owned(t, "*", []string{"n"})
	require.Zero(t, b.pass(t))
	env := &v1alpha1.Environment{}
	require.NoError(t, b.api.Get(t.Context(), client.ObjectKey{Name: "east"}, env))
	env.Spec.Namespaces = []string{"a"}
	require.NoError(t, b.api.Update(t.Context(), env))
	b.r.Now = func() time.Time { return began.Add(time.Hour) }
	require.Zero(t, b.pass(t))
	assert.Nil(t, b.shown(t).Status.LastError)
	assert.Equal(t, 1, b.writes)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

func TestADeployerThatGoesWhileItGetsItsRightsKeepsNone(t *testing.T) {
	registration := deployer("mock")
	var once sync.Once
	s := newStage(t, func(s *stage) {
		s.making = func(o client.Object) {
			if _, isBinding := o.(*rbacv1.ClusterRoleBinding); !isBinding {
				return
			}
			once.Do(func() {
				assert.NoError(t, s.client.Delete(s.ctx, registration.DeepCopy()))
				assert.NoError(t, s.p.AwaitGone(s.ctx, &v1alpha1.Installation{ObjectMeta: s.named("mock-east")}))
			})
		}
	})
	s.create(s.env("east"), registration)
	s.gone(registration)
	s.requireSteady()
	bindings := &rbacv1.ClusterRoleBindingList{}
	require.NoError(t, s.client.List(s.ctx, bindings, client.HasLabels{v1alpha1.DeployerRegistrationLabel}))
	assert.Empty(t, bindings.Items)
}

// noBindings is a quota that lets nobody make a binding.
func noBindings(s *stage, namespace string) client.Object {
	none := corev1.ResourceList{"count/rolebindings.rbac.authorization.k8s.io": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	s.create(quota)
	until(s, quota, func(q *corev1.ResourceQuota) bool { return len(q.Status.Hard) > 0 })
	return quota
}

// takenName is the binding of a tenant that has the name of the one of a deployer.
func takenName(s *stage, namespace string) client.Object {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mock-east"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	s.create(binding)
	return binding
}

// forged returns the binding of a tenant that has name and labels of the one of a deployer, and stays in deletion.
func forged(s *stage, namespace, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "mock-east", Labels: pair.Key{Registration: "mock", Environment: "east"}.Labels(), Finalizers: []string{"x.example.com/y"},
		},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects,
	}
	s.create(binding)
	return binding
}

func anotherRole(s *stage, namespace string) client.Object { return forged(s, namespace, "view") }

func noSubjects(s *stage, namespace string) client.Object {
	binding := forged(s, namespace, "landscaper:deployer")
	require.NoError(s.t, s.client.Delete(s.ctx, binding.DeepCopy()))
	return binding
}

func TestANamespaceThatRefusesADeployerKeepsItFromNoOther(t *testing.T) {
	for name, refuse := range map[string]func(*stage, string) client.Object{
		"quota": noBindings, "name": takenName, "name and labels": anotherRole, "name, labels and role": noSubjects,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			one, refusing := s.p.Namespace(t), "a-"+s.namespace
			s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: refusing}})
			cause := refuse(s, refusing)
			env := s.env("east", in(refusing, one))
			s.create(env, deployer("mock"))
			installation := s.triggered("mock-east")
			assert.JSONEq(t, `["`+one+`"]`, watched(installation), "a deployer that watches a namespace without rights is never ready")
			until(s, env, func(e *v1alpha1.Environment) bool {
				return conditions.IsFalse(e, meta.ReadyCondition) && len(e.Status.Deployers) > 0
			})
			assert.Contains(t, conditions.GetMessage(env, meta.ReadyCondition), refusing)
			edit(s, cause, func(o client.Object) { o.SetFinalizers(nil) })
			require.NoError(t, client.IgnoreNotFound(s.client.Delete(s.ctx, cause)))
			s.beat("east", 45)
			s.beat("east", 45)
			until(s, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: refusing, Name: "mock-east"}}, func(b *rbacv1.RoleBinding) bool {
				return b.RoleRef.Name == "landscaper:deployer"
			})
			until(s, installation, func(i *v1alpha1.Installation) bool { return watched(i) == `["`+refusing+`","`+one+`"]` })
			s.requireSteady()
		})
	}
}

// watched are the namespaces in which a deployer is told to work.
func watched(i *v1alpha1.Installation) string {
	return string(i.Spec.ImportDataMappings["watchNamespaces"].RawMessage)
}

// TestADeployerIsNotInstalledAgainAndAgainForOneNamespace has the owner of a namespace take the place of the binding there and give it back.
func TestADeployerIsNotInstalledAgainAndAgainForOneNamespace(t *testing.T) {
	var takes atomic.Bool
	one, shop := "", ""
	s := newStage(t, func(s *stage) {
		one, shop = s.namespace+"-one", s.namespace+"-shop"
		s.making = func(o client.Object) {
			if _, isBinding := o.(*rbacv1.RoleBinding); isBinding && o.GetNamespace() == shop && takes.Swap(false) {
				takenName(s, shop)
			}
		}
	})
	for _, name := range []string{one, shop} {
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	env := s.env("east", in(one, shop))
	s.create(env, deployer("mock"))
	installation, alone, both := s.triggered("mock-east"), `["`+one+`"]`, `["`+one+`","`+shop+`"]`
	require.JSONEq(t, both, watched(installation))

	takes.Store(true)
	require.NoError(t, s.client.Delete(s.ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "mock-east"}}))
	until(s, installation, func(i *v1alpha1.Installation) bool { return watched(i) == alone })
	lost := installation.Generation
	require.NoError(t, s.client.Delete(s.ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "mock-east"}}))
	s.beat("east", 45)
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "NamespaceReturns"
	})
	assert.Contains(t, conditions.GetMessage(env, meta.ReadyCondition), "namespace "+shop+" has refused deployer mock 1 times and no longer does")
	s.requireSteady()
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(installation), installation))
	assert.Equal(t, lost, installation.Generation)

	s.ahead.Store(int64(time.Minute))
	s.beat("east", 45)
	until(s, installation, func(i *v1alpha1.Installation) bool { return watched(i) == both })
}

func TestAnAllowedNamespaceThatComesLaterIsBoundWhateverElseIsWrong(t *testing.T) {
	s := newStage(t, isolated)
	late := s.namespace + "-late"
	home := s.admit("waits", late)
	s.create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: home, Name: v1alpha1.AgentLeasePrefix + "waits", Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: "waits"},
	}, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(5))}})
	env := s.env("waits")
	s.create(env, deployer("mock"), deployer(strings.Repeat("long", 15)))
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "InvalidPairName"
	})
	s.connected("waits", metav1.ConditionFalse) // from now on the clock wakes nobody
	s.requireSteady()
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late}})
	until(s, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: late, Name: "mock-waits"}}, func(*rbacv1.RoleBinding) bool { return true })
}

func TestAClaimIsAnsweredWhenItsNamespaceIsForTheEnvironment(t *testing.T) {
	s := newStage(t, isolated)
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.admit("claims", "")}}
	edit(s, space, func(n *corev1.Namespace) { delete(n.Labels, v1alpha1.DeployerEnvironmentLabel) })
	_, public, err := enrolment.NewKey()
	require.NoError(t, err)
	named := func(prefix string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: space.Name, Name: prefix + "claims", Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: "claims"}}
	}
	s.create(&corev1.Secret{ObjectMeta: named(enrolment.ClaimPrefix), Data: map[string][]byte{enrolment.PublicKey: public}})
	answer := &corev1.Secret{ObjectMeta: named(enrolment.AnswerPrefix)}
	require.Never(t, func() bool { return s.client.Get(s.ctx, client.ObjectKeyFromObject(answer), answer) == nil }, time.Second, 100*time.Millisecond)
	edit(s, space, func(n *corev1.Namespace) { n.Labels[v1alpha1.DeployerEnvironmentLabel] = "claims" })
	until(s, answer, func(a *corev1.Secret) bool { return len(a.Data[enrolment.Answer]) > 0 })
}

func TestAnEnvironmentOfWhichADeployerHasFailedWaitsForAPerson(t *testing.T) {
	s := newStage(t)
	env := s.env("east")
	s.create(env, deployer("early"), deployer("mock"))
	s.triggered("early-east")
	failed := s.triggered("mock-east")
	conditions.MarkStalled(failed, "Broken", "it is broken")
	conditions.MarkFalse(failed, meta.ReadyCondition, "Broken", "it is broken")
	require.NoError(t, s.client.Status().Update(s.ctx, failed))
	until(s, env, func(e *v1alpha1.Environment) bool { return conditions.IsStalled(e) })
	assert.Equal(t, "deployer mock is not installed; Installation "+s.namespace+"/mock-east says: it is broken", conditions.GetMessage(env, meta.ReadyCondition))
	assert.Equal(t, "DeployersNotReady", conditions.GetReason(env, meta.StalledCondition))
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(failed), failed))
	conditions.Delete(failed, meta.StalledCondition)
	require.NoError(t, s.client.Status().Update(s.ctx, failed))
	s.succeed("early-east")
	s.succeed("mock-east")
	until(s, env, func(e *v1alpha1.Environment) bool { return conditions.IsReady(e) && !conditions.IsStalled(e) })
}

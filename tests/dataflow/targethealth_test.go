// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// healthScene is a scene whose Target "cluster" names the Secret of the same name and is checked.
type healthScene struct{ *scene }

func newHealthScene(t *testing.T, config func(*healthScene) *rest.Config) *healthScene {
	t.Helper()
	s := &healthScene{newScene(t)}
	s.give(config(s))
	s.checked(object{"interval": "24h"})
	return s
}

// asDeployer is the access of the deployer of the scene.
func asDeployer(s *healthScene) *rest.Config {
	config, err := s.NewUser(s.Deployer(), "system:masters")
	require.NoError(s.T, err)
	return config
}

// give puts an access into the Secret of the Target.
func (s *healthScene) give(config *rest.Config) {
	s.T.Helper()
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.T, err)
	secret := &corev1.Secret{ObjectMeta: s.Named("cluster")}
	err = s.Client().Get(s.Ctx, s.key("cluster"), secret)
	secret.Data = map[string][]byte{"kubeconfig": kubeconfig}
	if apierrors.IsNotFound(err) {
		require.NoError(s.T, s.Client().Create(s.Ctx, secret))
		return
	}
	require.NoError(s.T, err)
	require.NoError(s.T, s.Client().Update(s.Ctx, secret))
}

// checked applies the Target with a health check, nil for none.
func (s *healthScene) checked(healthCheck object) {
	s.T.Helper()
	spec := object{"type": clusterType, "secretRef": object{"name": "cluster", "key": "kubeconfig"}}
	if healthCheck != nil {
		spec["healthCheck"] = healthCheck
	}
	s.Put("Target", "cluster", object{"spec": spec})
}

// reaches waits for a state of the Target and checks its conditions as Flux does.
func (s *healthScene) reaches(done func(*v1alpha1.Target) bool) *v1alpha1.Target {
	s.T.Helper()
	target := &v1alpha1.Target{ObjectMeta: s.Named("cluster")}
	require.NoError(s.T, s.Await(s.Ctx, target, func() bool { return done(target) }))
	checker := check.NewChecker(s.Client(), &check.Conditions{NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition}})
	checker.DisableFetch = true
	failures, warnings := checker.Check(s.Ctx, target)
	require.NoError(s.T, failures)
	require.NoError(s.T, warnings)
	return target
}

func (s *healthScene) becomes(reason string) *v1alpha1.Target {
	s.T.Helper()
	return s.reaches(func(target *v1alpha1.Target) bool {
		return target.Status.ObservedGeneration == target.Generation && conditions.GetReason(target, meta.ReadyCondition) == reason
	})
}

// ask requests a check and waits until it is answered.
func (s *healthScene) ask() *v1alpha1.Target {
	s.T.Helper()
	asked := time.Now().Format(time.RFC3339Nano)
	s.Annotate(&v1alpha1.Target{ObjectMeta: s.Named("cluster")}, meta.ReconcileRequestAnnotation, asked)
	return s.reaches(func(target *v1alpha1.Target) bool { return target.Status.LastHandledReconcileAt == asked })
}

// reviews counts the checks that a user was asked for.
func (s *healthScene) reviews(since time.Time, user string) (count int) {
	s.T.Helper()
	requests, err := s.Requests(s.Ctx, since)
	require.NoError(s.T, err)
	for _, request := range requests {
		if request.Resource == "selfsubjectreviews.authentication.k8s.io" && request.User == user {
			count++
		}
	}
	return count
}

func TestTargetHealthShowsWhoActsAndTheVersion(t *testing.T) {
	s := newHealthScene(t, asDeployer)
	before := s.becomes(meta.SucceededReason)
	assert.Equal(t, s.Deployer(), before.Status.Identity)
	assert.True(t, strings.HasPrefix(before.Status.Version, "v1."), before.Status.Version)

	t.Log("a check that finds the same writes nothing")
	since := time.Now()
	s.Annotate(&corev1.Secret{ObjectMeta: s.Named("cluster")}, "example.com/touched", "yes")
	require.Eventually(t, func() bool { return s.reviews(since, s.Deployer()) == 1 }, landscapePatience, tick)
	s.Put("Target", "second", object{"spec": object{
		"type": clusterType, "secretRef": object{"name": "cluster", "key": "kubeconfig"}, "healthCheck": object{"interval": "1m"},
	}})
	second := &v1alpha1.Target{ObjectMeta: s.Named("second")}
	require.NoError(t, s.Await(s.Ctx, second, func() bool { return conditions.IsReady(second) }))
	assert.Equal(t, before.ResourceVersion, s.becomes(meta.SucceededReason).ResourceVersion)
	s.Delete(second)

	t.Log("copies are not checked")
	s.install("root", nestedSpec("cluster", "sub", "deployed"))
	s.succeeded("root")
	list := &v1alpha1.TargetList{}
	require.NoError(t, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), client.HasLabels{v1alpha1.DataObjectContextLabel}))
	require.NotEmpty(t, list.Items)
	for i := range list.Items {
		copied := &list.Items[i]
		assert.Nil(t, copied.Spec.HealthCheck, copied.Name)
		assert.Empty(t, copied.Status, copied.Name)
	}

	s.checked(nil)
	target := &v1alpha1.Target{ObjectMeta: s.Named("cluster")}
	require.NoError(t, s.Await(s.Ctx, target, func() bool { return len(target.Status.Conditions) == 0 }))
}

func TestTargetHealthActsAsTheServiceAccount(t *testing.T) {
	s := &healthScene{newScene(t)}
	s.give(asDeployer(s))
	s.Put("Target", "cluster", object{"spec": object{
		"type": clusterType, "secretRef": object{"name": "cluster", "key": "kubeconfig"}, "serviceAccountName": worker, "healthCheck": object{"interval": "1m"},
	}})
	assert.Equal(t, "system:serviceaccount:"+s.Namespace+":"+worker, s.becomes(meta.SucceededReason).Status.Identity)
}

func TestTargetHealthFollowsTheSecretAndTheCluster(t *testing.T) {
	s := newHealthScene(t, func(s *healthScene) *rest.Config {
		wrong := rest.AnonymousClientConfig(asDeployer(s))
		wrong.BearerToken = "wrong-token"
		return wrong
	})
	refused := s.becomes("CredentialsRefused")
	assert.NotContains(t, conditions.GetMessage(refused, meta.ReadyCondition), "wrong-token")
	assert.Empty(t, refused.Status.Identity)
	config := asDeployer(s)
	door, err := faults.NewDoor(config)
	require.NoError(t, err)
	t.Cleanup(door.Close)
	s.give(door.Through(config))
	assert.Equal(t, s.Deployer(), s.becomes(meta.SucceededReason).Status.Identity)

	door.Close()
	gone := s.ask()
	assert.Equal(t, "ClusterUnreachable", conditions.GetReason(gone, meta.ReadyCondition))
	assert.Empty(t, gone.Status.Version)
	require.NoError(t, door.Open())
	assert.True(t, conditions.IsReady(s.ask()))
}

func TestTargetHealthOfAnotherTenantWaitsForNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() }) // connections are made and nobody answers
	hanging := newScene(t)
	for _, name := range []string{"one", "two", "three", "four", "five", "six", "seven", "eight"} {
		hanging.Put("Target", name, object{"spec": object{
			"type": clusterType, "healthCheck": object{"interval": "1m"},
			"config": object{"kubeconfig": hangingKubeconfig(t, listener.Addr().String(), name)},
		}})
	}
	s := &healthScene{&scene{hanging.Scene}}
	tenant := "other-" + s.Namespace
	require.NoError(t, s.Client().Create(s.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}))
	t.Cleanup(func() { _ = s.Client().Delete(s.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}) })
	kubeconfig, err := platform.KubeconfigFor(asDeployer(s))
	require.NoError(t, err)
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "cluster"}}
	target.Spec = v1alpha1.TargetSpec{
		Type: clusterType, Configuration: &v1alpha1.AnyJSON{RawMessage: rawKubeconfig(t, string(kubeconfig))},
		HealthCheck: &v1alpha1.TargetHealthCheck{Interval: metav1.Duration{Duration: time.Minute}},
	}
	require.NoError(t, s.Client().Create(s.Ctx, target))
	require.NoError(t, s.Await(s.Ctx, target, func() bool { return conditions.IsReady(target) }))
	pending := 0
	list := &v1alpha1.TargetList{}
	require.NoError(t, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	for i := range list.Items {
		if len(list.Items[i].Status.Conditions) == 0 {
			pending++
		}
	}
	assert.Positive(t, pending, "those that hang had not all failed by then")
	require.NoError(t, s.Client().DeleteAllOf(s.Ctx, &v1alpha1.Target{}, client.InNamespace(s.Namespace)))
}

func TestTargetHealthIntervalsHaveBounds(t *testing.T) {
	s := newScene(t)
	for interval, accepted := range map[string]bool{
		"1m": true, "5m": true, "24h": true, "1h30m": true, "90s": true,
		"59s": false, "24h1s": false, "0s": false, "-5m": false, "5": false, "none": false, "": false, "99999999999h": false,
	} {
		t.Run(interval, func(t *testing.T) {
			length, _ := time.ParseDuration(interval)
			target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "t-"}}
			target.Spec.Type = clusterType
			target.Spec.HealthCheck = &v1alpha1.TargetHealthCheck{Interval: metav1.Duration{Duration: length}}
			err := s.Client().Create(s.Ctx, unstructuredOf(t, target, interval))
			if accepted {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "spec.healthCheck.interval")
		})
	}
}

func TestTargetHealthOfTokensIsUnknown(t *testing.T) {
	s := &healthScene{newScene(t)}
	s.Put("Target", "cluster", object{"spec": object{
		"type": clusterType, "config": object{"selfConfig": object{"serviceAccount": object{"name": worker}}}, "healthCheck": object{"interval": "1m"},
	}})
	target := s.reaches(func(target *v1alpha1.Target) bool {
		return conditions.IsUnknown(target, meta.ReadyCondition) && conditions.Has(target, meta.ReadyCondition)
	})
	assert.Contains(t, conditions.GetMessage(target, meta.ReadyCondition), "remove spec.healthCheck")
}

// hangingKubeconfig is the access to a server that never answers.
func hangingKubeconfig(t *testing.T, address, user string) string {
	t.Helper()
	kubeconfig, err := platform.KubeconfigFor(&rest.Config{Host: "https://" + address, BearerToken: user})
	require.NoError(t, err)
	return string(kubeconfig)
}

func rawKubeconfig(t *testing.T, kubeconfig string) []byte {
	t.Helper()
	raw, err := json.Marshal(object{"kubeconfig": kubeconfig})
	require.NoError(t, err)
	return raw
}

// unstructuredOf returns a Target whose interval is written as given.
func unstructuredOf(t *testing.T, target *v1alpha1.Target, interval string) client.Object {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(target)
	require.NoError(t, err)
	written := &unstructured.Unstructured{Object: fields}
	written.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
	require.NoError(t, unstructured.SetNestedField(written.Object, interval, "spec", "healthCheck", "interval"))
	return written
}

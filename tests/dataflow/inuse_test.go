// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// applied is the metadata of an object that Flux applies.
func (s *scene) applied(name string) metav1.ObjectMeta {
	meta := s.Named(name)
	meta.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}
	return meta
}

// held waits until objects have the finalizer of what is in use.
func (s *scene) held(objects ...client.Object) {
	s.T.Helper()
	for _, object := range objects {
		require.NoError(s.T, s.Await(s.Ctx, object, func() bool { return len(object.GetFinalizers()) == 1 }))
	}
}

func TestE10E23WhatFluxPrunesStaysUntilTheLastUninstall(t *testing.T) {
	s := newScene(t)
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: s.applied(name), StringData: map[string]string{"kubeconfig": s.DeployerAccess()}}
	}
	former, next, pull := secret("former"), secret("next"), &corev1.Secret{ObjectMeta: s.applied("pull")}
	settings := &v1alpha1.Context{ObjectMeta: s.applied("team")}
	settings.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: "pull"}}
	target := &v1alpha1.Target{ObjectMeta: s.applied("cluster"), Spec: v1alpha1.TargetSpec{
		Type: clusterType, SecretRef: &v1alpha1.LocalSecretReference{Name: "former", Key: "kubeconfig"},
	}}
	for _, object := range []client.Object{former, next, pull, settings, target} {
		require.NoError(t, s.Client().Create(s.Ctx, object))
	}
	s.data("in", "value")
	spec := consumer("in", "deployed", "out")
	spec["context"] = "team"
	s.install("root", spec)
	s.succeeded("root")
	s.held(target, former, settings, pull)

	change := `{"spec":{"secretRef":{"name":"next"}}}`
	require.NoError(t, s.Client().Patch(s.Ctx, target, client.RawPatch("application/merge-patch+json", []byte(change))))
	s.held(next)
	require.NoError(t, s.Await(s.Ctx, former, func() bool { return len(former.Finalizers) == 0 }), "nothing holds the former Secret")

	for _, object := range []client.Object{former, next, target, pull, settings, s.Installation("root")} {
		s.Delete(object)
	}
	s.Gone(s.Installation("root"), s.config("deployed"), former, next, target, pull, settings)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package notifications checks flux/notifications on a real API server: by the definitions of the newest notification-controller, which controller-gen makes
// from its API, and with the program of a version that can be built here. Tests of the program are skipped where it cannot be downloaded.
package notifications

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	landscape.SendEvents("http://" + eventsAddress + "/")
	os.Exit(landscape.Main(m, platform.Options{
		AddToScheme: []func(*runtime.Scheme) error{notificationv1.AddToScheme, notificationv1beta3.AddToScheme},
	}))
}

// scene is a cluster with the definitions of notification-controller.
type scene struct {
	*platform.Platform
	t         *testing.T
	ctx       context.Context
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	p := platform.Shared(t)
	return &scene{Platform: p, t: t, ctx: ctx, namespace: p.Namespace(t)}
}

// install applies what a kustomization for Flux builds, which has these further lines.
func (s *scene) install(lines string) {
	s.t.Helper()
	require.NoError(s.t, s.ApplyYAML(s.ctx, built(s.t, "testdata", lines)))
}

// built returns what a kustomization builds that has the definitions of a folder and these further lines, in which our folder is called landscaper.
func built(t *testing.T, definitions, lines string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, from := range map[string]string{"definitions": definitions, "landscaper": filepath.Join("..", "..", "..", "flux", "notifications")} {
		require.NoError(t, os.CopyFS(filepath.Join(folder, name), os.DirFS(from)))
	}
	resources := "resources:\n"
	files, err := os.ReadDir(definitions)
	require.NoError(t, err)
	for _, file := range files {
		resources += "- definitions/" + file.Name() + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(resources+lines), 0o600))
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err)
	text, err := made.AsYaml()
	require.NoError(t, err)
	return string(text)
}

// create makes an object, or finds it refused as invalid. Its kind, or another schema for it, may have come just now.
func (s *scene) create(object client.Object, accepted bool) {
	s.t.Helper()
	object.SetNamespace(s.namespace)
	object.SetGenerateName("test-")
	require.Eventually(s.t, func() bool {
		err := s.Client().Create(s.ctx, object.DeepCopyObject().(client.Object))
		return accepted && err == nil || !accepted && apierrors.IsInvalid(err)
	}, patience, 100*time.Millisecond, "%T", object)
}

func alert(kind string) *notificationv1beta3.Alert {
	return &notificationv1beta3.Alert{Spec: notificationv1beta3.AlertSpec{
		ProviderRef: meta.LocalObjectReference{Name: "chat"}, EventSources: []notificationv1.CrossNamespaceObjectReference{{Kind: kind, Name: "*"}},
	}}
}

func receiver(kind string) *notificationv1.Receiver {
	return &notificationv1.Receiver{Spec: notificationv1.ReceiverSpec{
		Type: notificationv1.GenericReceiver, SecretRef: &meta.LocalObjectReference{Name: "token"},
		Resources: []notificationv1.ReceiverResource{{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: "*",
		}}},
	}}
}

func TestAlertsAndReceiversNameOurKinds(t *testing.T) {
	s := newScene(t)
	alerted := []string{"Installation", "Execution", "DeployItem", "Target", "TargetSync"}
	received := []string{"Installation", "Target", "TargetSync"}
	s.install("")
	for _, kind := range alerted {
		s.create(alert(kind), false)
	}
	for _, kind := range received {
		s.create(receiver(kind), false)
	}

	s.install("components: [landscaper]\n")

	for _, kind := range append(alerted, "Kustomization", "OCIRepository") {
		s.create(alert(kind), true)
	}
	for _, kind := range append(received, "Kustomization", "OCIRepository") {
		s.create(receiver(kind), true)
	}
	s.create(alert("DataObject"), false)
	s.create(receiver("DataObject"), false)
}

func TestNotificationControllerMayAskOurObjectsToReconcile(t *testing.T) {
	s := newScene(t)
	s.install("components: [landscaper]\n")
	config := rest.CopyConfig(s.RestConfig)
	config.Impersonate.UserName = "system:serviceaccount:flux-system:notification-controller"
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	controller, err := client.New(config, client.Options{Scheme: s.Client().Scheme(), Mapper: s.Client().RESTMapper()})
	require.NoError(t, err)
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "shop", Labels: map[string]string{"team": "shop"}}
	target := &v1alpha1.Target{ObjectMeta: meta, Spec: v1alpha1.TargetSpec{Type: "example.com/any"}}
	require.NoError(t, s.Client().Create(s.ctx, target))

	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("TargetList"))
	require.Eventually(t, func() bool {
		return controller.List(s.ctx, found, client.InNamespace(s.namespace), client.MatchingLabels(meta.Labels)) == nil
	}, patience, 100*time.Millisecond, "the binding counts")
	require.Len(t, found.Items, 1)
	request := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`))
	require.NoError(t, controller.Patch(s.ctx, &found.Items[0], request))

	assert.True(t, apierrors.IsForbidden(controller.Delete(s.ctx, target)))
	assert.True(t, apierrors.IsForbidden(controller.Status().Patch(s.ctx, target, request)))
	assert.True(t, apierrors.IsForbidden(controller.Get(s.ctx, client.ObjectKeyFromObject(target), &corev1.Secret{})))
	item := &v1alpha1.DeployItem{ObjectMeta: meta}
	assert.True(t, apierrors.IsForbidden(controller.Patch(s.ctx, item, request)), "only what answers requestedAt is patched")
	assert.True(t, apierrors.IsNotFound(controller.Get(s.ctx, client.ObjectKeyFromObject(item), item)))
}

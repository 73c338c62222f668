// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func update(object client.Object) func(*testing.T, handler.EventHandler, requestQueue) {
	return func(t *testing.T, h handler.EventHandler, queue requestQueue) {
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: object, ObjectNew: object}, queue)
	}
}

func deletion(object client.Object) func(*testing.T, handler.EventHandler, requestQueue) {
	return func(t *testing.T, h handler.EventHandler, queue requestQueue) {
		h.Delete(t.Context(), event.DeleteEvent{Object: object}, queue)
	}
}

func creation(object client.Object) func(*testing.T, handler.EventHandler, requestQueue) {
	return func(t *testing.T, h handler.EventHandler, queue requestQueue) {
		h.Create(t.Context(), event.CreateEvent{Object: object}, queue)
	}
}

func beginning(object client.Object) func(*testing.T, handler.EventHandler, requestQueue) {
	return func(t *testing.T, h handler.EventHandler, queue requestQueue) {
		h.Create(t.Context(), event.CreateEvent{Object: object, IsInInitialList: true}, queue)
	}
}

func TestWhomAnEventOfAnObjectWakes(t *testing.T) {
	importer := tied("importer", "in", "1")
	importer.Spec.Imports.Data = append(importer.Spec.Imports.Data,
		v1alpha1.DataImport{Name: "s", SecretRef: &v1alpha1.LocalSecretReference{Name: "x"}},
		v1alpha1.DataImport{Name: "c", ConfigMapRef: &v1alpha1.LocalConfigMapReference{Name: "x"}})
	importer.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "t", Target: "in"}}
	loser, exporter := withChange(tied("loser", "2", "in"), lost), tied("exporter", "3", "in")
	far := withChange(tied("far", "4", "5"), busy)
	far.Namespace = "m"
	waits := withChange(tied("waits", "6", "7"), busy)
	waits.Spec.Context, far.Spec.Context = "context", "context"
	near := &v1alpha1.Context{ObjectMeta: named("n", "context"), ContextConfiguration: v1alpha1.ContextConfiguration{
		RegistryPullSecrets:                 []v1alpha1.LocalObjectReference{{Name: "pull"}},
		OCMConfig:                           &v1alpha1.LocalObjectReference{Name: "ocm"},
		ComponentVersionOverwritesReference: "x",
	}}
	foreign := &v1alpha1.Context{ObjectMeta: named("m", "context"), ContextConfiguration: v1alpha1.ContextConfiguration{
		VerificationSignatures: map[string]v1alpha1.VerificationSignature{
			"s": {PublicKeySecretReference: &v1alpha1.SecretReference{ObjectReference: v1alpha1.ObjectReference{Namespace: "n", Name: "key"}}},
		},
	}}
	foreign.RepositoryContext = &v1alpha1.AnyJSON{RawMessage: []byte(`{"type":"fluxSource","sourceRef":{"kind":"GitRepository","namespace":"n","name":"shop"}}`)}
	follows := withChange(tied("follows", "8", "9"), following("shop"))
	git := func(name string) client.Object { return &sourcev1.GitRepository{ObjectMeta: named("n", name)} }
	data := &v1alpha1.DataObject{ObjectMeta: named("n", storage.DataName("", "in"))}
	target := &v1alpha1.Target{ObjectMeta: named("n", storage.DataName("", "in"))}
	secret := func(name string) client.Object { return &corev1.Secret{ObjectMeta: named("n", name)} }
	for name, tc := range map[string]struct {
		kind    string
		happens func(*testing.T, handler.EventHandler, requestQueue)
		woken   []string
	}{
		"a Secret":                      {"Secret", update(secret("x")), []string{"importer"}},
		"a new Secret":                  {"Secret", creation(secret("x")), []string{"importer"}},
		"a Secret that was there":       {"Secret", beginning(secret("x")), nil},
		"a Secret of another name":      {"Secret", update(secret("y")), nil},
		"a Secret of another namespace": {"Secret", update(&corev1.Secret{ObjectMeta: named("o", "x")}), nil},
		"a pull secret":                 {"Secret", deletion(secret("pull")), []string{"waits"}},
		"a key for another namespace":   {"Secret", update(secret("key")), []string{"far"}},
		"a ConfigMap":                   {"ConfigMap", update(&corev1.ConfigMap{ObjectMeta: named("n", "x")}), []string{"importer"}},
		"an OCM configuration":          {"ConfigMap", update(&corev1.ConfigMap{ObjectMeta: named("n", "ocm")}), []string{"waits"}},
		"a Context":                     {"Context", update(near), []string{"waits"}},
		"overwrites":                    {"ComponentVersionOverwrites", update(&v1alpha1.ComponentVersionOverwrites{ObjectMeta: named("n", "x")}), []string{"waits"}},
		"data":                          {"DataObject", update(data), []string{"importer", "loser"}},
		"data that is gone":             {"DataObject", deletion(data), []string{"importer", "loser", "exporter"}},
		"a Target":                      {"Target", creation(target), []string{"importer"}},
		"a Flux source":                 {"GitRepository", update(git("shop")), []string{"follows", "far"}},
		"a Flux source that is gone":    {"GitRepository", deletion(git("shop")), []string{"follows", "far"}},
		"a Flux source of nobody":       {"GitRepository", update(git("other")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t, importer.DeepCopy(), loser.DeepCopy(), exporter.DeepCopy(), far.DeepCopy(), waits.DeepCopy(), near.DeepCopy(), foreign.DeepCopy(), follows.DeepCopy())
			tc.happens(t, p.finder.eventsOf(tc.kind), p.queue)
			assert.Len(t, p.seen, 1, "workers that wait for the object hear of it at once")
			assert.ElementsMatch(t, tc.woken, p.woken())
		})
	}
}

// following lets an Installation follow a GitRepository.
func following(name string) func(*v1alpha1.Installation) {
	return func(inst *v1alpha1.Installation) {
		inst.Spec.Blueprint.SourceReference = &v1alpha1.SourceReference{Kind: "GitRepository", Namespace: "n", Name: name}
	}
}

func TestAnObjectThatWasGoneInBetweenWakesItsExporters(t *testing.T) {
	p := newPost(t, tied("exporter", "1", "out"))
	data := &v1alpha1.DataObject{ObjectMeta: named("n", storage.DataName("", "out"))}
	for _, happens := range []func(*testing.T, handler.EventHandler, requestQueue){deletion(data), creation(data)} {
		happens(t, p.finder.eventsOf("DataObject"), p.queue)
	}
	assert.Equal(t, []string{"exporter"}, p.woken())
}

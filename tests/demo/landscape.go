// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// key names an object of the landscape, which has one namespace.
type key struct{ kind, name string }

// A landscape is everything that was seen so far.
type landscape struct {
	objects  map[key]client.Object
	clocks   map[key]*clock
	failures map[key]failure // of Kustomizations, whose status forgets them at the next attempt
}

func newLandscape() *landscape {
	return &landscape{objects: map[key]client.Object{}, clocks: map[key]*clock{}, failures: map[key]failure{}}
}

// keyOf names a watched object; typed objects carry no kind of their own.
func keyOf(object client.Object) key {
	var kind string
	switch object.(type) {
	case *sourcev1.GitRepository:
		kind = sourcev1.GitRepositoryKind
	case *sourcev1.OCIRepository:
		kind = sourcev1.OCIRepositoryKind
	case *kustomizev1.Kustomization:
		kind = kustomizev1.KustomizationKind
	case *v1alpha1.Installation:
		kind = "Installation"
	case *v1alpha1.DeployItem:
		kind = "DeployItem"
	}
	return key{kind: kind, name: object.GetName()}
}

// apply takes a change in.
func (l *landscape) apply(c change, now time.Time) {
	id := keyOf(c.object)
	if c.deleted {
		delete(l.objects, id)
		delete(l.clocks, id)
		delete(l.failures, id)
		return
	}
	l.objects[id] = c.object
	switch object := c.object.(type) {
	case *v1alpha1.Installation:
		l.clock(id).followJob(object.Job(), now)
	case *v1alpha1.DeployItem:
		l.clock(id).followJob(object.Job(), now)
	case *kustomizev1.Kustomization:
		if failure, ok := failureOf(object); ok {
			l.failures[id] = failure
		}
		l.followRevisions(now)
	case *sourcev1.GitRepository:
		l.followRevisions(now)
	}
}

func (l *landscape) followRevisions(now time.Time) {
	for _, kustomization := range objectsOf[*kustomizev1.Kustomization](l) {
		l.clock(keyOf(kustomization)).followRevision(l.wanted(kustomization), kustomization.Status.LastAppliedRevision, now)
	}
}

func (l *landscape) clock(id key) *clock {
	if l.clocks[id] == nil {
		l.clocks[id] = &clock{}
	}
	return l.clocks[id]
}

// wanted is the newest revision that the source of the Kustomization has.
func (l *landscape) wanted(kustomization *kustomizev1.Kustomization) string {
	source, ok := l.objects[key{sourcev1.GitRepositoryKind, kustomization.Spec.SourceRef.Name}].(*sourcev1.GitRepository)
	if !ok || source.Status.Artifact == nil {
		return ""
	}
	return source.Status.Artifact.Revision
}

// objectsOf returns the objects of one kind by name.
func objectsOf[T client.Object](l *landscape) []T {
	var found []T
	for _, object := range l.objects {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	slices.SortFunc(found, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found
}

// installationsOf returns the Installations that the Kustomization has applied.
func (l *landscape) installationsOf(kustomization *kustomizev1.Kustomization) []*v1alpha1.Installation {
	return slices.DeleteFunc(objectsOf[*v1alpha1.Installation](l), func(inst *v1alpha1.Installation) bool {
		return inst.Labels[kustomizev1.GroupVersion.Group+"/name"] != kustomization.Name
	})
}

// childrenOf returns the Installations nested in this one.
func (l *landscape) childrenOf(parent *v1alpha1.Installation) []*v1alpha1.Installation {
	return slices.DeleteFunc(objectsOf[*v1alpha1.Installation](l), func(inst *v1alpha1.Installation) bool {
		return !metav1.IsControlledBy(inst, parent)
	})
}

// itemsOf returns the DeployItems of an Installation in the order of their creation. The Execution between them has the Installation's
// name.
func (l *landscape) itemsOf(inst *v1alpha1.Installation) []*v1alpha1.DeployItem {
	items := slices.DeleteFunc(objectsOf[*v1alpha1.DeployItem](l), func(item *v1alpha1.DeployItem) bool {
		return item.Labels[v1alpha1.ExecutionManagedByLabel] != inst.Name
	})
	slices.SortStableFunc(items, func(a, b *v1alpha1.DeployItem) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return items
}

// ready reports whether everything that is in Git is deployed, with the revision that was applied.
func (l *landscape) ready() (revision string, ready bool) {
	kustomizations := objectsOf[*kustomizev1.Kustomization](l)
	for _, kustomization := range kustomizations {
		if revision = l.wanted(kustomization); revision == "" || statusOfKustomization(l, kustomization).state != done {
			return revision, false
		}
	}
	installations := objectsOf[*v1alpha1.Installation](l)
	for _, inst := range installations {
		if statusOfInstallation(inst).state != done {
			return revision, false
		}
	}
	return revision, len(kustomizations) > 0 && len(installations) > 0
}

// runs counts the ended runs of every Installation by name.
func (l *landscape) runs() map[string]int {
	counts := map[string]int{}
	for _, inst := range objectsOf[*v1alpha1.Installation](l) {
		counts[inst.Name] = l.clock(keyOf(inst)).runs
	}
	return counts
}

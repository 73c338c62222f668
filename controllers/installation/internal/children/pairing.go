// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// childName returns the name of a new sub-installation, within the length that an Installation may have.
func childName(parent, name string) string {
	return kit.ShortChildName(parent, name, validation.MaxInstallationNameLength)
}

// pairs connects templates with sub-installations. The annotation of a sub-installation says which template it was made from, whatever its
// name is; templates without one get the name of the sub-installation to create. It fails when a sub-installation does not say what it is.
func (f *Family) pairs(templates []model.InstallationTemplate) ([]v1alpha1.SubNamePair, error) {
	pairs := make([]v1alpha1.SubNamePair, 0, len(templates))
	own, claims := map[string]bool{}, f.claims()
	for i := range templates {
		pair := v1alpha1.SubNamePair{SpecName: templates[i].Name, ObjectName: childName(f.Inst.Name, templates[i].Name)}
		own[pair.ObjectName] = true
		if made := f.madeFrom(claims[pair.SpecName]); made != nil {
			pair.ObjectName = made.Name
		}
		pairs = append(pairs, pair)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		if templateOf(f.Children[name]) == "" && !own[name] {
			return nil, kit.Stall(jobs.Operation, "DanglingInstallation", "Installation %s/%s belongs to this one but has no annotation %s; delete it, "+
				"or annotate it with the name of a sub-installation of the blueprint", f.Inst.Namespace, name, v1alpha1.SubinstallationNameAnnotation)
		}
	}
	return pairs, nil
}

// claims returns the sub-installations by the template that they say they were made from, each in the order of their names.
func (f *Family) claims() map[string][]*v1alpha1.Installation {
	claims := map[string][]*v1alpha1.Installation{}
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		template := templateOf(f.Children[name])
		claims[template] = append(claims[template], f.Children[name])
	}
	return claims
}

// madeFrom returns the sub-installation of a template among those that claim it, nil when there is none. One that is not being deleted comes first, then
// one that the status lists, then the oldest.
func (f *Family) madeFrom(claims []*v1alpha1.Installation) *v1alpha1.Installation {
	if len(claims) == 0 {
		return nil
	}
	return slices.MinFunc(claims, func(a, b *v1alpha1.Installation) int {
		return cmp.Or(
			cmp.Compare(rank(!a.DeletionTimestamp.IsZero()), rank(!b.DeletionTimestamp.IsZero())),
			cmp.Compare(rank(!f.lists(a)), rank(!f.lists(b))),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		)
	})
}

// rank makes false come before true.
func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// lists reports whether the status names a sub-installation.
func (f *Family) lists(child *v1alpha1.Installation) bool {
	cache := f.Inst.Status.SubInstCache
	return cache != nil && slices.ContainsFunc(cache.ActiveSubs, func(pair v1alpha1.SubNamePair) bool { return pair.ObjectName == child.Name })
}

// templateOf returns the name of the template that a sub-installation says it was made from.
func templateOf(child metav1.Object) string {
	return child.GetAnnotations()[v1alpha1.SubinstallationNameAnnotation]
}

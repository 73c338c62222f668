// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// Indexes of DataObjects and Targets.
const (
	// ScopeIndex finds those of a scope.
	ScopeIndex = "scope"
	// ExporterIndex finds those that an Installation exported.
	ExporterIndex = "exported-by"
)

// RetiredAnnotation marks the copy of a Target that is no import any more. It stays until the job has succeeded: what sub-installations have
// deployed there is uninstalled with it.
const RetiredAnnotation = "landscaper.gardener.cloud/retired"

// Retired reports whether the copy of a Target is no import any more.
func Retired(object client.Object) bool { return object.GetAnnotations()[RetiredAnnotation] != "" }

// ScopeOfData indexes DataObjects and Targets by the scope that they belong to.
func ScopeOfData(obj client.Object) []string {
	if scope := obj.GetLabels()[v1alpha1.DataObjectContextLabel]; scope != "" {
		return []string{scope}
	}
	return nil
}

// OtherOwner returns the reference to an Installation other than this one that owns the object, nil when there is none.
func OtherOwner(object client.Object, inst *v1alpha1.Installation) *metav1.OwnerReference {
	references := object.GetOwnerReferences()
	for i := range references {
		if references[i].Kind == "Installation" && references[i].UID != inst.UID {
			return &references[i]
		}
	}
	return nil
}

// IsFormerExport reports whether a Target is only kept for uninstalling.
func IsFormerExport(target *v1alpha1.Target) bool {
	return !target.DeletionTimestamp.IsZero() && target.Labels[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceExport
}

// ExportedBy indexes DataObjects and Targets by the Installation that exported them.
func ExportedBy(obj client.Object) []string {
	if obj.GetLabels()[v1alpha1.DataObjectSourceTypeLabel] != v1alpha1.DataObjectSourceExport {
		return nil
	}
	return []string{obj.GetLabels()[v1alpha1.DataObjectSourceLabel]}
}

// SameContent reports whether a DataObject or Target that exists holds what is wanted, whoever wrote it: data or spec, labels and
// annotations. The job in the labels, the recorded hash and the name of the original do not count.
func SameContent(exists, wanted client.Object) bool {
	return sameMap(exists.GetLabels(), wanted.GetLabels(), v1alpha1.DataObjectJobIDLabel) &&
		sameMap(exists.GetAnnotations(), wanted.GetAnnotations(), v1alpha1.HashAnnotation, v1alpha1.OriginalTargetAnnotation) && sameValue(exists, wanted)
}

// sameMap reports whether two maps are equal but for some keys.
func sameMap(a, b map[string]string, ignored ...string) bool {
	without := func(m map[string]string) map[string]string {
		rest := maps.Clone(m)
		maps.DeleteFunc(rest, func(key, _ string) bool { return slices.Contains(ignored, key) })
		return rest
	}
	return maps.Equal(without(a), without(b))
}

// sameValue compares the specs of Targets and the data of DataObjects, or where that is. A Secret is compared by who writes it.
func sameValue(a, b client.Object) bool {
	switch a := a.(type) {
	case *v1alpha1.DataObject:
		b, ok := b.(*v1alpha1.DataObject)
		return ok && reflect.DeepEqual(a.SecretReference, b.SecretReference) &&
			(b.SecretReference != nil || storage.SameRawJSON(a.Data.RawMessage, b.Data.RawMessage))
	case *v1alpha1.Target:
		b, ok := b.(*v1alpha1.Target)
		return ok && a.Spec.Type == b.Spec.Type && a.Spec.ServiceAccountName == b.Spec.ServiceAccountName &&
			reflect.DeepEqual(a.Spec.SecretRef, b.Spec.SecretRef) &&
			storage.SameRawJSON(rawOf(a.Spec.Configuration), rawOf(b.Spec.Configuration))
	}
	return false
}

func rawOf(value *v1alpha1.AnyJSON) []byte {
	if value == nil {
		return nil
	}
	return value.RawMessage
}

// OwnedByUID reports whether an Installation, and not a former one of its name, owns an object. Whatever a former one owns is garbage that
// is about to be collected.
func OwnedByUID(object client.Object, inst *v1alpha1.Installation) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == inst.UID })
}

// dataPrefix begins the labels that say where a DataObject or Target belongs, and its annotations.
const dataPrefix = "data.landscaper.gardener.cloud/"

// fluxPrefixes begin the labels by which Flux knows what it may prune.
var fluxPrefixes = []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}

// isCopied reports whether the copy of a Target has a label or annotation of the original. Those that say where the original belongs, and
// to which tool, are not true of a copy.
func isCopied(key string) bool {
	foreign := slices.ContainsFunc(fluxPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	return !foreign && !strings.HasPrefix(key, dataPrefix) && key != LastAppliedAnnotation && key != RetiredAnnotation
}

// CopyMissing adds what a copy has of the labels or annotations of the original; it changes into, whose own values win.
func CopyMissing(into, from map[string]string) {
	for key, value := range from {
		if _, own := into[key]; !own && isCopied(key) {
			into[key] = value
		}
	}
}

// HashOf returns one hash over named hashes, empty when there are none.
func HashOf(hashes map[string]string) string {
	if len(hashes) == 0 {
		return ""
	}
	raw, err := json.Marshal(maps.Clone(hashes))
	if err != nil {
		return ""
	}
	return storage.DataHash(v1alpha1.NewAnyJSON(raw))
}

// ValueHash returns the hash of one imported value.
func ValueHash(value any) (string, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode import: %w", err)
	}
	return storage.DataHash(v1alpha1.NewAnyJSON(raw)), nil
}

// LastAppliedAnnotation is kubectl's record of the original; it would double the size of a copy.
const LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// JSONLike returns a value as maps, slices and scalars.
func JSONLike(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out any
	return out, foreign.DecodeJSON(raw, &out)
}

// KeyOf is the key by which the import and export indexes know a DataObject or Target.
func KeyOf(object client.Object) string {
	if _, isTarget := object.(*v1alpha1.Target); isTarget {
		return "Target/" + object.GetName()
	}
	return "DataObject/" + object.GetName()
}

// EmptyOf returns an empty object of the kind of a DataObject or Target.
func EmptyOf(object client.Object) client.Object {
	empty, _ := ObjectOfKey(KeyOf(object))
	return empty
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// A server-side apply removes the fields that its manager no longer has. Fields that an earlier update strategy, Gardener Landscaper or kubectl
// wrote belong to other managers; for them to go with the manifest they are made those of the apply first.

// earlierManagers are the managers of updates that were made for the same manifests: the other strategies of this package, Gardener
// Landscaper's deployers, which use the names of their programs, and what the API server calls the time before the first apply.
var earlierManagers = map[string]bool{
	FieldManager: true, "manifest-deployer-controller": true, "helm-deployer-controller": true, "before-first-apply": true,
}

// helmManager is the manager of Helm releases.
const helmManager = "helm"

// Takeover is what has to be written to an object so that the fields of earlier managers are those of the apply; nil for nothing.
type takeover []metav1.ManagedFieldsEntry

// TakeoverOf returns the managed fields with the entries of earlier managers made part of the apply's; nil when there are none. Those of Helm
// count where the object leaves a release.
func takeoverOf(live *unstructured.Unstructured, leavesRelease bool) (takeover, error) {
	var others takeover
	var earlier []metav1.ManagedFieldsEntry
	applied := metav1.ManagedFieldsEntry{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1"}
	for _, entry := range live.GetManagedFields() {
		switch {
		case isApply(entry):
			applied = entry
		case isEarlier(entry) || leavesRelease && entry.Manager == helmManager && entry.Subresource == "":
			earlier = append(earlier, entry)
		default:
			others = append(others, entry)
		}
	}
	if len(earlier) == 0 {
		return nil, nil
	}
	if applied.APIVersion == "" {
		applied.APIVersion, applied.Time = earlier[0].APIVersion, earlier[0].Time
	}
	fields := &fieldpath.Set{}
	for _, entry := range append(earlier, applied) {
		more, err := fieldsIn(entry)
		if err != nil {
			return nil, err
		}
		fields = fields.Union(more)
	}
	raw, err := fields.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot write managed fields: %w", err)
	}
	applied.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(others, applied), nil
}

// isEarlier reports whether an entry is of a manager whose fields the apply takes over. Whatever people did with kubectl counts: the manifest is
// the truth about it.
func isEarlier(entry metav1.ManagedFieldsEntry) bool {
	if entry.Subresource != "" {
		return false
	}
	return strings.HasPrefix(entry.Manager, "kubectl") ||
		earlierManagers[entry.Manager] && entry.Operation == metav1.ManagedFieldsOperationUpdate
}

// isApply reports whether an entry is that of the apply of this package.
func isApply(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// IsApplied reports whether this package has written an object by server-side apply.
func isApplied(live *unstructured.Unstructured) bool { return appliedFields(live) != nil }

// AppliedFields returns the fields that the apply has on an object, as managed fields hold them; nil for none.
func appliedFields(live *unstructured.Unstructured) []byte {
	for _, entry := range live.GetManagedFields() {
		if isApply(entry) && entry.FieldsV1 != nil {
			return entry.FieldsV1.GetRawBytes()
		}
	}
	return nil
}

// Patch returns the JSON patch that writes the managed fields, and only to the state of the object that they were read from.
func (t takeover) Patch(live *unstructured.Unstructured) ([]byte, error) {
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": []metav1.ManagedFieldsEntry(t)},
		// Replaced and not tested: a state that has passed is answered as a conflict then.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
}

// IsWrittenByUs reports whether a deployer of ours, Helm in it, or one of Gardener Landscaper has written fields of an object.
func isWrittenByUs(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return (earlierManagers[entry.Manager] || entry.Manager == helmManager) && entry.Subresource == ""
	})
}

// Conflict is one field that another manager has set to another value.
type fieldConflict struct{ Field, Manager string }

// manager finds the name in the words of an API server.
var manager = regexp.MustCompile(`conflict with "([^"]*)"`)

// ConflictsIn returns the conflicts that an API server names; none for other errors, and other conflicts.
func conflictsIn(err error) []fieldConflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var conflicts []fieldConflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		name := "another manager"
		if found := manager.FindStringSubmatch(cause.Message); found != nil {
			name = found[1]
		}
		conflicts = append(conflicts, fieldConflict{Field: cause.Field, Manager: name})
	}
	return conflicts
}

// IsOfEarlierManagers reports whether all conflicts are with managers whose fields are about to be taken over.
func isOfEarlierManagers(conflicts []fieldConflict) bool {
	return !slices.ContainsFunc(conflicts, func(c fieldConflict) bool {
		return !earlierManagers[c.Manager] && !strings.HasPrefix(c.Manager, "kubectl") && c.Manager != helmManager
	})
}

// Values of the annotations prune, reconcile and force.
const (
	disabled = "disabled"
	enabled  = "enabled"
)

// Options are what an object asks for by annotations or labels, on the manifest and on the target.
type wishes struct {
	// Skip says that the object is neither created nor changed, and not waited for.
	Skip bool
	// Once says that the object is created and never changed.
	Once bool
	// Override says that fields are taken over from other managers, merge that those which the manifest does not have stay.
	Override, Merge bool
	// Recreate says that the object may be deleted and made anew.
	Recreate bool
}

// OptionsOf reads what an object asks for. Live is nil for an object that is not there. The annotations of Flux count in the strategy that works
// as Flux does: with the others, manifests that carry them for somebody else mean what they always did.
func wishesOf(strategy managedresource.UpdateStrategy, manifest, live *unstructured.Unstructured) wishes {
	prefixes := []string{managedresource.Annotations}
	if strategy == managedresource.UpdateStrategyApply {
		prefixes = append(prefixes, managedresource.FluxAnnotations)
	}
	asks := func(name, value string) bool {
		return isMarked(manifest, name, value, prefixes...) || live != nil && isMarked(live, name, value, prefixes...)
	}
	return wishes{
		Skip:     asks("reconcile", disabled) || asks("ssa", managedresource.SSAIgnore),
		Once:     asks("ssa", managedresource.SSAIfNotPresent),
		Override: asks("ssa", managedresource.SSAOverride),
		Merge:    asks("ssa", managedresource.SSAMerge),
		Recreate: asks("force", enabled),
	}
}

// IsKept reports whether an object on the target must not be deleted. That Flux is not to reconcile an object counts where it was applied as
// Flux does.
func isKept(live *unstructured.Unstructured) bool {
	return isMarked(live, "prune", disabled, managedresource.Annotations, managedresource.FluxAnnotations) ||
		isMarked(live, "reconcile", disabled, managedresource.Annotations) ||
		isMarked(live, "reconcile", disabled, managedresource.FluxAnnotations) && isApplied(live)
}

func isMarked(object *unstructured.Unstructured, name, value string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.EqualFold(object.GetAnnotations()[prefix+name], value) || strings.EqualFold(object.GetLabels()[prefix+name], value) {
			return true
		}
	}
	return false
}

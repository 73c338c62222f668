// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A server-side apply removes the fields that its manager no longer has. Fields that an earlier update strategy, Gardener Landscaper or kubectl
// wrote belong to other managers; for them to go with the manifest they are made those of the apply first.

// earlierManagers are the managers of updates that were made for the same manifests: the other strategies of this package, Gardener
// Landscaper's deployers, which use the names of their programs, and what the API server calls the time before the first apply.
var earlierManagers = map[string]bool{
	Manager: true, "manifest-deployer-controller": true, "helm-deployer-controller": true, "before-first-apply": true,
}

// helmManager is the manager of Helm releases.
const helmManager = "helm"

// Takeover is what has to be written to an object so that the fields of earlier managers are those of the apply; nil for nothing.
type Takeover []metav1.ManagedFieldsEntry

// TakeoverOf returns the managed fields with the entries of earlier managers made part of the apply's; nil when there are none. Those of Helm
// count where the object leaves a release.
func TakeoverOf(live *unstructured.Unstructured, leavesRelease bool) (Takeover, error) {
	var others Takeover
	var earlier []metav1.ManagedFieldsEntry
	applied := metav1.ManagedFieldsEntry{Manager: Manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1"}
	fields := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		switch {
		case isApply(entry):
			if err := union(fields, entry); err != nil {
				return nil, err
			}
			applied = entry
		case isEarlier(entry) || leavesRelease && entry.Manager == helmManager && entry.Subresource == "":
			earlier = append(earlier, entry)
		default:
			others = append(others, entry)
		}
	}
	for _, entry := range earlier {
		if err := union(fields, entry); err != nil {
			return nil, err
		}
		if applied.APIVersion == "" {
			applied.APIVersion, applied.Time = entry.APIVersion, entry.Time
		}
	}
	if len(earlier) == 0 {
		return nil, nil
	}
	raw, err := fields.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot write managed fields: %w", err)
	}
	applied.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(others, applied), nil
}

// union adds the fields of an entry to a set.
func union(fields *fieldpath.Set, entry metav1.ManagedFieldsEntry) error {
	more := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return nil
	}
	if err := more.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return fmt.Errorf("cannot read the managed fields of %s: %w", entry.Manager, err)
	}
	*fields = *fields.Union(more)
	return nil
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
	return entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// IsApplied reports whether this package has written an object by server-side apply.
func IsApplied(live *unstructured.Unstructured) bool { return AppliedFields(live) != nil }

// AppliedFields returns the fields that the apply has on an object, as managed fields hold them; nil for none.
func AppliedFields(live *unstructured.Unstructured) []byte {
	for _, entry := range live.GetManagedFields() {
		if isApply(entry) && entry.FieldsV1 != nil {
			return entry.FieldsV1.GetRawBytes()
		}
	}
	return nil
}

// Patch returns the JSON patch that writes the managed fields, and only to the state of the object that they were read from.
func (t Takeover) Patch(live *unstructured.Unstructured) ([]byte, error) {
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": []metav1.ManagedFieldsEntry(t)},
		// Replaced and not tested: a state that has passed is answered as a conflict then.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
}

// IsWrittenByUs reports whether a deployer of ours, Helm in it, or one of Gardener Landscaper has written fields of an object.
func IsWrittenByUs(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return (earlierManagers[entry.Manager] || entry.Manager == helmManager) && entry.Subresource == ""
	})
}

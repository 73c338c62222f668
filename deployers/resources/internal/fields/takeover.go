// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	fields := fieldSet{}
	for _, entry := range live.GetManagedFields() {
		switch {
		case isApply(entry):
			if err := fields.join(entry); err != nil {
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
		if err := fields.join(entry); err != nil {
			return nil, err
		}
		if applied.APIVersion == "" {
			applied.APIVersion, applied.Time = entry.APIVersion, entry.Time
		}
	}
	if len(earlier) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("cannot write managed fields: %w", err)
	}
	applied.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(others, applied), nil
}

// join adds the fields of an entry to a set. The sets of the API server are not used for it: they sort what they read by moving all that they have,
// which takes minutes for a few MiB of values in another order.
func (f fieldSet) join(entry metav1.ManagedFieldsEntry) error {
	if entry.FieldsV1 == nil {
		return nil
	}
	more := fieldSet{}
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &more); err != nil {
		return fmt.Errorf("cannot read the managed fields of %s: %w", entry.Manager, err)
	}
	f.union(more)
	return nil
}

// itself is the key for a field that belongs to a set beside what is below it.
const itself = "."

// union adds the fields of another set. A field without anything below it is in a set by itself, and stays so when something comes below it.
func (f fieldSet) union(other fieldSet) {
	for key, value := range other {
		more, _ := value.(map[string]any)
		known, isKnown := f[key].(map[string]any)
		if !isKnown {
			known = map[string]any{}
			f[key] = known
		}
		if isKnown && (len(known) == 0) != (len(more) == 0) {
			known[itself] = map[string]any{}
		}
		fieldSet(known).union(more)
	}
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

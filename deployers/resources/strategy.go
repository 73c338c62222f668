// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	kjson "sigs.k8s.io/json"
)

// ServerMetadata is the metadata that only the API server sets.
var serverMetadata = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink"}

// Replacement returns the object that replaces live: the desired one with what others have put on live. Some fields are always those of live,
// because the API server takes no others; finalizers and owners are kept also on objects of others.
func replacement(desired, live *unstructured.Unstructured, kept map[string]string) *unstructured.Unstructured {
	next := desired.DeepCopy()
	next.SetResourceVersion(live.GetResourceVersion())
	copyMissing(next, live, "metadata", "finalizers")
	copyMissing(next, live, "metadata", "ownerReferences")
	keepAnnotations(next, live, kept)
	switch next.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		copyAlways(next, live, "spec", "selector")
		copyAlways(next, live, "spec", "template", "metadata", "labels")
	case "Service":
		copyAlways(next, live, "spec", "clusterIP")
	case "ServiceAccount":
		copyMissing(next, live, "secrets")
	}
	if isAggregated(next) {
		copyAlways(next, live, "rules")
	}
	keepOfOthers(next, live)
	return next
}

// IsAggregated reports whether the rules of an object are those of other ClusterRoles. Its manifest has no say in them: the control plane writes
// them, and a write of somebody else takes the rights away until it has written them anew.
func isAggregated(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return kind.Group == "rbac.authorization.k8s.io" && kind.Kind == "ClusterRole" && object.Object["aggregationRule"] != nil
}

// KeepAnnotations keeps the annotations that a create sets, with the values they have now. Without this the state would depend
// on whether the process died between create and status write.
func keepAnnotations(next, live *unstructured.Unstructured, names map[string]string) {
	kept := map[string]string{}
	for name := range names {
		if value, ok := live.GetAnnotations()[name]; ok {
			kept[name] = value
		}
	}
	maps.Copy(kept, next.GetAnnotations())
	annotate(next, kept)
}

func copyAlways(next, live *unstructured.Unstructured, path ...string) {
	value, found, err := unstructured.NestedFieldCopy(live.Object, path...)
	if err != nil || !found {
		return
	}
	// The error means that the manifest has something else than an object on the way; the API server will say so.
	_ = unstructured.SetNestedField(next.Object, value, path...)
}

func copyMissing(next, live *unstructured.Unstructured, path ...string) {
	if _, found, err := unstructured.NestedFieldNoCopy(next.Object, path...); found || err != nil {
		return
	}
	copyAlways(next, live, path...)
}

// Merged returns live completed by desired. With overwrite the values of desired win; without, only values that are missing or
// empty in live are filled. Lists are values.
func mergedWith(desired, live *unstructured.Unstructured, overwrite bool) *unstructured.Unstructured {
	next := live.DeepCopy()
	from := desired.DeepCopy()
	unstructured.RemoveNestedField(from.Object, "metadata", "resourceVersion")
	mergeInto(next.Object, from.Object, overwrite)
	return next
}

// MergeInto completes into, which it changes, by from. With overwrite the values of from win.
func mergeInto(into, from map[string]any, overwrite bool) {
	for key, value := range from {
		old, found := into[key]
		oldFields, oldIsMap := old.(map[string]any)
		fields, isMap := value.(map[string]any)
		switch {
		case oldIsMap && isMap:
			mergeInto(oldFields, fields, overwrite)
		case overwrite || !found || isZero(old):
			into[key] = value
		}
	}
}

func isZero(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return reflect.ValueOf(value).IsZero()
	}
}

// Comparable returns a copy of an object without what only the API server writes. The status is dropped too when the other
// side has none.
func comparableContent(object *unstructured.Unstructured, withStatus bool) map[string]any {
	stripped := maps.Clone(object.Object)
	if metadata, ok := stripped["metadata"].(map[string]any); ok {
		own := maps.Clone(metadata)
		for key, value := range own {
			if slices.Contains(serverMetadata, key) || value != nil && isZero(value) {
				delete(own, key)
			}
		}
		stripped["metadata"] = own
	}
	if !withStatus {
		delete(stripped, "status")
	}
	return stripped
}

// Same reports whether two objects are equal but for what only the API server writes.
func sameContent(a, b *unstructured.Unstructured) bool {
	_, aHas := a.Object["status"]
	_, bHas := b.Object["status"]
	return reflect.DeepEqual(comparableContent(a, aHas && bHas), comparableContent(b, aHas && bHas))
}

// Difference returns the JSON merge patch from live to next. It leaves what only the API server writes alone.
func difference(live, next *unstructured.Unstructured) (map[string]any, error) {
	_, withStatus := next.Object["status"]
	from, err := json.Marshal(comparableContent(live, withStatus))
	if err != nil {
		return nil, fmt.Errorf("cannot encode the object: %w", err)
	}
	to, err := json.Marshal(comparableContent(next, withStatus))
	if err != nil {
		return nil, fmt.Errorf("cannot encode the manifest: %w", err)
	}
	raw, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return nil, fmt.Errorf("cannot compute the patch: %w", err)
	}
	patch := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &patch); err != nil {
		return nil, fmt.Errorf("cannot compute the patch: %w", err)
	}
	return patch, nil
}

// Annotate adds annotations to an object; they win over those it has.
func annotate(object *unstructured.Unstructured, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	merged := object.GetAnnotations()
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, annotations)
	object.SetAnnotations(merged)
}

// defaultMemory is how many objects a Memory holds when nothing else is asked for.
const defaultMemory = 20000

// Memory remembers which write led to which object, so that a repeated job need not send what the API server would answer with
// the same object: defaults that the server fills in make objects differ from their manifests forever. Only hashes are kept,
// about 150 bytes an object. It is safe for concurrent use; losing it costs one write an object and nothing else.
type Memory struct {
	known *lru.Cache
}

type fingerprint struct{ written, result [sha256.Size]byte }

// NewMemory returns a memory of at most size objects; 0 means a default.
func NewMemory(size int) *Memory {
	size = cmp.Or(max(size, 0), defaultMemory)
	return &Memory{known: lru.New(size)}
}

// remember notes that writing next gave result.
func (m *Memory) remember(next, result *unstructured.Unstructured) {
	if m == nil {
		return
	}
	print, ok := fingerprintOf(next, result)
	if ok {
		m.known.Add(result.GetUID(), print)
	}
}

// unchanged reports whether writing next is known to give live again.
func (m *Memory) unchanged(next, live *unstructured.Unstructured) bool {
	if m == nil {
		return false
	}
	known, found := m.known.Get(types.UID(live.GetUID()))
	print, ok := fingerprintOf(next, live)
	return found && ok && known.(fingerprint) == print
}

func fingerprintOf(next, result *unstructured.Unstructured) (fingerprint, bool) {
	_, withStatus := next.Object["status"]
	written, writtenErr := json.Marshal(comparableContent(next, withStatus))
	got, gotErr := json.Marshal(comparableContent(result, withStatus))
	if writtenErr != nil || gotErr != nil {
		return fingerprint{}, false
	}
	return fingerprint{written: sha256.Sum256(written), result: sha256.Sum256(got)}, true
}

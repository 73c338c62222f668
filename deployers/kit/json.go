// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStep is one operation of a JSON patch (RFC 6902).
type PatchStep struct {
	// Op is the operation: test, add or remove.
	Op string `json:"op"`
	// Path is a JSON pointer.
	Path string `json:"path"`
	// Value to test for or to add. API servers take null in a test for a field that is not there.
	Value any `json:"value"`
}

// JSONPatch returns a patch of all steps. It is carried out as a whole, or not at all when a test fails.
func JSONPatch(steps []PatchStep) (client.Patch, error) {
	raw, err := json.Marshal(steps)
	if err != nil {
		return nil, fmt.Errorf("encode a JSON patch: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, raw), nil
}

// IsTestFailure reports whether an API server refused a JSON patch because a test in it failed. It gives the same reason to what the schema
// refuses, with the fields as causes.
func IsTestFailure(err error) bool {
	var refusal apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refusal) {
		return false
	}
	details := refusal.Status().Details
	return details == nil || len(details.Causes) == 0
}

// Pointer returns the JSON pointer of a field.
func Pointer(path ...string) string {
	pointer := ""
	for _, part := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	}
	return pointer
}

// Steps returns the change of an object as steps of a JSON patch; none when nothing would change.
func (m MetadataChange) Steps(obj client.Object) []PatchStep {
	var steps []PatchStep
	if finalizers, changed := m.finalizers(obj.GetFinalizers()); changed {
		steps = append(steps, PatchStep{Op: "add", Path: Pointer("metadata", "finalizers"), Value: finalizers})
	}
	return append(append(steps, mapSteps("annotations", m.Annotations, obj.GetAnnotations())...), mapSteps("labels", m.Labels, obj.GetLabels())...)
}

func mapSteps(field string, wanted map[string]*string, present map[string]string) []PatchStep {
	changes := changed(wanted, present)
	var steps []PatchStep
	if len(changes) > 0 && len(present) == 0 {
		steps = append(steps, PatchStep{Op: "add", Path: Pointer("metadata", field), Value: map[string]string{}})
	}
	for key, value := range changes {
		path := Pointer("metadata", field, key)
		if value == nil {
			steps = append(steps, PatchStep{Op: "remove", Path: path})
			continue
		}
		steps = append(steps, PatchStep{Op: "add", Path: path, Value: *value})
	}
	return steps
}

// SameJSON compares two values as the API server stores them: raw JSON inside may be formatted differently.
func SameJSON(a, b any) (bool, error) {
	left, err := encoded(a)
	if err != nil {
		return false, err
	}
	right, err := encoded(b)
	if err != nil || bytes.Equal(left, right) {
		return err == nil, err
	}
	var leftValue, rightValue any
	if err := json.Unmarshal(left, &leftValue); err != nil {
		return false, err
	}
	if err := json.Unmarshal(right, &rightValue); err != nil {
		return false, err
	}
	return reflect.DeepEqual(leftValue, rightValue), nil
}

// SameRawJSON reports whether two texts are the same JSON. Numbers are compared digit by digit: as floats, large ones would lose their last.
func SameRawJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var left, right any
	return decodeExactly(a, &left) && decodeExactly(b, &right) && reflect.DeepEqual(left, right)
}

func decodeExactly(raw []byte, into *any) bool {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into) == nil
}

func encoded(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode for comparison: %w", err)
	}
	return raw, nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package document reads the typed documents of deployers: provider configurations, provider statuses and configuration files.
package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// Read decodes a JSON document of the given apiVersion and kind. A missing apiVersion or kind counts as the right one, keys are
// case-sensitive, unknown keys are ignored. Errors name the field and hold no values of it.
func Read(raw []byte, want metav1.TypeMeta, into any) error {
	var header metav1.TypeMeta
	if err := Decode(raw, &header); err != nil {
		return err
	}
	if header.APIVersion != "" && header.APIVersion != want.APIVersion {
		return fmt.Errorf("apiVersion: %q is not known to the deployer, use %s", Brief(header.APIVersion), want.APIVersion)
	}
	if header.Kind != "" && header.Kind != want.Kind {
		return fmt.Errorf("kind: %q is not known to the deployer, use %s", Brief(header.Kind), want.Kind)
	}
	return Decode(raw, into)
}

// Write encodes a document for a status.
func Write(document any) (*runtime.RawExtension, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the provider status: %w", err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// Decode reads one JSON document with case-sensitive keys; unknown keys are ignored. Errors name the field and what to correct. They show
// no value, except the beginning of one that is not the duration it should be.
func Decode(raw []byte, into any) error {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	if err == nil {
		return nil
	}
	var tree any
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, &tree)); ok {
		return fmt.Errorf("the document is not JSON: problem at byte %d", syntax.Offset)
	}
	field := "the document"
	if misfit := First(reflect.TypeOf(into).Elem(), tree); misfit != nil {
		field, err = cmp.Or(beginning.Of(misfit.Path, longestCause), field), takes(misfit.Type, misfit.Value)
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: is a JSON %s, which the field cannot hold; correct the type of the value", field, mismatch.Value)
	}
	return fmt.Errorf("%s: %s", field, beginning.Of(err.Error(), longestCause))
}

const (
	// longestValue is how many bytes of a value errors show, longestCause how many of a path, and of what a type says about its value.
	longestValue = 60
	longestCause = 300
)

// Brief returns the beginning of a value for messages.
func Brief[T ~string](value T) string { return beginning.Of(value, longestValue) }

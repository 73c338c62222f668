// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

const (
	// maxMerged is how many elements the next revision of an object may have in lists that are merged one by one: each comparison of two looks both up in the
	// list, which takes seconds for as many, and goes on when nobody waits any more. Elements of the last revision are compared less: maxMergedBefore lets
	// what is larger shrink.
	maxMerged, maxMergedBefore = 4000, 50_000
	// maxField bounds the name of a field in an error, in bytes: keys of maps are part of it.
	maxField = 256
)

var (
	quantity = reflect.TypeFor[resource.Quantity]()
	// endless is a quantity that takes hours to work out, or ends the process.
	endless = regexp.MustCompile(`[0-9.]{65}|[eE][-+]?[0-9]{3}`)
)

// judge looks at an object of a chart along the Go type that Helm makes of it.
type judge struct {
	// quantities are looked at, too: the object is one that is to be deployed.
	quantities bool
	// elements is how many the lists may have together that are merged one by one.
	elements int
	// merged is how many there were so far.
	merged int
}

// all refuses objects that would keep a process busy. The error names the object, the field and what to do.
func (j judge) all(objects kube.ResourceList) error {
	for _, info := range objects {
		object, isPlain := info.Object.(*unstructured.Unstructured)
		if !isPlain {
			continue
		}
		t, isKnown := scheme.Scheme.AllKnownTypes()[object.GroupVersionKind()]
		if !isKnown {
			continue
		}
		one := j
		if err := one.value(object.Object, t, ""); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), strings.TrimPrefix(info.Namespace+"/"+info.Name, "/"), err)
		}
	}
	return nil
}

// value looks at a value that becomes a t.
func (j *judge) value(value any, t reflect.Type, field string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == quantity && j.quantities && endless.MatchString(fmt.Sprint(value)) {
		return fmt.Errorf("%s is a quantity with more than 64 digits, or more than 2 in its exponent; write it shorter, such as 500m or 2Gi", shownField(field))
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if member, merges := memberOf(t, key); member != nil {
				if err := j.member(inner, member, merges, field+"."+key); err != nil {
					return err
				}
			}
		}
	case []any:
		for i, inner := range value {
			if t.Kind() != reflect.Slice {
				break
			}
			if err := j.value(inner, t.Elem(), fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// member looks at a part of an object, which may be a list that is merged.
func (j *judge) member(value any, t reflect.Type, merges bool, field string) error {
	if list, isList := value.([]any); isList && merges {
		if j.merged += len(list); j.merged > j.elements {
			return fmt.Errorf("with %s, the lists that are merged element by element have more than %d elements together; spread them over several objects, "+
				"or let the container take variables from a ConfigMap with envFrom", shownField(field), j.elements)
		}
	}
	return j.value(value, t, field)
}

func shownField(field string) string { return beginning.Of(strings.TrimPrefix(field, "."), maxField) }

// memberOf returns the type of what a key leads to, nil for nothing, and whether that is a list that a strategic merge goes through one by one. The case of a
// key does not count.
func memberOf(t reflect.Type, key string) (member reflect.Type, merges bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), false
	case reflect.Struct:
	default:
		return nil, false
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct {
			if member, merges = memberOf(field.Type, key); member != nil {
				return member, merges
			}
			continue
		}
		if strings.EqualFold(cmp.Or(name, field.Name), key) {
			return field.Type, slices.Contains(strings.Split(field.Tag.Get("patchStrategy"), ","), "merge")
		}
	}
	return nil, false
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// member is a part of a Go type that a key of a JSON object leads to.
type member struct {
	name string
	// t is its type; nil where the key leads to nothing.
	t reflect.Type
	// merges says that a strategic merge goes through the elements of the list that it is.
	merges bool
}

// memberOf returns the part of a type that a key leads to. As in a strategic merge, the case of a key does not count.
func memberOf(t reflect.Type, key string) member {
	switch t.Kind() {
	case reflect.Map:
		return member{t: t.Elem()}
	case reflect.Struct:
		members := membersOf(t)
		found := slices.IndexFunc(members, func(m member) bool { return m.name == key })
		if found < 0 {
			found = slices.IndexFunc(members, func(m member) bool { return strings.EqualFold(m.name, key) })
		}
		if found >= 0 {
			return members[found]
		}
	}
	return member{}
}

// known holds the members of each struct that was met. There are as many as Kubernetes has types.
var known sync.Map

// membersOf returns the parts of a struct by their names in JSON.
func membersOf(t reflect.Type) []member {
	if found, ok := known.Load(t); ok {
		return found.([]member)
	}
	var members []member
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			members = append(members, membersOf(field.Type)...)
		default:
			merges := slices.Contains(strings.Split(field.Tag.Get("patchStrategy"), ","), "merge")
			members = append(members, member{cmp.Or(name, field.Name), field.Type, merges})
		}
	}
	known.Store(t, members)
	return members
}

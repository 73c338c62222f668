// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"reflect"
	"unsafe"
)

// What a map needs beside keys and values: itself, and one byte for each of its slots, of which it has at least a group and leaves some empty.
const (
	mapHeader = 48
	mapGroup  = 8
)

// Size returns about how many bytes a value takes with everything that it refers to, each part once. It is meant for data: what functions
// and channels hold does not count.
func Size(value any) int64 {
	if value == nil {
		return 0
	}
	m := measuring{seen: map[unsafe.Pointer]struct{}{}}
	v := reflect.ValueOf(value)
	return int64(v.Type().Size()) + m.behind(v) // #nosec G115 -- sizes of types are small
}

type measuring struct{ seen map[unsafe.Pointer]struct{} }

// first reports whether a part was not counted yet.
func (m *measuring) first(at unsafe.Pointer) bool {
	_, known := m.seen[at]
	m.seen[at] = struct{}{}
	return !known
}

// behind returns the bytes that a value refers to.
func (m *measuring) behind(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Interface, reflect.Pointer:
		return m.pointer(v)
	case reflect.Slice:
		if v.IsNil() || !m.first(v.UnsafePointer()) {
			return 0
		}
		return int64(v.Cap())*int64(v.Type().Elem().Size()) + m.elements(v) // #nosec G115 -- sizes of types are small
	case reflect.Array:
		return m.elements(v)
	case reflect.Map:
		return m.entries(v)
	case reflect.Struct:
		total := int64(0)
		for i := range v.NumField() {
			total += m.behind(v.Field(i))
		}
		return total
	}
	return 0
}

func (m *measuring) pointer(v reflect.Value) int64 {
	if v.IsNil() || v.Kind() == reflect.Pointer && !m.first(v.UnsafePointer()) {
		return 0
	}
	return int64(v.Elem().Type().Size()) + m.behind(v.Elem()) // #nosec G115 -- sizes of types are small
}

func (m *measuring) elements(v reflect.Value) (total int64) {
	if flat(v.Type().Elem().Kind()) {
		return 0
	}
	for i := range v.Len() {
		total += m.behind(v.Index(i))
	}
	return total
}

func (m *measuring) entries(v reflect.Value) int64 {
	if v.IsNil() || !m.first(v.UnsafePointer()) {
		return 0
	}
	slots := int64(mapGroup)
	for slots*7/8 < int64(v.Len()) {
		slots *= 2
	}
	total := mapHeader + slots*(1+int64(v.Type().Key().Size())+int64(v.Type().Elem().Size())) // #nosec G115 -- sizes of types are small
	for each := v.MapRange(); each.Next(); {
		total += m.behind(each.Key()) + m.behind(each.Value())
	}
	return total
}

// flat reports whether values of a kind refer to nothing.
func flat(kind reflect.Kind) bool { return kind >= reflect.Bool && kind <= reflect.Complex128 }

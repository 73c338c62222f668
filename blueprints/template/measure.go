// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"reflect"
	"time"
)

// nodeBytes is what one value counts beside its text.
const nodeBytes = 16

// valueDepth is how deep a value may be nested; a value that contains itself is deeper.
const valueDepth = 500

// measure returns the size of a value as it would be if written out: a value that is contained twice counts twice. It stops with an
// error when the size exceeds what the budget allows for one value, or when the value contains itself.
func (m *meter) measure(v any) (int64, error) {
	left := m.budget.valueBytes()
	if err := consume(v, &left, 0); err != nil {
		return 0, err
	}
	return m.budget.valueBytes() - left, nil
}

func consume(v any, left *int64, depth int) error {
	if err := pay(left, nodeBytes, depth); err != nil {
		return err
	}
	switch t := v.(type) {
	case nil, bool, int, int64, float64:
		return nil
	case string:
		return pay(left, len(t), depth)
	case []any:
		for _, item := range t {
			if err := consume(item, left, depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for key, item := range t {
			if err := consumeEntry(key, item, left, depth+1); err != nil {
				return err
			}
		}
		return nil
	case time.Time:
		return nil
	}
	return consumeReflected(reflect.ValueOf(v), left, depth)
}

func pay(left *int64, bytes, depth int) error {
	*left -= int64(bytes)
	if *left < 0 {
		return overBudget("a value is too large")
	}
	if depth > valueDepth {
		return overBudget("a value is nested more than %d levels deep or contains itself", valueDepth)
	}
	return nil
}

func consumeEntry(key string, item any, left *int64, depth int) error {
	if err := pay(left, len(key), depth); err != nil {
		return err
	}
	return consume(item, left, depth)
}

func consumeReflected(v reflect.Value, left *int64, depth int) error {
	switch v.Kind() {
	case reflect.String:
		return pay(left, v.Len(), depth)
	case reflect.Slice, reflect.Array:
		return consumeItems(v, left, depth)
	case reflect.Map:
		return consumeMap(v, left, depth)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return consumeItem(v.Elem(), left, depth+1)
	case reflect.Struct:
		return consumeFields(v, left, depth)
	}
	return nil
}

func consumeItem(v reflect.Value, left *int64, depth int) error {
	if v.CanInterface() {
		return consume(v.Interface(), left, depth)
	}
	return nil
}

func consumeItems(v reflect.Value, left *int64, depth int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return pay(left, 4*v.Len(), depth)
	}
	for i := range v.Len() {
		if err := consumeItem(v.Index(i), left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func consumeMap(v reflect.Value, left *int64, depth int) error {
	for entries := v.MapRange(); entries.Next(); {
		if err := consumeItem(entries.Key(), left, depth+1); err != nil {
			return err
		}
		if err := consumeItem(entries.Value(), left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func consumeFields(v reflect.Value, left *int64, depth int) error {
	for i := range v.NumField() {
		if err := consumeItem(v.Field(i), left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// shallow returns the bytes that a result takes by itself, without what its items hold.
func shallow(v reflect.Value) int64 {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len()) + nodeBytes
	case reflect.Slice, reflect.Map:
		return int64(v.Len()+1) * nodeBytes
	}
	return nodeBytes
}

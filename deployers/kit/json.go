// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

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

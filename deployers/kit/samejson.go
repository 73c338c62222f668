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
	left, err := normalised(a)
	if err != nil {
		return false, err
	}
	right, err := normalised(b)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(left, right), nil
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

func normalised(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode for comparison: %w", err)
	}
	var out any
	err = json.Unmarshal(raw, &out)
	return out, err
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
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

func normalised(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode for comparison: %w", err)
	}
	var out any
	err = json.Unmarshal(raw, &out)
	return out, err
}

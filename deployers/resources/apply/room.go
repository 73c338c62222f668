// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// maxKept is what the objects take in memory, by estimate, that an apply keeps until they are looked at again. Of what comes on top is kept that it
	// exists: what a target holds is as large as its owner likes.
	maxKept = 16 << 20
	// mapCost and valueCost are what an empty map and any other value take beside their texts.
	mapCost   = 256
	valueCost = 64
)

// room bounds the objects that are kept. It is safe for concurrent use.
type room struct{ taken atomic.Int64 }

// keeps reports whether there is room for objects, which it then takes. Nil takes none.
func (r *room) keeps(all ...*unstructured.Unstructured) bool {
	var cost int64
	for _, one := range all {
		if one != nil {
			cost += costOf(one.Object)
		}
	}
	if r.taken.Add(cost) > maxKept {
		r.taken.Add(-cost)
		return false
	}
	return true
}

// costOf returns what a value takes in memory, by estimate.
func costOf(value any) int64 {
	cost := int64(valueCost)
	switch v := value.(type) {
	case map[string]any:
		cost += mapCost
		for key, field := range v {
			cost += int64(len(key)) + costOf(field)
		}
	case []any:
		for _, element := range v {
			cost += costOf(element)
		}
	case string:
		cost += int64(len(v))
	}
	return cost
}

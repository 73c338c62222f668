// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ShardLabel assigns an object to one shard of controllers, as in every Flux controller. Children inherit it.
const ShardLabel = "sharding.fluxcd.io/key"

// Shard selects the objects that a process brings on. Every process reads the objects of all shards, because data, Targets and
// order connect them: what is not in the own shard is still there.
type Shard struct {
	// Selector is the label selector of the process; nil selects all.
	Selector labels.Selector
}

// Has reports whether the process brings an object on.
func (s Shard) Has(object metav1.Object) bool {
	return s.Selector == nil || s.Selector.Matches(labels.Set(object.GetLabels()))
}

// FollowShard returns the change that brings a child into the shard of its parent. It changes nothing where both are in the same.
func FollowShard(parent, child metav1.Object) MetadataChange {
	wanted, has := parent.GetLabels()[ShardLabel]
	present, had := child.GetLabels()[ShardLabel]
	switch {
	case has == had && wanted == present:
		return MetadataChange{}
	case has:
		return MetadataChange{Labels: map[string]*string{ShardLabel: &wanted}}
	}
	return MetadataChange{Labels: map[string]*string{ShardLabel: nil}}
}

// Empty reports whether a change changes nothing.
func (m MetadataChange) Empty() bool {
	return m.AddFinalizer == "" && m.RemoveFinalizer == "" && len(m.Annotations)+len(m.Labels) == 0
}

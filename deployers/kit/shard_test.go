// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// inShard is an object with a label of a shard, without it when empty.
func inShard(key string) metav1.Object {
	object := &metav1.ObjectMeta{}
	if key != "" {
		object.Labels = map[string]string{ShardLabel: key}
	}
	return object
}

func TestE09AShardBringsItsOwnObjectsOn(t *testing.T) {
	for selector, has := range map[string]map[string]bool{
		"":                         {"": true, "a": true, "b": true},
		"sharding.fluxcd.io/key=a": {"": false, "a": true, "b": false},
		"!sharding.fluxcd.io/key":  {"": true, "a": false, "b": false},
	} {
		parsed, err := labels.Parse(selector)
		require.NoError(t, err)
		for key, want := range has {
			assert.Equal(t, want, Shard{Selector: parsed}.Has(inShard(key)), "%q has %q", selector, key)
		}
	}
	assert.True(t, Shard{}.Has(inShard("a")), "without selector all")
}

func TestE09ChildrenFollowTheirParentToItsShard(t *testing.T) {
	for name, tc := range map[string]struct {
		parent, child string
		change        bool
		want          string
	}{
		"none":          {},
		"the same":      {parent: "a", child: "a"},
		"into a shard":  {parent: "a", change: true, want: "a"},
		"to another":    {parent: "b", child: "a", change: true, want: "b"},
		"out of shards": {child: "a", change: true},
	} {
		t.Run(name, func(t *testing.T) {
			change := FollowShard(inShard(tc.parent), inShard(tc.child))
			require.Equal(t, tc.change, !change.Empty())
			if value := change.Labels[ShardLabel]; value != nil {
				assert.Equal(t, tc.want, *value)
			} else {
				assert.Empty(t, tc.want)
			}
		})
	}
}

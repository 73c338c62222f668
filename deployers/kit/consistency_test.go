// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func state(uid, version string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "i", UID: types.UID(uid), ResourceVersion: version,
	}}
}

var key = client.ObjectKey{Namespace: "n", Name: "i"}

func TestConsistencyStale(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record func(*Consistency)
		cached *v1alpha1.Installation
		stale  bool
	}{
		"nothing written":                {func(*Consistency) {}, state("a", "5"), false},
		"older than the write":           {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("a", "5"), true},
		"as the write":                   {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("a", "7"), false},
		"newer than the write":           {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("a", "9"), false},
		"versions compare as numbers":    {func(c *Consistency) { c.Wrote(state("a", "10")) }, state("a", "9"), true},
		"as before the deletion":         {func(c *Consistency) { c.Deleted(state("a", "7")) }, state("a", "7"), true},
		"deletion is visible":            {func(c *Consistency) { c.Deleted(state("a", "7")) }, state("a", "8"), false},
		"released":                       {func(c *Consistency) { c.Released(state("a", "7")) }, state("a", "99"), true},
		"another object of that name":    {func(c *Consistency) { c.Released(state("a", "7")) }, state("b", "9"), false},
		"write of a former object":       {func(c *Consistency) { c.Wrote(state("a", "7")) }, state("b", "3"), false},
		"forgotten":                      {func(c *Consistency) { c.Wrote(state("a", "7")); c.Forget(key) }, state("a", "5"), false},
		"read before the write was seen": {func(c *Consistency) { c.Wrote(state("a", "7")); c.Stale(state("a", "7")) }, state("a", "5"), true},
		"read before it was released":    {func(c *Consistency) { c.Released(state("a", "7")); c.Forget(key) }, state("a", "7"), true},
		"write without number version":   {func(c *Consistency) { c.Wrote(state("a", "x")) }, state("a", "5"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consistency := &Consistency{}
			c.record(consistency)
			assert.Equal(t, c.stale, consistency.Stale(c.cached))
		})
	}
}

func TestConsistencyUnseen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record func(*Consistency)
		wait   bool
	}{
		"created":                  {func(c *Consistency) { c.Created(state("a", "7")) }, true},
		"created and then written": {func(c *Consistency) { c.Created(state("a", "7")); c.Wrote(state("a", "8")) }, true},
		"written only":             {func(c *Consistency) { c.Wrote(state("a", "7")) }, false},
		"created and deleted":      {func(c *Consistency) { c.Created(state("a", "7")); c.Deleted(state("a", "8")) }, false},
		"created and seen":         {func(c *Consistency) { c.Created(state("a", "7")); c.Stale(state("a", "7")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consistency := &Consistency{}
			c.record(consistency)
			assert.Equal(t, c.wait, consistency.Unseen(key) > 0)
		})
	}
}

func TestConsistencyKeepsNoWriteForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		consistency := &Consistency{}
		for range 3 {
			for i := range 100 {
				written := state("a", "7")
				written.Name = strconv.Itoa(i)
				consistency.Wrote(written)
			}
			time.Sleep(time.Minute)
		}
		consistency.Wrote(state("a", "7"))
		assert.Len(t, consistency.written, 1)
	})
}

// TestConsistencyTrustsTheCacheInTheEnd has a cache that never shows a write: the object is then taken as it is shown.
func TestConsistencyTrustsTheCacheInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		consistency := &Consistency{}
		consistency.Created(state("a", "7"))
		time.Sleep(4 * time.Second)
		assert.Positive(t, consistency.Unseen(key))
		time.Sleep(2 * time.Second)
		assert.Zero(t, consistency.Unseen(key))

		consistency.Wrote(state("a", "7"))
		time.Sleep(29 * time.Second)
		assert.True(t, consistency.Stale(state("a", "5")))
		time.Sleep(2 * time.Second)
		assert.False(t, consistency.Stale(state("a", "5")))
	})
}

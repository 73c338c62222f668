// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	// flooded are the Installations of the tenant that floods, few those of the other one.
	flooded, few = 500, 8
	// answerTime is how long a target takes to answer, as one that is far away does.
	answerTime = 500 * time.Millisecond
	// mostLate is how many times as long the other tenant may take.
	mostLate = 1.5
	// tries are how often that is measured until it is so: other suites run side by side, and not all the time.
	tries = 3
)

// TestTwoTenantsInTwoShards lets one tenant flood its own shard, flux/shard as it is, beside another one.
func TestTwoTenantsInTwoShards(t *testing.T) {
	w := newWorld(t)
	scenes := map[string]*landscape.Scene{}
	for _, tenant := range []string{"floods", "works"} {
		w.namespace(tenant, map[string]string{kit.ShardLabel: tenant})
		w.run("shard", "${tenant}", tenant)
		s := w.scene(tenant)
		config, err := w.NewUser(s.Deployer(), landscape.AllRights...)
		require.NoError(t, err)
		far, closeAll, err := rig.Through(config, late)
		require.NoError(t, err)
		t.Cleanup(closeAll)
		s.TargetOf("cluster", far)
		scenes[tenant] = s
	}
	w.life(scenes["works"]) // so that all is open that stays open

	alone := w.life(scenes["works"])
	w.createAll(many(scenes["floods"], "flood", flooded))
	require.Eventually(t, func() bool { return w.phases("floods")[""] <= flooded/2 }, 2*landscape.Patience, 50*time.Millisecond, "half of the jobs of the flood have begun")
	var times []float64
	for len(times) < tries && (len(times) == 0 || slices.Min(times) > mostLate) {
		beside := w.life(scenes["works"])
		left := flooded - w.phases("floods")[v1alpha1.PhaseSucceeded]
		require.Positive(t, left, "the flood goes on all the time")
		times = append(times, beside.Seconds()/alone.Seconds())
		t.Logf("alone %s, beside the flood %s, of which %d were left", alone.Round(time.Millisecond), beside.Round(time.Millisecond), left)
	}
	assert.LessOrEqual(t, slices.Min(times), mostLate, "times as long as alone")
}

// late answers requests after a time.
func late(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(answerTime)
		next.ServeHTTP(w, r)
	})
}

// many are Installations with one item each.
func many(s *landscape.Scene, prefix string, count int) (all []*unstructured.Unstructured) {
	for i := range count {
		name := fmt.Sprint(prefix, "-", i)
		all = append(all, installation(s, name, map[string]string{kit.ShardLabel: s.Namespace},
			landscape.ConfigItem("config", "{import: cluster}", s.Namespace, name, "value: x")))
	}
	return all
}

// life deploys a few Installations and deletes them, three times, and returns how long that took in the median.
func (w *world) life(s *landscape.Scene) time.Duration {
	w.t.Helper()
	var all []time.Duration
	for round := range 3 {
		begun := time.Now()
		w.createAll(many(s, fmt.Sprint("work-", round), few))
		w.await(s.Namespace, v1alpha1.PhaseSucceeded, few, landscape.Patience)
		require.NoError(w.t, w.Client().DeleteAllOf(w.ctx, &v1alpha1.Installation{}, client.InNamespace(s.Namespace)))
		w.await(s.Namespace, "", 0, landscape.Patience)
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	return all[1]
}

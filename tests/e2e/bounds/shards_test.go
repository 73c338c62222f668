// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	// flooded are the Installations of the tenant that floods which are never done, few those of the other one.
	flooded, few = 300, 8
	// answerTime is how long a target takes to answer, as one that is far away does.
	answerTime = 500 * time.Millisecond
	// mostLate is how many times as long the other tenant may take: both shards use the API server and the processors of one machine.
	mostLate = 2.0
	// tries are how often that is measured until it is so: other suites run side by side, and not all the time.
	tries = 3
)

// TestTwoTenantsInTwoShards lets one tenant flood its own shard, flux/shard as it is, beside another one.
func TestTwoTenantsInTwoShards(t *testing.T) {
	w := newWorld(t)
	scenes := map[string]*landscape.Scene{}
	for _, tenant := range []string{"floods", "works"} {
		w.namespace(tenant, map[string]string{protocol.ShardLabel: tenant})
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
	w.flood(scenes["floods"])
	require.Eventually(t, func() bool { return w.phases("floods")[v1alpha1.PhaseSucceeded] >= few }, landscape.Patience, 50*time.Millisecond, "the flood is worked on")
	var times []float64
	for len(times) < tries && (len(times) == 0 || slices.Min(times) > mostLate) {
		beside := w.life(scenes["works"])
		times = append(times, beside.Seconds()/alone.Seconds())
		t.Logf("alone %s, beside the flood %s: %v", alone.Round(time.Millisecond), beside.Round(time.Millisecond), w.phases("floods"))
	}
	assert.LessOrEqual(t, slices.Min(times), mostLate, "times as long as alone")
}

// flood creates Installations until the test ends, so that there are always many that are not done.
func (w *world) flood(s *landscape.Scene) {
	ctx, cancel := context.WithCancel(w.ctx)
	var group errgroup.Group
	group.Go(func() error {
		for created := 0; ; time.Sleep(50 * time.Millisecond) {
			all := &v1alpha1.InstallationList{}
			err := w.Client().List(ctx, all, client.InNamespace(s.Namespace))
			waiting := slices.DeleteFunc(all.Items, func(inst v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded })
			for ; err == nil && len(waiting) < flooded; waiting, created = append(waiting, v1alpha1.Installation{}), created+1 {
				err = w.Client().Create(ctx, one(s, fmt.Sprint("flood-", created)))
			}
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			}
		}
	})
	w.t.Cleanup(func() {
		cancel()
		assert.NoError(w.t, group.Wait())
	})
}

// late answers requests after a time.
func late(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(answerTime)
		next.ServeHTTP(w, r)
	})
}

// one is an Installation with one item.
func one(s *landscape.Scene, name string) *unstructured.Unstructured {
	return installation(s, name, map[string]string{protocol.ShardLabel: s.Namespace}, landscape.ConfigItem("config", "{import: cluster}", s.Namespace, name, "value: x"))
}

// life deploys a few Installations and deletes them, three times, and returns how long that took in the median.
func (w *world) life(s *landscape.Scene) time.Duration {
	w.t.Helper()
	var all []time.Duration
	for round := range 3 {
		begun := time.Now()
		var work []*unstructured.Unstructured
		for i := range few {
			work = append(work, one(s, fmt.Sprintf("work-%d-%d", round, i)))
		}
		w.createAll(work)
		w.await(s.Namespace, v1alpha1.PhaseSucceeded, few, landscape.Patience)
		require.NoError(w.t, w.Client().DeleteAllOf(w.ctx, &v1alpha1.Installation{}, client.InNamespace(s.Namespace)))
		w.await(s.Namespace, "", 0, landscape.Patience)
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	return all[1]
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

var (
	seeds = flag.Int("seeds", 3, "how many random landscapes live, each from a seed of its own")
	first = flag.Uint64("first", 1, "the first seed; 0 takes one from the clock")
	size  = flag.Int("size", 40, "how many Installations a landscape has at first")
	steps = flag.Int("steps", 16, "how many random changes follow")
	kills = flag.Int("kills", 0, "kill one of our processes in one of so many steps; 0 never")

	outages = flag.Int("outages", 5, "how often something breaks for a while, as a weight beside the 16 to 22 of all other steps; 0 never")
	quiet   = flag.Duration("quiet", 700*time.Millisecond, "how long resource versions have to stand still after each step")
)

// maxRetryDelay is less than quiet, so that whatever is written at each attempt is noticed.
const maxRetryDelay = "500ms"

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{
		// The garbage collector is no part of what is tested, but waited for.
		ControllerManagerArgs: []string{"--kube-api-qps=500", "--kube-api-burst=1000"},
	}, "--min-retry-delay=50ms", "--max-retry-delay="+maxRetryDelay))
}

// TestGateRandomLandscape is a sample of TestRandomLandscapes: the first seed.
func TestGateRandomLandscape(t *testing.T) { live(t, 1) }

func TestRandomLandscapes(t *testing.T) {
	from := *first
	if from == 0 {
		from = uint64(time.Now().UnixNano()) % 1_000_000
	}
	for seed := from; seed < from+uint64(*seeds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			live(t, seed)
		})
	}
}

// live lets one random landscape live.
func live(t *testing.T, seed uint64) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat it: go test ./tests/soak/property -count 1 -run Landscapes -args -first %d -seeds 1 -size %d -steps %d -kills %d -outages %d",
				seed, *size, *steps, *kills, *outages)
		}
	})
	p := newPlay(t, &gardener{Rand: rand.New(rand.NewPCG(seed, uint64(*size)))})
	p.begin()
	for range *steps {
		p.step()
		p.stand()
	}
	p.end()
}

// patience bounds one step: all Installations may run in it, on a machine that does other things too.
func patience() time.Duration { return landscape.Patience + time.Duration(*size)*time.Second }

func newPlay(t *testing.T, g *gardener) *play {
	shared := landscape.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience()*time.Duration(2+*steps))
	t.Cleanup(cancel)
	s := &landscape.Scene{Landscape: shared, T: t, Ctx: ctx, Namespace: shared.Namespace(t)}
	t.Cleanup(func() { s.Witness.RequireTruth(t, s.Namespace) })
	g.namespace = s.Namespace
	p := &play{Scene: s, g: g, world: &world{data: map[string]string{}}, record: newRecord(ctx, s)}
	access, revoke := s.LimitedDeployer("configmaps", "secrets")
	p.revoke, p.door = revoke, s.TargetBehindDoor(targetName, access)
	return p
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	// lifeTime is how long each step of a life may take, with a new process in it.
	lifeTime = time.Minute
	// mostWrites is far more than the deployer writes in the life of an item.
	mostWrites = 100
)

var killStride = flag.Int("kill-stride", 1, "kill the container deployer at every so manieth write only")

// TestSoakKillNineAfterEachWrite runs the deployer as a process, which is killed after its first write to whichever API server in the life of an item, and
// in the next life after the second one, until there are no more. Two jobs and the deletion run the container once each all the same, the state
// counts them, and nothing is left.
func TestSoakKillNineAfterEachWrite(t *testing.T) {
	s := prepare(t)
	gate, kubeconfig := s.gate()
	program, err := rig.Start(s.p.Cluster, s.kubelet.program, rig.ContainerDeployer, kubeconfig, "--identity="+s.options.Identity,
		"--watch-namespaces="+s.namespace, "--host-namespace="+s.host, "--sidecar-image="+sidecarImage.Image)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last lines of the deployer:\n%s", program.LogTail(30))
		}
		assert.NoError(t, program.Stop(10*time.Second))
	})
	gate.Program = program
	require.NoError(t, program.AwaitReady(t.Context()))

	began := time.Now()
	for n := 1; n <= mostWrites; n += *killStride {
		gate.Arm(n, rig.AfterWrite)
		s.live(n, gate)
		fired, writes, err := gate.Result()
		require.NoError(t, err)
		if fired == "" {
			require.Greater(t, writes, 20, "writes of a life")
			t.Logf("died after each of %d writes in %s", writes, time.Since(began))
			return
		}
	}
	require.Fail(t, "too many writes", "more than %d for one item", mostWrites)
}

// gate stands between the deployer and the API server; kubeconfig leads through it.
func (s *served) gate() (gate *rig.Gate, kubeconfig []byte) {
	s.t.Helper()
	gate = &rig.Gate{}
	through, closeAll, err := rig.Through(s.p.RestConfig, gate.Handler)
	require.NoError(s.t, err)
	s.t.Cleanup(closeAll)
	kubeconfig, err = platform.KubeconfigFor(through)
	require.NoError(s.t, err)
	return gate, kubeconfig
}

// live takes an item from its first job to its deletion.
func (s *served) live(n int, gate *rig.Gate) {
	t := s.t
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	item := s.item(fmt.Sprintf("item-%d", n), script("echo $OPERATION >> "+log+`
n=$(cat "$STATE_PATH/n" 2>/dev/null || echo 0); echo $((n+1)) > "$STATE_PATH/n"; echo "runs: $((n+1))" > "$EXPORTS_PATH"`))
	require.NoError(t, s.p.Client().Create(t.Context(), item))
	for _, step := range []string{"first job", "second job", "deletion"} {
		if step == "deletion" {
			require.NoError(t, s.p.Client().Delete(t.Context(), item))
		}
		s.begin(item)
		if !assert.Eventually(t, func() bool { return s.isDone(item) }, lifeTime, 20*time.Millisecond) {
			fired, _, err := gate.Result()
			require.Fail(t, "a step did not end", "%s with a death after write %d (%s, %v): %v", step, n, fired, err, s.left())
		}
		if step == "second job" {
			require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(item), item))
			assert.JSONEq(t, `{"runs": 2}`, s.exports(item), "death after write %d", n)
		}
	}
	runs, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "RECONCILE\nRECONCILE\nDELETE\n", string(runs), "death after write %d", n)
	require.Empty(t, s.left(), "death after write %d", n)
}

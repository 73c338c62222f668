// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/mortal"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// mortalHost is the host cluster for a process that dies when its life there ends.
func mortalHost(t *testing.T, life *mortal.Life, host *target.Cluster) *target.Cluster {
	t.Helper()
	direct, err := client.NewWithWatch(host.Config, client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	dying := *host
	dying.Client = life.Client(direct)
	return &dying
}

// TestDeathAfterEachWrite ends the process after each write to the host cluster, from the first job to the deletion, and starts another one: the
// container runs once for each job all the same, its state counts each run, and nothing is left in the end.
func TestDeathAfterEachWrite(t *testing.T) {
	for _, stage := range []string{"first job", "second job", "deletion"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			for writes := 1; ; writes++ {
				if !s.dieIn(stage, writes) {
					require.Greater(t, writes, 3, "the stage has writes")
					return
				}
			}
		})
	}
}

// dieIn takes an item through its life and lets the process die in a stage. It returns false where the stage has fewer writes.
func (s *served) dieIn(stage string, writes int) bool {
	t, host := s.t, s.options.Host
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	item := s.item(fmt.Sprintf("item-%d", writes), script("echo $OPERATION >> "+log+`
n=$(cat "$STATE_PATH/n" 2>/dev/null || echo 0); echo $((n+1)) > "$STATE_PATH/n"; echo "n: $((n+1))" > "$EXPORTS_PATH"`))
	require.NoError(t, s.p.Client().Create(t.Context(), item))
	hasDied := false
	for _, name := range []string{"first job", "second job", "deletion"} {
		life := &mortal.Life{}
		if name == stage {
			life.Arm(writes, true)
			s.restart(mortalHost(t, life, host))
		}
		if name == "deletion" {
			require.NoError(t, s.p.Client().Delete(t.Context(), item))
		}
		s.begin(item)
		require.Eventually(t, func() bool { return life.IsDead() || s.isDone(item) }, pace.Within(10*time.Second), 10*time.Millisecond)
		if name == stage {
			hasDied = life.IsDead()
			s.restart(host)
		}
		require.Eventually(t, func() bool { return s.isDone(item) }, pace.Within(10*time.Second), 10*time.Millisecond, "death after write %d of the %s: %v", writes, stage, s.left())
	}
	runs, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "RECONCILE\nRECONCILE\nDELETE\n", string(runs), "death after write %d of the %s", writes, stage)
	assert.Empty(t, s.left())
	return hasDied
}

// restart starts the deployer anew with another way to the host cluster.
func (s *served) restart(host *target.Cluster) {
	s.stop()
	s.options.Host = host
	s.start()
}

// isDone reports whether the job of an item has ended well and what only this job needed is gone; or all of it together with the item.
func (s *served) isDone(item *v1alpha1.DeployItem) bool {
	s.t.Helper()
	err := s.p.Client().Get(s.t.Context(), client.ObjectKeyFromObject(item), item)
	if apierrors.IsNotFound(err) {
		return len(s.left()) == 0
	}
	require.NoError(s.t, err)
	if !isOver(item) || item.DeletionTimestamp != nil {
		return false
	}
	require.Equal(s.t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v", item.Status.LastError)
	for _, name := range s.left()["Secret"] {
		if !strings.HasPrefix(name, "state-") {
			return false
		}
	}
	return len(s.left()["Pod"]) == 0
}

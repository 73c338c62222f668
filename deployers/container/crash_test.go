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

// stages are the jobs in the life of an item.
var stages = []string{"first job", "second job", "deletion"}

// TestDeathAfterEachWrite ends the process after the first write to the host cluster in each job of an item, in the life of the next item after the second
// one, and so on until no job has as many, and each time starts another one: the container runs once for each job all the same, its state counts each run,
// and nothing is left in the end.
func TestDeathAfterEachWrite(t *testing.T) {
	s, deaths := serve(t), map[string]int{}
	for writes := 1; s.dieAfter(writes, deaths); writes++ {
		require.Less(t, writes, 100)
	}
	for _, stage := range stages {
		assert.Greater(t, deaths[stage], 2, "the %s has writes", stage)
	}
}

// dieAfter takes an item through its life and lets the process die after so many writes in each job that has had one less in the life before. It returns
// false where none has as many.
func (s *served) dieAfter(writes int, deaths map[string]int) (hasDied bool) {
	t, host := s.t, s.options.Host
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	item := s.item(fmt.Sprintf("item-%d", writes), script("echo $OPERATION >> "+log+`
n=$(cat "$STATE_PATH/n" 2>/dev/null || echo 0); echo $((n+1)) > "$STATE_PATH/n"; echo "n: $((n+1))" > "$EXPORTS_PATH"`))
	require.NoError(t, s.p.Client().Create(t.Context(), item))
	for _, stage := range stages {
		life, isMortal := &mortal.Life{}, deaths[stage] == writes-1
		if isMortal {
			life.Arm(writes, true)
			s.restart(mortalHost(t, life, host))
		}
		if stage == "deletion" {
			require.NoError(t, s.p.Client().Delete(t.Context(), item))
		}
		s.begin(item)
		require.Eventually(t, func() bool { return life.IsDead() || s.isDone(item) }, pace.Within(10*time.Second), 10*time.Millisecond)
		if isMortal {
			if life.IsDead() {
				deaths[stage], hasDied = writes, true
			}
			s.restart(host)
		}
		require.Eventually(t, func() bool { return s.isDone(item) }, pace.Within(10*time.Second), 10*time.Millisecond, "death after write %d of the %s: %v", writes, stage, s.left())
	}
	runs, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "RECONCILE\nRECONCILE\nDELETE\n", string(runs), "death after write %d of each job", writes)
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

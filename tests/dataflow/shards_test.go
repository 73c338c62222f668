// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// shard starts a controller that brings on what has the label of the scene's shard. The controller that all tests share brings on the rest.
func (s *scene) shard() {
	s.T.Helper()
	landscape.Run(s.Ctx, s.T, s.Cluster, s.shardUser(), landscape.AllRights, "controller",
		"--watch-label-selector="+protocol.ShardLabel+"="+s.shardName(), "--log-level=info")
}

func (s *scene) shardName() string { return s.Namespace[len(s.Namespace)-5:] }

func (s *scene) shardUser() string { return "controller-of-" + s.shardName() }

// installInShard applies an Installation of the scene's shard that runs at every change.
func (s *scene) installInShard(name string, spec object) {
	s.T.Helper()
	s.Put("Installation", name, object{"metadata": object{
		"annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"}, "labels": object{protocol.ShardLabel: s.shardName()},
	}, "spec": s.here(spec)})
}

// workersOn returns which of the two controllers wrote Installations and Executions since a moment.
func (s *scene) workersOn(since time.Time, names ...string) []string {
	s.T.Helper()
	requests, err := s.Requests(s.Ctx, since)
	require.NoError(s.T, err)
	wanted, users := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	for _, request := range requests {
		ours := request.User == s.shardUser() || request.User == landscape.Controller
		if ours && request.Writes() && request.Namespace == s.Namespace && wanted[request.Name] && request.Resource != "events" {
			users[request.User] = true
		}
	}
	return keys(users)
}

func TestE09DataTargetsAndOrderCrossShards(t *testing.T) {
	s := newScene(t)
	s.shard()
	s.Put("Target", "cluster", object{
		"metadata": object{"labels": object{"kustomize.toolkit.fluxcd.io/name": "apps"}},
		"spec":     object{"type": clusterType, "config": object{"kubeconfig": s.DeployerAccess()}},
	})
	target := &v1alpha1.Target{ObjectMeta: s.Named("cluster")}
	begun := time.Now()
	s.installInShard("one", producer("one", "v1", ""))
	s.install("two", consumer("one", "two", "two"))
	s.installInShard("three", consumer("two", "three", "three"))
	s.succeeded("three")
	assert.Equal(t, "v1-x", s.configValue("three"))
	s.RequireJobs(1, "one", "two", "three")
	assert.Equal(t, []string{s.shardUser()}, s.workersOn(begun, "one", "three"))
	assert.Equal(t, []string{landscape.Controller}, s.workersOn(begun, "two"))

	s.installInShard("one", producer("one", "v2", ""))
	s.AwaitState("three", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() && s.value("three") == `"v2-x-x"` })
	s.RequireJobs(2, "one", "two", "three")

	s.held(target)
	s.Delete(target)
	s.Delete(s.Installation("two"))
	s.Delete(s.Installation("one"))
	s.Delete(s.Installation("three"))
	s.Gone(s.Installation("one"), s.Installation("two"), s.Installation("three"), s.config("two"), s.config("three"), target)
	assert.Equal(t, []string{"three", "two", "one"}, s.goneInOrder(3))
}

func TestE09AnInstallationMovesBetweenShards(t *testing.T) {
	s := newScene(t)
	s.shard()
	s.Target("cluster")
	s.data("base", "cm")
	s.install("root", named("names", namer("one", "base", "-x")))
	s.succeeded("root")

	s.label("root", `"`+s.shardName()+`"`)
	s.awaitShard(s.shardName())
	s.RequireJobs(1, "root", s.Child("root", "one").Name)
	s.RequireStandstill()
	begun := time.Now()
	s.data("base", "changed")
	s.reconcile("root")
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && len(s.Witness.Jobs(s.Namespace, "root")) == 2
	})
	assert.ElementsMatch(t, []string{"changed"}, keys(s.configs()))
	assert.Equal(t, []string{s.shardUser()}, s.workersOn(begun, "root", s.Child("root", "one").Name))

	s.label("root", "null")
	s.awaitShard("")
	begun = time.Now()
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"), s.config("changed"))
	assert.Equal(t, []string{landscape.Controller}, s.workersOn(begun, "root"))
}

// label moves an Installation to a shard, or out of all with null.
func (s *scene) label(name, shard string) {
	s.T.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, protocol.ShardLabel, shard)
	require.NoError(s.T, s.Client().Patch(s.Ctx, s.Installation(name), client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// awaitShard waits until everything in the namespace has followed.
func (s *scene) awaitShard(shard string) {
	s.T.Helper()
	require.Eventually(s.T, func() bool {
		for _, all := range []client.ObjectList{&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}} {
			require.NoError(s.T, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace)))
			follows := meta.EachListItem(all, func(one runtime.Object) error {
				if got := one.(client.Object).GetLabels()[protocol.ShardLabel]; got != shard {
					return fmt.Errorf("is in shard %q", got)
				}
				return nil
			})
			if follows != nil {
				return false
			}
		}
		return true
	}, landscapePatience, tick)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// healed is within which time both sides have to agree after a partition.
const healed = 10 * time.Second

// lasting is how long partitions last beyond the moment that the agent has noticed them: go test ./tests/e2e/agent -run Partitions -args -lasting 5m.
var lasting = flag.Duration("lasting", 0, "how long partitions last that TestPartitionsOnlyDelay makes, beyond the moment that the agent has noticed them")

// last waits as long as a partition lasts. Meanwhile the agent neither ends nor gets unready.
func (s *scene) last(agent *member) {
	s.t.Helper()
	for end := time.Now().Add(*lasting); time.Now().Before(end); time.Sleep(min(time.Second, time.Until(end))) {
		require.True(s.t, agent.isReady(), "a partition does not restart the agent")
	}
}

// requireWaits checks that the landscaper cluster shows what a partition longer than a lease means for an Installation: it waits, and has not failed.
func (s *scene) requireWaits(name string) {
	s.t.Helper()
	if *lasting <= lease {
		return
	}
	assert.Equal(s.t, "AgentUnreachable", conditions.GetReason(s.registered(), v1alpha1.AgentConnectedCondition))
	installation := &v1alpha1.Installation{}
	require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: s.home(), Name: name}, installation))
	assert.True(s.t, conditions.IsReconciling(installation), "%+v", installation.Status.Conditions)
	assert.False(s.t, conditions.IsStalled(installation), "%+v", installation.Status.Conditions)
	assert.False(s.t, installation.Status.IsIdle())
	assert.NotContains(s.t, []v1alpha1.Phase{v1alpha1.PhaseFailed, v1alpha1.PhaseDeleteFailed}, installation.Status.Phase)
}

// settings is the config of a helm item that makes a ConfigMap behind the fence.
func settings(t testing.TB, name, text string) string {
	t.Helper()
	return settingsWith(t, name, text, "")
}

// settingsWith is settings with more metadata of the ConfigMap.
func settingsWith(t testing.TB, name, text, more string) string {
	t.Helper()
	return chartItem(t, name, "text: "+text+"\n", map[string]string{
		"templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}" + more + "}\ndata: {text: {{ .Values.text }}}\n",
	})
}

// lease is for how long a sign of life of an agent counts.
const lease = 45 * time.Second

// managed waits until the landscaper cluster has made the Target of the fenced one.
func (s *scene) managed() {
	s.t.Helper()
	require.NoError(s.t, s.Await(s.ctx, &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: s.environment}}, func() bool { return true }))
}

// deploy applies an Installation that makes a ConfigMap of its name behind the fence.
func (s *scene) deploy(name, text string) {
	s.t.Helper()
	s.install(s.home(), name, v1alpha1.HelmDeployItemType, settings(s.t, name, text), map[string]string{"cluster": s.environment})
}

// remove deletes an Installation.
func (s *scene) remove(name string) *v1alpha1.Installation {
	s.t.Helper()
	installation := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: name}}
	require.NoError(s.t, s.Client().Delete(s.ctx, installation))
	return installation
}

// revisions are those of a Helm release behind the fence.
func (s *scene) revisions(name string) []string {
	s.t.Helper()
	list := &corev1.SecretList{}
	require.NoError(s.t, s.fence.Client().List(s.ctx, list, client.InNamespace(system), client.MatchingLabels{"owner": "helm", "name": name}))
	var found []string
	for _, secret := range list.Items {
		found = append(found, secret.Labels["version"])
	}
	slices.Sort(found)
	return found
}

// uid reports whether a ConfigMap behind the fence is the same one as before; it is empty where there is none.
func (s *scene) uid(name string) types.UID {
	s.t.Helper()
	found := &corev1.ConfigMap{}
	err := s.fence.Client().Get(s.ctx, client.ObjectKey{Namespace: system, Name: name}, found)
	if !apierrors.IsNotFound(err) {
		require.NoError(s.t, err)
	}
	return found.UID
}

// through lets the way to the landscaper cluster be cut while something is under way, and checks how soon that is done once the way is whole.
func (s *scene) through(agent *member, way faults.WireMode, name string, begin, await func()) {
	s.t.Helper()
	s.centre.Become(way)
	agent.awaitConnected(false)
	begin()
	assert.True(s.t, agent.isReady(), "a partition does not restart the agent")
	s.last(agent)
	s.requireWaits(name)
	s.centre.Become(faults.Whole)
	began := time.Now()
	await()
	took := time.Since(began)
	s.t.Logf("done %s after the partition has healed", took)
	assert.Less(s.t, took, pace.Within(healed))
	agent.awaitConnected(true)
	assert.True(s.t, agent.Running())
}

// partitionStages has an Installation come, change and go, each through a partition.
func (s *scene) partitionStages(agent *member, way faults.WireMode) {
	name := "settings-" + s.environment
	s.t.Log("install")
	s.through(agent, way, name, func() { s.deploy(name, "first") }, func() { s.succeeded(s.home(), name) })
	assert.Equal(s.t, []string{"1"}, s.revisions(name), "it was installed once")
	installed := s.uid(name)
	require.NotEmpty(s.t, installed)
	s.t.Log("upgrade")
	s.through(agent, way, name, func() {
		s.deploy(name, "second")
		assert.Equal(s.t, "first", s.configMap(name)["text"])
	}, func() { s.succeeded(s.home(), name) })
	assert.Equal(s.t, "second", s.configMap(name)["text"])
	assert.Equal(s.t, []string{"1", "2"}, s.revisions(name), "it was upgraded once")
	assert.Equal(s.t, installed, s.uid(name), "nothing was deleted")
	s.t.Log("delete")
	var removed *v1alpha1.Installation
	s.through(agent, way, name, func() {
		removed = s.remove(name)
		assert.Equal(s.t, installed, s.uid(name))
	}, func() { require.NoError(s.t, s.AwaitGone(s.ctx, removed)) })
	assert.Empty(s.t, s.uid(name))
	assert.Empty(s.t, s.revisions(name))
}

// underWay cuts the way while a job is at work, for a time that is too short for anybody to be told, or as long as partitions last: of an installation,
// and of an upgrade.
func (s *scene) underWay(agent *member, way faults.WireMode) {
	name := "brief-" + s.environment
	var wants []string
	for i, text := range []string{"first", "second"} {
		wants = append(wants, strconv.Itoa(i+1))
		s.deploy(name, text)
		require.Eventually(s.t, func() bool { return len(s.revisions(name)) == len(wants) }, patience, time.Millisecond)
		s.centre.Become(way)
		time.Sleep(time.Second)
		s.last(agent)
		s.centre.Become(faults.Whole)
		began := time.Now()
		s.succeeded(s.home(), name)
		took := time.Since(began)
		s.t.Logf("done %s after a partition in the middle has healed", took)
		assert.Less(s.t, took, pace.Within(healed))
		assert.Equal(s.t, wants, s.revisions(name), "nothing was done twice")
		assert.Equal(s.t, text, s.configMap(name)["text"])
		agent.awaitConnected(true)
	}
}

// deletionUnderWay cuts the way when the release is half uninstalled. The rest of it goes behind the fence meanwhile, or once the way is whole.
func (s *scene) deletionUnderWay(agent *member, way faults.WireMode) {
	name := "kept-" + s.environment
	config := settingsWith(s.t, name, "first", ", finalizers: [example.com/keep]")
	s.install(s.home(), name, v1alpha1.HelmDeployItemType, config, map[string]string{"cluster": s.environment})
	s.succeeded(s.home(), name)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}}
	removed := s.remove(name)
	require.NoError(s.t, s.fence.Await(s.ctx, kept, func() bool { return !kept.DeletionTimestamp.IsZero() }))
	s.through(agent, way, name, func() {
		let := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
		require.NoError(s.t, s.fence.Client().Patch(s.ctx, kept, let))
	}, func() { require.NoError(s.t, s.AwaitGone(s.ctx, removed)) })
	assert.Empty(s.t, s.uid(name))
	assert.Empty(s.t, s.revisions(name))
}

// enrolLate cuts the way before an agent with a bootstrap token has reached anybody, for long enough that it would try less and less often.
func (s *scene) enrolLate(way faults.WireMode) {
	path, _ := s.bootstrap()
	s.centre.Become(way)
	agent := s.start(s.environment+"-agent", s.account, s.enrolArgs(path)...)
	require.Eventually(s.t, func() bool { return s.hasEvent("EnrolmentWaits", "") }, patience, 100*time.Millisecond)
	for end := time.Now().Add(10*time.Second + *lasting); time.Now().Before(end); time.Sleep(time.Second) {
		require.True(s.t, agent.Running())
		require.False(s.t, agent.isReady())
	}
	s.centre.Become(faults.Whole)
	began := time.Now()
	agent.awaitReady()
	took := time.Since(began)
	s.t.Logf("enrolled %s after the partition has healed", took)
	assert.Less(s.t, took, pace.Within(healed))
	assert.False(s.t, s.hasEvent("BootstrapTokenRefused", ""), "nobody has refused anything")
}

func TestOfTwoAgentsOnlyTheOneThatHoldsTheEnvironmentWorks(t *testing.T) {
	t.Parallel()
	s := newScene(t, "twin")
	first := s.startAgent()
	account := s.hostObjects()[0]
	require.NoError(t, s.fence.Client().Get(s.ctx, client.ObjectKeyFromObject(account), account))
	kept := account.GetUID()
	args := s.agentArgs()
	args[2] = "--landscaper-kubeconfig=" + s.kubeconfig("other-way", s.RestConfig.Host, s.RestConfig.CAData, s.token)
	second := s.start("twin-second", s.account, args...)
	require.Eventually(t, func() bool { return s.hasEvent("AgentStandsBy", `"twin-agent"`) }, patience, 50*time.Millisecond)
	assert.False(t, second.isReady())

	s.centre.Become(faults.Blackhole)
	began := time.Now()
	second.awaitReady()
	took := time.Since(began)
	t.Logf("the second agent has taken the Environment over after %s", took)
	assert.Greater(t, took, lease-20*time.Second, "the first one may still work until its Lease ends")
	assert.Less(t, took, pace.Within(2*lease))
	s.centre.Become(faults.Whole)
	require.Eventually(t, func() bool { return !first.Running() }, pace.Within(healed), 50*time.Millisecond, "the first one finds another one at work")
	require.Error(t, first.Err())
	assert.Contains(t, first.LogTail(20), `another agent, "twin-second", holds the Environment`)
	require.NoError(t, first.Restart())
	require.Eventually(t, func() bool { return s.hasEvent("AgentStandsBy", `"twin-second"`) }, patience, 50*time.Millisecond)
	assert.False(t, first.isReady())
	assert.True(t, second.isReady())
	require.NoError(t, s.fence.Client().Get(s.ctx, client.ObjectKeyFromObject(account), account))
	assert.Equal(t, kept, account.GetUID(), "nothing was deleted")
}

func TestPartitionsOnlyDelay(t *testing.T) {
	t.Parallel()
	centre := newScene(t, "parted")
	centre.startController("--deployer-management")
	for name, way := range map[string]faults.WireMode{"reset": faults.Reset, "blackhole": faults.Blackhole, "half-open": faults.HalfOpen} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "parted-"+name)
			agent := s.startAgent()
			s.managed()
			s.partitionStages(agent, way)
			s.underWay(agent, way)
		})
		t.Run("deletion-"+name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "parted-deletion-"+name)
			agent := s.startAgent()
			s.managed()
			s.deletionUnderWay(agent, way)
		})
		t.Run("enrolment-"+name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "parted-enrolment-"+name)
			s.enrolLate(way)
		})
	}
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "parted-slow")
		agent := s.startAgent()
		s.managed()
		s.centre.Become(faults.Slow)
		const name = "settings-parted-slow"
		s.deploy(name, "first")
		s.succeeded(s.home(), name)
		assert.Equal(t, []string{"1"}, s.revisions(name))
		installed := s.uid(name)
		s.deploy(name, "second")
		s.succeeded(s.home(), name)
		assert.Equal(t, "second", s.configMap(name)["text"])
		assert.Equal(t, []string{"1", "2"}, s.revisions(name))
		assert.Equal(t, installed, s.uid(name))
		require.NoError(t, s.AwaitGone(s.ctx, s.remove(name)))
		assert.Empty(t, s.uid(name))
		agent.awaitConnected(true)
		assert.False(t, s.hasEvent("AgentDisconnected", ""), "a slow way is no partition")
	})
	t.Run("a new agent over a slow way", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "parted-far")
		s.centre.Become(faults.Slow)
		s.startAgent().awaitConnected(true)
	})
	t.Run("shown", func(t *testing.T) {
		t.Parallel()
		s := newScene(t, "parted-shown")
		agent := s.startAgent()
		s.awaitEnvironment(isConnected)
		s.centre.Become(faults.HalfOpen)
		began := time.Now()
		s.awaitEnvironment(func(env *v1alpha1.Environment) bool {
			return conditions.GetReason(env, v1alpha1.AgentConnectedCondition) == "AgentUnreachable"
		})
		took := time.Since(began)
		t.Logf("the landscaper cluster has shown the partition after %s", took)
		assert.Less(t, took, pace.Within(2*lease))
		s.centre.Become(faults.Whole)
		began = time.Now()
		s.awaitEnvironment(isConnected)
		assert.Less(t, time.Since(began), pace.Within(healed))
		agent.awaitConnected(true)
	})
}

func isConnected(env *v1alpha1.Environment) bool {
	return conditions.IsTrue(env, v1alpha1.AgentConnectedCondition)
}

func TestAgentStartsWithoutTheLandscaperCluster(t *testing.T) {
	s := newScene(t, "early")
	s.centre.Become(faults.Reset)
	agent := s.start("early-agent", s.account, s.agentArgs()...)
	agent.awaitConnected(false)
	s.awaitHost(true)
	assert.False(t, agent.isReady(), "nothing is registered")
	s.centre.Become(faults.Whole)
	agent.awaitReady()
}

func TestNewCredentialsAreUsedWithoutARestart(t *testing.T) {
	s := newScene(t, "renewed")
	good := s.token
	s.token = "expired"
	agent := s.start("renewed-agent", s.account, s.agentArgs()...)
	agent.awaitConnected(false)
	require.Eventually(t, func() bool { return s.hasEvent("AgentDisconnected", "renew its kubeconfig") }, patience, 50*time.Millisecond)
	s.token = good
	path := filepath.Join(s.dir, "landscaper.kubeconfig")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	s.kubeconfig("landscaper", "https://"+s.centre.Address, s.RestConfig.CAData, good)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	agent.awaitReady()
}

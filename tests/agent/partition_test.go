// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// healed is within which time both sides have to agree after a partition.
const healed = 10 * time.Second

// settings is the config of a helm item that makes a ConfigMap behind the fence.
func settings(t *testing.T, name, text string) string {
	t.Helper()
	return chartItem(t, name, "text: "+text+"\n", map[string]string{
		"templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {text: {{ .Values.text }}}\n",
	})
}

func TestPartitionsOnlyDelay(t *testing.T) {
	s := newScene(t, "parted")
	s.startController()
	agent := s.startAgent()
	s.hostTarget()
	for name, way := range map[string]platform.WireMode{"reset": platform.Reset, "blackhole": platform.Blackhole} {
		t.Run(name, func(t *testing.T) {
			s.install(s.home(), name, v1alpha1.HelmDeployItemType, settings(t, name, "before"), map[string]string{"cluster": "parted"})
			s.succeeded(s.home(), name)
			s.centre.Become(way)
			agent.awaitConnected(false)
			assert.True(t, agent.isReady(), "a partition does not restart the agent")
			s.install(s.home(), name, v1alpha1.HelmDeployItemType, settings(t, name, "after"), map[string]string{"cluster": "parted"})
			assert.Equal(t, "before", s.configMap(name)["text"])
			s.centre.Become(platform.Whole)
			began := time.Now()
			s.succeeded(s.home(), name)
			took := time.Since(began)
			t.Logf("the job of a partition by %s has succeeded %s after it healed", name, took)
			assert.Less(t, took, healed)
			assert.Equal(t, "after", s.configMap(name)["text"])
			agent.awaitConnected(true)
			assert.True(t, agent.Running())
		})
	}
}

func TestAgentStartsWithoutTheLandscaperCluster(t *testing.T) {
	s := newScene(t, "early")
	s.centre.Become(platform.Reset)
	agent := s.start("early-agent", "landscaper-agent", s.agentArgs()...)
	agent.awaitConnected(false)
	s.awaitHost(true)
	assert.False(t, agent.isReady(), "nothing is registered")
	s.centre.Become(platform.Whole)
	agent.awaitReady()
}

func TestNewCredentialsAreUsedWithoutARestart(t *testing.T) {
	s := newScene(t, "renewed")
	good := s.token
	s.token = "expired"
	agent := s.start("renewed-agent", "landscaper-agent", s.agentArgs()...)
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

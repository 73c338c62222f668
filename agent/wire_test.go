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
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Controllers of this release and of others read what the files in testdata hold, and agents of several releases write it to one object in turn. Who has to
// change a file adds one beside it, with which tests/e2e/environments runs, too, and keeps the former for two releases.
func requireWire(t *testing.T, file string, written any) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	have, err := yaml.Marshal(written)
	require.NoError(t, err)
	require.YAMLEq(t, string(want), string(have))
}

// wired is the part of an agent that writes its Environment, as the configuration file in testdata says.
func wired(t *testing.T) *environment {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "configuration.yaml"))
	require.NoError(t, err)
	config, unknown, err := ReadConfiguration(text)
	require.NoError(t, err)
	require.Empty(t, unknown)
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["a"] = &clientcmdapi.Cluster{Server: "https://landscaper.example.com"}
	kubeconfig.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: "secret"}
	kubeconfig.Contexts["a"], kubeconfig.CurrentContext = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}, "a"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*kubeconfig, path))
	link, err := OpenLink(path)
	require.NoError(t, err)
	return &environment{config: config, link: link}
}

func TestTheEnvironmentIsWrittenAsByFormerAgents(t *testing.T) {
	e := wired(t)
	content, err := e.apply(false)
	require.NoError(t, err)
	requireWire(t, "environment.yaml", content.Object)

	text, err := os.ReadFile(filepath.Join("testdata", "environment.yaml"))
	require.NoError(t, err)
	former := &v1alpha1.Environment{}
	require.NoError(t, yaml.UnmarshalStrict(text, former))
	assert.True(t, e.isWanted(former), "agents of two releases do not write it in turn")
}

func TestTheLeaseIsWrittenAsByFormerAgents(t *testing.T) {
	h := newHolder(nil, wired(t).config.leaseName(), "landscaper-agent-north-0", "v1.2.3",
		func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC) })
	lease := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: metav1.ObjectMeta{Name: h.Name}}
	h.fill(lease)
	requireWire(t, "lease.yaml", lease)
}

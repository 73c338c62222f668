// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestConfiguration(t *testing.T) {
	config, err := DecodeConfiguration([]byte(`{"image":"alpine","command":["sh"],"args":["-c"],"importValues":"abc",
		"blueprint":{"ref":{"resourceName":"b"}},"registryPullSecrets":[{"name":"s","namespace":"n"}]}`))
	require.NoError(t, err)
	assert.Equal(t, "alpine", config.Image)
	assert.JSONEq(t, `"abc"`, string(config.ImportValues.RawMessage))
	assert.Equal(t, "b", config.Blueprint.Reference.ResourceName)
	assert.Equal(t, []landscaper.ObjectReference{{Name: "s", Namespace: "n"}}, config.RegistryPullSecrets)
}

func TestKeysAreCaseSensitive(t *testing.T) {
	config, err := DecodeConfiguration([]byte(`{"Image":"alpine"}`))
	require.NoError(t, err)
	assert.Empty(t, config.Image)
}

func TestWrongTypeNamesTheField(t *testing.T) {
	_, err := DecodeConfiguration([]byte(`{"command":"sh"}`))
	assert.ErrorContains(t, err, "command: is a JSON string")
}

func TestStatusIsReadAsWritten(t *testing.T) {
	code := int32(1)
	status := &ProviderStatus{
		LastOperation: OperationDelete,
		PodStatus:     &PodStatus{PodName: "p", ContainerStatus: ContainerStatus{ExitCode: &code}},
	}
	written, err := EncodeStatus(status)
	require.NoError(t, err)
	read, err := DecodeStatus(written.Raw)
	require.NoError(t, err)
	assert.Equal(t, ProviderStatusKind, read.Kind)
	assert.Equal(t, status.PodStatus, read.PodStatus)
	assert.Equal(t, status.LastOperation, read.LastOperation)
}

func TestEmptyStatus(t *testing.T) {
	status, err := DecodeStatus(nil)
	require.NoError(t, err)
	assert.Empty(t, status.LastOperation)
}

func TestConfigurationFile(t *testing.T) {
	config, err := DecodeFileConfiguration([]byte(`{"identity":"me","controller":{"workers":30,"cacheSyncTimeout":"2m"},"debug":{"keepPod":true},
		"garbageCollection":{"worker":2}}`))
	require.NoError(t, err)
	assert.Equal(t, "me", config.Identity)
	assert.Equal(t, 30, config.Controller.Workers)
	assert.True(t, config.DebugOptions.KeepPod)
	assert.Equal(t, DefaultNamespace, config.Namespace)
	assert.Equal(t, DefaultImage, config.DefaultImage.Image)
	assert.Equal(t, 2, config.GarbageCollection.Worker)
	assert.Equal(t, DefaultGarbageCollectionSeconds, config.GarbageCollection.RequeueTimeSeconds)
}

func TestContainerItemsOfTheCorpus(t *testing.T) {
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "examples", "deploy-items", "3?-DeployItem-Container-*.yaml"))
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skipf("THE CORPUS IS NOT HERE: nothing in %s; set FLUX_LANDSCAPER_CORPUS to its folder", dir)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			var item landscaper.DeployItem
			require.NoError(t, yaml.Unmarshal(raw, &item))
			config, err := DecodeConfiguration(item.Spec.Configuration.Raw)
			require.NoError(t, err)
			assert.Equal(t, "alpine", config.Image)
			assert.Equal(t, []string{"sh", "-c"}, config.Command)
		})
	}
}

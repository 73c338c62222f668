// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func ensure(t *testing.T, config string) (contract.Outcome, error) {
	t.Helper()
	item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Configuration: &runtime.RawExtension{Raw: []byte(config)}}}
	return Deployer{}.Ensure(t.Context(), &contract.Item{DeployItem: item})
}

func TestPhases(t *testing.T) {
	tests := map[string]struct {
		config         string
		done, fails    bool
		waitsSomewhere bool
	}{
		"nothing":              {config: `{}`, done: true},
		"success":              {config: `{"phase":"Succeeded"}`, done: true},
		"failure":              {config: `{"phase":"Failed"}`, fails: true},
		"failed deletion":      {config: `{"phase":"DeleteFailed"}`, fails: true},
		"in between":           {config: `{"phase":"Init"}`, waitsSomewhere: true},
		"initial phase":        {config: `{"initialPhase":"Progressing"}`, waitsSomewhere: true},
		"phase before initial": {config: `{"initialPhase":"Progressing","phase":"Succeeded"}`, done: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			outcome, err := ensure(t, test.config)
			assert.Equal(t, test.done, outcome.Done)
			assert.Equal(t, test.waitsSomewhere, outcome.Waiting != "")
			assert.Equal(t, test.fails, err != nil && protocol.AsFailure("", err).Kind == protocol.Stalled)
		})
	}
}

func TestProviderStatusAndExport(t *testing.T) {
	outcome, err := ensure(t, `{"apiVersion":"mock.deployer.landscaper.gardener.cloud/v1alpha1","kind":"ProviderConfiguration",
		"providerStatus":{"seen":true},"export":{"big":9007199254740993,"nested":{"a":[1]}}}`)
	require.NoError(t, err)
	assert.JSONEq(t, `{"seen":true}`, string(outcome.ProviderStatus.Raw))
	assert.Equal(t, map[string]any{"big": int64(9007199254740993), "nested": map[string]any{"a": []any{int64(1)}}}, outcome.Exports)
}

func TestWithoutExportNothingIsExported(t *testing.T) {
	outcome, err := ensure(t, `{"export":null}`)
	require.NoError(t, err)
	assert.Nil(t, outcome.Exports)
}

func TestUnreadableConfigurationIsTheUsersProblem(t *testing.T) {
	for name, config := range map[string]string{
		"wrong type":     `{"phase":7}`,
		"export a list":  `{"export":[]}`,
		"other kind":     `{"kind":"Other"}`,
		"other version":  `{"apiVersion":"helm.deployer.landscaper.gardener.cloud/v1alpha1"}`,
		"no JSON at all": `{`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ensure(t, config)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
		})
	}
}

func TestDeleteHasNothingToDo(t *testing.T) {
	outcome, err := Deployer{}.Delete(t.Context(), &contract.Item{})
	require.NoError(t, err)
	assert.True(t, outcome.Done)
}

func TestMockItemOfTheCorpus(t *testing.T) {
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "examples", "deploy-items", "10-DeployItem-Mock.yaml"))
	if err != nil {
		t.Skipf("THE CORPUS IS NOT HERE: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	var item v1alpha1.DeployItem
	require.NoError(t, yaml.Unmarshal(raw, &item))
	outcome, err := Deployer{}.Ensure(t.Context(), &contract.Item{DeployItem: &item})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"key2": "val2"}, outcome.Exports)
	assert.JSONEq(t, `{"key1":"val1"}`, string(outcome.ProviderStatus.Raw))
}

// FuzzEnsure feeds arbitrary configurations: each is read or refused as the user's problem.
func FuzzEnsure(f *testing.F) {
	f.Add([]byte(`{"phase":"Succeeded","export":{"a":1},"providerStatus":{}}`))
	f.Add([]byte(`{"export":[]}`))
	f.Fuzz(func(t *testing.T, config []byte) {
		item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Configuration: &runtime.RawExtension{Raw: config}}}
		outcome, err := Deployer{}.Ensure(t.Context(), &contract.Item{DeployItem: item})
		if err != nil {
			require.Equal(t, protocol.Stalled, protocol.AsFailure("", err).Kind)
			return
		}
		require.True(t, outcome.Done || outcome.Waiting != "")
	})
}

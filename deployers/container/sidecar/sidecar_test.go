// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pod is the environment of a Pod whose volumes are folders.
func pod(t testing.TB) (Environment, map[string]string, string) {
	t.Helper()
	dir := t.TempDir()
	shared := filepath.Join(dir, "shared")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "internal"), 0o700))
	variables := map[string]string{
		ImportsPath: shared + "/imports/import.json", ExportsPath: shared + "/exports/values",
		ComponentDescriptorPath: shared + "/component_descriptor.json", TargetPath: shared + "/targets/target.json",
		ContentPath: shared + "/content", StatePath: shared + "/state",
		ConfigurationPath: dir + "/internal/configuration.json", TargetSourcePath: dir + "/targets/target.json",
		SupplyPath: dir + "/supply", StateSourcePath: dir + "/last", StateLimit: "2", StateBytes: "4000000",
	}
	require.NoError(t, os.WriteFile(variables[ConfigurationPath], []byte(`{"image": "a"}`), 0o600))
	return func(name string) string { return variables[name] }, variables, dir
}

func TestInitMakesEveryDirectory(t *testing.T) {
	env, variables, _ := pod(t)
	require.NoError(t, Init(env))
	require.NoError(t, Init(env), "it may run again")
	for _, file := range []string{ImportsPath, TargetPath} {
		assert.FileExists(t, variables[file])
	}
	assert.DirExists(t, filepath.Dir(variables[ExportsPath]))
	assert.DirExists(t, variables[StatePath])
	assert.DirExists(t, variables[ContentPath])
}

func TestInitJoinsThePiecesOfAnArchive(t *testing.T) {
	env, variables, _ := pod(t)
	packer := NewPacker(Limits{Bytes: 1 << 20, Packed: 1 << 20, Entries: 10})
	require.NoError(t, packer.AddFile(ComponentDescriptorFile, 0o600, []byte(`{"components": []}`)))
	require.NoError(t, packer.AddFile(ContentDirectory+"/deep/text", 0o600, []byte("hello")))
	packed, err := packer.Close()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(variables[SupplyPath], "..data"), 0o700))
	for i := range packed {
		require.NoError(t, os.WriteFile(filepath.Join(variables[SupplyPath], strings.Repeat("0", 5-len(digits(i)))+digits(i)), packed[i:i+1], 0o600))
	}
	require.NoError(t, Init(env))
	text, err := os.ReadFile(variables[ContentPath] + "/deep/text")
	require.NoError(t, err)
	assert.Equal(t, "hello", string(text))
	assert.FileExists(t, variables[ComponentDescriptorPath])
}

func digits(n int) string { raw, _ := json.Marshal(n); return string(raw) }

func TestInitSaysWhatIsWrongWithoutQuotingIt(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(t *testing.T, variables map[string]string)
		message string
	}{
		"no configuration": {func(t *testing.T, v map[string]string) { require.NoError(t, os.Remove(v[ConfigurationPath])) }, "read the provider configuration"},
		"broken configuration": {func(t *testing.T, v map[string]string) {
			require.NoError(t, os.WriteFile(v[ConfigurationPath], []byte(`hunter2`), 0o600))
		}, "read the provider configuration"},
		"broken state": {func(t *testing.T, v map[string]string) {
			require.NoError(t, os.MkdirAll(v[StateSourcePath], 0o700))
			require.NoError(t, os.WriteFile(v[StateSourcePath]+"/0", []byte(`hunter2`), 0o600))
		}, "unpack state"},
		"no environment": {func(_ *testing.T, v map[string]string) { delete(v, ContentPath) }, "CONTENT_PATH is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			env, variables, _ := pod(t)
			test.change(t, variables)
			err := Init(env)
			require.ErrorContains(t, err, test.message)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestWaitNeedsItsEnvironment(t *testing.T) {
	err := Wait(context.Background(), nil, func(string) string { return "" })
	assert.ErrorContains(t, err, "is not set; this command is started by the container deployer")
}

func TestExports(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, z]": `{"a": 1, "b": ["x", "z"]}`, `{"a": {"b": null}}`: `{"a": {"b": null}}`, "{}": `{}`,
		"a: 12345678901234567890": `{"a": 12345678901234567890}`,
	} {
		values, err := parseExports([]byte(text))
		require.NoError(t, err)
		assert.JSONEq(t, want, string(values))
	}
	values, err := parseExports(nil)
	require.NoError(t, err)
	assert.Nil(t, values)
	for _, text := range []string{"[]", "text", "7", "a: b: c", "\x00", strings.Repeat("a", maxExports+1)} {
		_, err := parseExports([]byte(text))
		assert.Error(t, err, "%.20q", text)
	}
}

// FuzzExports reads whatever a program writes: the result is an object in JSON that fits into a Secret, or an error that quotes nothing.
func FuzzExports(f *testing.F) {
	for _, seed := range []string{"a: 1", `{"a": [1, 2]}`, "[]", "a: &x [1]\nb: *x", "---\na: 1\n---\nb: 2", "? a\n: b", "!!binary aGk="} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		values, err := parseExports(raw)
		if err != nil {
			require.Nil(t, values)
			return
		}
		if values == nil {
			return
		}
		require.LessOrEqual(t, len(values), maxExports)
		require.True(t, bytes.HasPrefix(bytes.TrimSpace(values), []byte("{")))
		var decoded map[string]any
		require.NoError(t, json.Unmarshal(values, &decoded))
	})
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// itemTypes are the types of the deployers.
var itemTypes = map[string]string{"helm": v1alpha1.HelmDeployItemType, "manifest": v1alpha1.ManifestDeployItemType, "mock": v1alpha1.MockDeployItemType}

// configured parses arguments for a deployer, with a configuration file.
func configured(t *testing.T, deployer, file string, args ...string) (*parsed, []string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	p, flags := parse(t, deployer, append(args, "--config="+path)...)
	p.deployer.itemType = itemTypes[deployer]
	warnings, err := p.deployer.readFile(flags)
	if err != nil {
		assert.True(t, strings.HasPrefix(err.Error(), "--config "+path+": "), "%s", err)
	}
	return p, warnings, err
}

const everything = `
kind: Configuration
identity: mine
targetSelector:
- targets: [{name: a}]
- labels: [{key: environment, operator: in, values: [dev, "test,x"]}]
controller: {workers: 7, cacheSyncTimeout: 3m}
`

func TestConfigurationFile(t *testing.T) {
	for deployer, version := range map[string]string{
		"helm":     "apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1",
		"manifest": "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1",
		"mock":     "apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1",
	} {
		t.Run(deployer, func(t *testing.T) {
			p, warnings, err := configured(t, deployer, version+everything)
			require.NoError(t, err)
			assert.Empty(t, warnings)
			options := p.contract()
			assert.Equal(t, "mine", options.Identity)
			assert.Equal(t, 7, options.Concurrency)
			assert.Equal(t, 7, p.manager().Controller.MaxConcurrentReconciles)
			assert.Equal(t, 3*time.Minute, p.manager().Controller.CacheSyncTimeout)
			require.Len(t, options.TargetSelectors, 2)
			assert.Equal(t, "a", options.TargetSelectors[0].Targets[0].Name)
			assert.Equal(t, []string{"dev", "test,x"}, options.TargetSelectors[1].Labels[0].Values)
		})
	}
}

func TestFlagsWinOverTheConfigurationFile(t *testing.T) {
	p, _, err := configured(t, "helm", everything, "--identity=other", "--concurrent=3", "--cache-sync-timeout=1s", "--target-selector={targets: [{name: b}]}")
	require.NoError(t, err)
	options := p.contract()
	assert.Equal(t, "other", options.Identity)
	assert.Equal(t, 3, options.Concurrency)
	assert.Equal(t, time.Second, p.manager().Controller.CacheSyncTimeout)
	require.Len(t, options.TargetSelectors, 1)
	assert.Equal(t, "b", options.TargetSelectors[0].Targets[0].Name)
}

func TestEmptyConfigurationFileSaysNothing(t *testing.T) {
	plain, _ := parse(t, "helm")
	for _, file := range []string{"", "{}", "controller: {}\n", "kind: Configuration"} {
		p, warnings, err := configured(t, "helm", file)
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, plain.contract(), p.contract())
	}
}

func TestSettingsWithoutEffectAreWarnings(t *testing.T) {
	_, warnings, err := configured(t, "helm", `
identiy: mine
controller: {worker: 3}
hpa: {maxReplicas: 3}
export: {defaultTimeout: 5m}
oci: {allowPlainHttp: true, insecureSkipVerify: true, cache: {path: /tmp}}
`)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"controller.worker: the key is unknown; did you mean controller.workers?", "identiy: the key is unknown; did you mean identity?",
		"hpa: replicas elect a leader, so only one of them works; shard with --watch-label-selector instead",
		"export: the timeout of the DeployItem governs",
		"oci.allowPlainHttp: name the registries without TLS in --oci-plain-http instead",
		"oci.insecureSkipVerify: certificates are always verified; add the authority to those of the system instead",
		"oci.cache: see --oci-cache-dir and --oci-cache-size",
	}, warnings)
}

func TestBadConfigurationFileNamesTheField(t *testing.T) {
	for file, want := range map[string]string{
		"controller: {workers: many}":                   "controller.workers: is a JSON string, which the field cannot hold; correct the type of the value",
		"controller: {workers: -1}":                     "controller.workers: is -1; write a number from 1 on",
		"controller: {cacheSyncTimeout: soon}":          `controller.cacheSyncTimeout: "soon" is not a duration`,
		"controller: {cacheSyncTimeout: 0s}":            "controller.cacheSyncTimeout: is not greater than zero",
		"targetSelector: {labels: []}":                  "targetSelector: is a JSON object, which the field cannot hold",
		"targetSelector: [{}]":                          "targetSelector[0]: selects every Target",
		"{apiVersion: v1, kind: Configuration}":         `apiVersion: "v1" is not known to the`,
		"{apiVersion: v1, kind: ConfigMap}":             `kind: "ConfigMap" is not known to the`,
		"oci: {configFiles: /a}":                        "oci.configFiles: is a JSON string, which the field cannot hold",
		"identity: [":                                   "the file is not YAML",
		"5":                                             "the document: is a JSON number, which the field cannot hold",
		"a: &a [x]\nb: " + strings.Repeat("[*a, ", 300): "the file is not YAML",
		strings.Repeat("#", maxConfiguration+1):         "",
	} {
		t.Run(strings.ReplaceAll(file[:min(len(file), 40)], "/", "_"), func(t *testing.T) {
			if want == "" {
				path := filepath.Join(t.TempDir(), "large")
				require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
				_, err := (&deployerFlags{file: path}).readFile(&pflag.FlagSet{})
				assert.ErrorContains(t, err, path+" has more than 1048576 bytes; write less")
				return
			}
			_, _, err := configured(t, "helm", file)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestMissingConfigurationFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := (&deployerFlags{file: missing}).readFile(&pflag.FlagSet{})
	assert.ErrorContains(t, err, "--config: open "+missing+": no such file or directory; mount the file there, or correct the path")
	_, err = (&deployerFlags{file: t.TempDir()}).readFile(&pflag.FlagSet{})
	assert.ErrorContains(t, err, "give the path of a file")
}

func TestLoginsOfConfigurationFiles(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good,with a comma"), filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(good, []byte(`{"auths": {"registry.example.com": {"username": "u", "password": "p"}}}`), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte(`{"auths": {"registry.example.com": {"auth": "secret"}}}`), 0o600))
	p, _, err := configured(t, "helm", "oci: {configFiles: ['"+good+"']}")
	require.NoError(t, err)
	assert.Equal(t, []string{good}, p.registries().configFiles)
	_, err = p.registries().logins()
	require.NoError(t, err)

	p, _, err = configured(t, "helm", "oci: {configFiles: ['"+good+"', '"+bad+"']}")
	require.NoError(t, err)
	_, err = p.registries().logins()
	assert.ErrorContains(t, err, "--oci-config-file "+bad)
	assert.ErrorContains(t, err, "log in again and renew the Secret")
	assert.NotContains(t, err.Error(), "secret")

	p, _, err = configured(t, "helm", "oci: {configFiles: [/does/not/exist]}")
	require.NoError(t, err)
	_, err = p.registries().open(false)
	assert.ErrorContains(t, err, "--oci-config-file: open /does/not/exist: no such file or directory")
}

func TestContainerConfigurationFile(t *testing.T) {
	settings, unknown, err := decodeConfiguration(v1alpha1.ContainerDeployItemType, []byte(`
apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1
kind: Configuration
namespace: pods
initContainer: {image: sidecar:1}
defaultImage: {image: "alpine:3"}
garbageCollection: {disable: true, requeueTimeSeconds: 60}
debug: {keepPod: true, color: red}
`))
	require.NoError(t, err)
	assert.Equal(t, []string{"debug.color: the key is unknown and has no effect; check its spelling or remove it"}, unknown)
	values, flags := map[string][]string{}, only(containerOf()).Flags()
	for _, s := range settings {
		values[s.flag] = s.values
		for _, value := range s.values {
			require.NoError(t, flags.Set(s.flag, value), s.field)
		}
	}
	assert.Equal(t, map[string][]string{
		"identity": nil, "concurrent": nil, "target-selector": nil, "sidecar-pull-policy": nil,
		"host-namespace": {"pods"}, "sidecar-image": {"sidecar:1"}, "default-image": {"alpine:3"}, "keep-pods": {"true"},
		"disable-garbage-collection": {"true"}, "garbage-collection-period": {"1m0s"},
	}, values)
}

// FuzzDecodeConfiguration feeds arbitrary files: each is refused, or all of its settings are values that the flags take.
func FuzzDecodeConfiguration(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("oci: {configFiles: ['a,\"b']}"))
	f.Add([]byte("controller: {workers: 99999999999999999999, cacheSyncTimeout: 1ns}"))
	f.Add([]byte("targetSelector: [{annotations: [{key: a, operator: exists}]}]"))
	f.Fuzz(func(t *testing.T, file []byte) {
		for deployer, itemType := range itemTypes {
			settings, _, err := decodeConfiguration(itemType, file)
			if err != nil {
				continue
			}
			_, flags := parse(t, deployer)
			for _, s := range settings {
				for _, value := range s.values {
					require.NoError(t, flags.Set(s.flag, value), "%s %q", s.field, value)
				}
			}
		}
	})
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func documentOf(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return raw
}

const (
	header1 = "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ProviderConfiguration\n"
	header2 = "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\nkind: ProviderConfiguration\n"
)

func TestMissingHeaderIsTheNewestVersion(t *testing.T) {
	for name, header := range map[string]string{"complete": header2, "none": "", "only kind": "kind: ProviderConfiguration\n"} {
		t.Run(name, func(t *testing.T) {
			config, err := DecodeConfiguration(documentOf(t, header+"manifests: [{policy: keep, manifest: {kind: A}}]"))
			require.NoError(t, err)
			require.Len(t, config.Manifests, 1)
			assert.EqualValues(t, "keep", config.Manifests[0].Policy)
			assert.JSONEq(t, `{"kind": "A"}`, string(config.Manifests[0].Manifest.Raw))
			assert.Equal(t, APIVersion, config.APIVersion)
		})
	}
}

func TestOldVersionKeepsEverything(t *testing.T) {
	config, err := DecodeConfiguration(documentOf(t, header1+`
updateStrategy: patch
manifests: [{kind: A}, {kind: B}]
readinessChecks: {disableDefault: true}
exports: {exports: [{key: a, jsonPath: .b}]}
deletionGroups: [{predefinedResourceGroup: {type: empty}}]
deletionGroupsDuringUpdate: [{predefinedResourceGroup: {type: crds}}]
continuousReconcile: {every: 1h}
`))
	require.NoError(t, err)
	assert.EqualValues(t, "patch", config.UpdateStrategy)
	require.Len(t, config.Manifests, 2)
	assert.EqualValues(t, "manage", config.Manifests[1].Policy)
	assert.True(t, config.ReadinessChecks.DisableDefault)
	assert.Len(t, config.Exports.Exports, 1)
	assert.EqualValues(t, "empty", config.DeletionGroups[0].PredefinedResourceGroup.Type)
	assert.EqualValues(t, "crds", config.DeletionGroupsDuringUpdate[0].PredefinedResourceGroup.Type)
	assert.NotNil(t, config.ContinuousReconcile)
}

func TestUnknownKeysAndOtherCaseAreIgnored(t *testing.T) {
	config, err := DecodeConfiguration(documentOf(t, header2+"Manifests: 7\nsomething: {else: 1}\n"))
	require.NoError(t, err)
	assert.Empty(t, config.Manifests)
}

func TestDecodeErrorsNameTheField(t *testing.T) {
	for text, message := range map[string]string{
		header2 + "updateStrategy: 7":                           "updateStrategy: is a JSON number",
		header2 + "manifests: {a: b}":                           "manifests: is a JSON object",
		header2 + "manifests: [{annotateBeforeCreate: {a: 1}}]": "annotateBeforeCreate",
		header2 + "readinessChecks: {disableDefault: 'yes'}":    "readinessChecks.disableDefault: is a JSON string",
		"apiVersion: other/v1\nkind: ProviderConfiguration":     `apiVersion: "other/v1" is not known`,
		"apiVersion: other/v1\nkind: Other":                     `kind: "Other" is not known`,
		"[]":                                                    "the document: is a JSON array",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := DecodeConfiguration(documentOf(t, text))
			assert.ErrorContains(t, err, message)
		})
	}
}

func TestValidation(t *testing.T) {
	for text, message := range map[string]string{
		"manifests: [{policy: keep, manifest: {kind: A}}]":                                                             "",
		"manifests: [{policy: some, manifest: {kind: A}}]":                                                             `manifests[0]: policy "some" is unknown`,
		"manifests: [{policy: keep}]":                                                                                  "manifests[0].manifest: is empty",
		"manifests: [{manifest: {}}]":                                                                                  "manifests[0].manifest: is empty",
		"updateStrategy: replace":                                                                                      `updateStrategy: update strategy "replace" is unknown`,
		"exports: {exports: [{key: a, jsonPath: .a}, {key: a, jsonPath: .a}]}":                                         `exports.exports[1].key: "a" is used twice`,
		"exports: {exports: [{key: a}]}":                                                                               "exports.exports[0].jsonPath: is empty",
		"exports: {exports: [{key: a, jsonPath: .a, fromResource: {apiVersion: v1, kind: A}}]}":                        "exports.exports[0].fromResource.name: is empty",
		"exports: {exports: [{key: a, jsonPath: .a, fromObjectRef: {apiVersion: v1, kind: A}}]}":                       "exports.exports[0].fromObjectRef.jsonPath: is empty",
		"deletionGroups: [{}]":                                                                                         "deletionGroups[0]: set exactly one of",
		"deletionGroups: [{predefinedResourceGroup: {type: all}}]":                                                     `deletionGroups[0].predefinedResourceGroup.type: "all" is unknown`,
		"deletionGroups: [{customResourceGroup: {resources: []}}]":                                                     "deletionGroups[0].customResourceGroup.resources: is empty",
		"deletionGroupsDuringUpdate: [{customResourceGroup: {targetName: t, resources: [{apiVersion: v1, kind: A}]}}]": "deletionGroupsDuringUpdate[0].customResourceGroup.targetName: requires deleteAllResources",
		"continuousReconcile: {every: 1h, cron: '* * * * *'}":                                                          "continuousReconcile: set exactly one",
		"continuousReconcile: {every: 0s}":                                                                             "continuousReconcile.every: must be greater than zero",
		"readinessChecks: {custom: [{name: check, requirements: [{jsonPath: .a, operator: exists}]}]}":                 "readinessChecks.custom[0]: selects nothing",
		"readinessChecks: {custom: [{name: check, resourceSelector: [{apiVersion: v1, kind: A, name: a}]}]}":           "readinessChecks.custom[0].requirements: is empty",
		"readinessChecks: {custom: [{name: check, labelSelector: {apiVersion: v1, kind: A}, requirements: [{jsonPath: .a, operator: exists}]}]}":                                     "labelSelector.matchLabels: is empty",
		"readinessChecks: {custom: [{resourceSelector: [{apiVersion: v1, kind: A, name: a}], requirements: [{jsonPath: .a, operator: exists}]}]}":                                    "readinessChecks.custom[0].name: is empty",
		"readinessChecks: {custom: [{name: check, resourceSelector: [{apiVersion: v1, kind: A, name: a}], requirements: [{operator: exists}]}]}":                                     "requirements[0].jsonPath: is empty",
		"readinessChecks: {custom: [{name: check, resourceSelector: [{apiVersion: v1, kind: A, name: a}], requirements: [{jsonPath: .a, operator: exists, values: [{value: 1}]}]}]}": "operator exists takes no values",
		"readinessChecks: {custom: [{name: check, resourceSelector: [{apiVersion: v1, kind: A, name: a}], requirements: [{jsonPath: .a, operator: in}]}]}":                           "operator in needs at least one value",
		"readinessChecks: {custom: [{name: check, resourceSelector: [{apiVersion: v1, kind: A, name: a}], requirements: [{jsonPath: .a, operator: '='}]}]}":                          "operator = needs exactly one value, found 0",
		"readinessChecks: {custom: [{name: check, resourceSelector: [{apiVersion: v1, kind: A, name: a}], requirements: [{jsonPath: .a, operator: like}]}]}":                         `operator: "like" is unknown`,
	} {
		t.Run(text, func(t *testing.T) {
			config, err := DecodeConfiguration(documentOf(t, header2+text))
			require.NoError(t, err)
			err = Validate(config)
			if message == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, message)
		})
	}
}

func TestStatusOfEveryVersion(t *testing.T) {
	const entry = "apiVersion: v1\n  kind: ConfigMap\n  name: a\n  namespace: b\n"
	for name, text := range map[string]string{
		"old":       "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ProviderStatus\nmanagedResources:\n- " + entry,
		"new":       "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\nkind: ProviderStatus\nmanagedResources: [{policy: manage, resource: {apiVersion: v1, kind: ConfigMap, name: a, namespace: b}}]",
		"no header": "managedResources: [{policy: manage, resource: {apiVersion: v1, kind: ConfigMap, name: a, namespace: b}}]",
	} {
		t.Run(name, func(t *testing.T) {
			status, err := DecodeStatus(documentOf(t, text))
			require.NoError(t, err)
			require.Len(t, status.ManagedResources, 1)
			assert.Equal(t, "ConfigMap b/a", status.ManagedResources[0].Resource.String())
			assert.EqualValues(t, "manage", status.ManagedResources[0].Policy)
		})
	}
}

func TestStatusSurvivesARoundTrip(t *testing.T) {
	status, err := DecodeStatus(documentOf(t, "recordedGeneration: 3\nmanagedResources: [{policy: keep, resource: {apiVersion: v1, kind: A, name: a, uid: u}, annotateBeforeDelete: {a: b}, patchBeforeDelete: {c: d}}]"))
	require.NoError(t, err)
	raw, err := EncodeStatus(status)
	require.NoError(t, err)
	again, err := DecodeStatus(raw.Raw)
	require.NoError(t, err)
	assert.Equal(t, status, again)
	assert.Equal(t, APIVersion, again.APIVersion)
}

func TestNoStatusIsEmpty(t *testing.T) {
	for _, raw := range []string{"", "null"} {
		status, err := DecodeStatus([]byte(raw))
		require.NoError(t, err)
		assert.Empty(t, status.ManagedResources)
	}
}

func TestVersionCountsWithoutKind(t *testing.T) {
	config, err := DecodeConfiguration(documentOf(t, "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha1\nmanifests: [{kind: A}]"))
	require.NoError(t, err)
	require.Len(t, config.Manifests, 1)
	assert.JSONEq(t, `{"kind": "A"}`, string(config.Manifests[0].Manifest.Raw))
}

func TestFileConfiguration(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) {
			config, err := DecodeFileConfiguration(documentOf(t, "apiVersion: manifest.deployer.landscaper.gardener.cloud/"+version+`
kind: Configuration
identity: me
targetSelector: [{targets: [{name: a}]}]
export: {defaultTimeout: 2m}
hpa: {maxReplicas: 2}
controller: {workers: 30, cacheSyncTimeout: 2m}
`))
			require.NoError(t, err)
			assert.Equal(t, "me", config.Identity)
			assert.Equal(t, 30, config.Controller.Workers)
			assert.Len(t, config.TargetSelector, 1)
		})
	}
}

func TestDeletionGroupsOfABrokenConfiguration(t *testing.T) {
	groups, err := DecodeDeletionGroups(documentOf(t, "manifests: 7\ndeletionGroups: [{predefinedResourceGroup: {type: empty}}]"))
	require.NoError(t, err)
	assert.Len(t, groups, 1)
}

func FuzzDecodeConfiguration(f *testing.F) {
	for _, seed := range []string{header1 + "manifests: [{kind: A}]", header2 + "manifests: [{policy: keep, manifest: {kind: A}}]", "exports: {exports: []}"} {
		f.Add(documentOf(f, seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		config, err := DecodeConfiguration(raw)
		require.Equal(t, err == nil, config != nil)
		if err == nil {
			require.Equal(t, APIVersion, config.APIVersion)
			_ = Validate(config)
		}
	})
}

func FuzzDecodeStatus(f *testing.F) {
	f.Add([]byte(`{"managedResources":[{"resource":{"kind":"A"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		status, err := DecodeStatus(raw)
		if err != nil {
			return
		}
		encoded, err := EncodeStatus(status)
		require.NoError(t, err)
		again, err := DecodeStatus(encoded.Raw)
		require.NoError(t, err)
		require.Len(t, again.ManagedResources, len(status.ManagedResources))
	})
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// toNormalise has something of everything that counts, and of everything that does not.
const toNormalise = `
meta: {schemaVersion: v2}
component:
  name: example.com/a
  version: 1.0.0
  provider: acme
  creationTime: "2026-01-01T00:00:00Z"
  repositoryContexts: [{type: OCIRegistry, baseUrl: x}]
  labels:
    - {name: signed, value: {b: <1>, a: [1, 2.50, null]}, version: v1, signing: true, merge: {algorithm: x}}
    - {name: free, value: 1}
  sources:
    - {name: code, version: "1", type: git, access: {type: git, repository: r}}
    - {name: nowhere, version: "1", type: git, access: {type: none}}
  componentReferences:
    - name: b
      version: "2"
      componentName: example.com/b
      digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: jsonNormalisation/v2, value: bb}
  resources:
    - name: r
      version: "3"
      type: t
      relation: local
      extraIdentity: {z: "1"}
      srcRefs: [{identitySelector: {name: code}}]
      size: 3
      access: {type: localBlob, localReference: l}
      digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: cc}
    - name: none
      version: "3"
      type: t
      access: {type: none/v1}
      digest: {hashAlgorithm: NO-DIGEST, normalisationAlgorithm: EXCLUDE-FROM-SIGNATURE, value: NO-DIGEST}
`

// Parts of normal forms as lists of single fields.
// The parts of the normal form of the first algorithm that its two schemas share; %s is for an extra identity that is missing.
const (
	entryResources = `{"resources":[[{"digest":[{"hashAlgorithm":"SHA-256"},{"normalisationAlgorithm":"genericBlobDigest/v1"},{"value":"cc"}]},` +
		`{"extraIdentity":[{"z":"1"}]},{"name":"r"},{"relation":"local"},{"type":"t"},{"version":"3"}],` +
		`[%s{"name":"none"},{"type":"t"},{"version":"3"}]]}`
	entryReferences = `[[{"componentName":"example.com/b"},{"digest":[{"hashAlgorithm":"SHA-256"},` +
		`{"normalisationAlgorithm":"jsonNormalisation/v2"},{"value":"bb"}]},%s{"name":"b"},{"version":"2"}]]`
	entryHeader = `{"creationTime":"2026-01-01T00:00:00Z"},{"labels":[[{"name":"signed"},{"signing":true},` +
		`{"value":[{"a":[1,2.5,null]},{"b":"\u003c1\u003e"}]},{"version":"v1"}]]},{"name":"example.com/a"}`
	noIdentity = `{"extraIdentity":null},`
)

func TestNormalise(t *testing.T) {
	canonical := `{"component":{"componentReferences":[{"componentName":"example.com/b","digest":{"hashAlgorithm":"SHA-256",` +
		`"normalisationAlgorithm":"jsonNormalisation/v2","value":"bb"},"name":"b","version":"2"}],"creationTime":"2026-01-01T00:00:00Z",` +
		`"labels":[{"name":"signed","signing":true,"value":{"a":[1,2.5,null],"b":"<1>"},"version":"v1"}],"name":"example.com/a",` +
		`"provider":{"name":"acme"},"resources":[{"digest":{"hashAlgorithm":"SHA-256","normalisationAlgorithm":"genericBlobDigest/v1",` +
		`"value":"cc"},"extraIdentity":{"z":"1"},"name":"r","relation":"local","type":"t","version":"3"},{"name":"none","type":"t","version":"3"}],` +
		`"sources":[{"name":"code","type":"git","version":"1"},{"name":"nowhere","type":"git","version":"1"}],"version":"1.0.0"}}`
	for algorithm, want := range map[string]string{
		component.NormalisationV1: `[{"component":[{"componentReferences":` + fmt.Sprintf(entryReferences, noIdentity) + `},` + entryHeader +
			`,{"provider":"acme"},` + fmt.Sprintf(entryResources, noIdentity) + `,{"version":"1.0.0"}]},{"meta":[{"schemaVersion":"v2"}]}]`,
		component.NormalisationV2: canonical,
		component.NormalisationV3: canonical,
		component.NormalisationV4: canonical,
	} {
		t.Run(algorithm, func(t *testing.T) {
			got, err := decode(t, toNormalise).Normalise(algorithm)
			require.NoError(t, err)
			assert.Equal(t, want, string(got))
		})
	}
}

func TestNormaliseV1DependsOnTheSchema(t *testing.T) {
	got, err := again(t, decode(t, toNormalise), component.SchemaV3).Normalise(component.NormalisationV1)
	require.NoError(t, err)
	assert.Equal(t, `[{"apiVersion":"ocm.software/v3alpha1"},{"kind":"ComponentVersion"},{"metadata":[`+entryHeader+
		`,{"provider":[{"name":"acme"}]},{"version":"1.0.0"}]},{"spec":[{"references":`+fmt.Sprintf(entryReferences, "")+`},`+
		fmt.Sprintf(entryResources, "")+`,{"sources":[[{"name":"code"},{"type":"git"},{"version":"1"}],`+
		`[{"name":"nowhere"},{"type":"git"},{"version":"1"}]]}]}]`, string(got))
}

func TestNormaliseDoesNotDependOnTheSchema(t *testing.T) {
	for _, algorithm := range []string{component.NormalisationV2, component.NormalisationV3, component.NormalisationV4} {
		d := decode(t, toNormalise)
		v2, err := d.Normalise(algorithm)
		require.NoError(t, err)
		v3, err := again(t, d, component.SchemaV3).Normalise(algorithm)
		require.NoError(t, err)
		assert.Equal(t, string(v2), string(v3))
	}
}

func TestNormaliseKeepsEmptyLists(t *testing.T) {
	got, err := refersTo("a").Normalise(component.NormalisationV2)
	require.NoError(t, err)
	assert.Equal(t, `{"component":{"componentReferences":[],"name":"example.com/a","provider":{"name":""},"resources":[],"sources":[],`+
		`"version":"1.0.0"}}`, string(got))
}

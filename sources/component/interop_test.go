// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

// opened opens a CTF or archive that the OCM CLI wrote.
func opened(t testing.TB, name string) component.Collection {
	t.Helper()
	collection, err := component.Open(interop.Unpack(t, name))
	require.NoError(t, err)
	return collection
}

// closure returns a component version, given as name:version, with all behind it.
func closure(t testing.TB, collection component.Collection, written string) *component.Closed {
	t.Helper()
	name, version, _ := strings.Cut(written, ":")
	root, err := collection.Component(t.Context(), component.Key{Name: name, Version: version})
	require.NoError(t, err)
	resolver := component.Resolver(func(ctx context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
		return collection.Component(ctx, key)
	})
	out, err := component.Closure(t.Context(), root, resolver, component.Limits{})
	require.NoError(t, err)
	return out
}

// ocmKey returns the private key that signatures of the OCM CLI were made with.
func ocmKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := x509.ParsePKCS1PrivateKey(interop.Read(t, "keys/rsa.der"))
	require.NoError(t, err)
	return key
}

const interopPrefix = "example.com/interop/"

var interopVersions = map[string]string{
	"shop": "1.2.0", "mid": "2.0.0-rc.1+build.7", "leaf": "1.0.0", "reflabel": "1.0.0", "dupnames": "1.0.0",
}

// normal returns the normal form of a component of a CTF, with the digests of its references filled in.
func normal(t testing.TB, archive, name, algorithm string) []byte {
	t.Helper()
	c := closure(t, opened(t, archive), interopPrefix+name+":"+interopVersions[name])
	root, err := component.Sign(c, component.SignOptions{Name: "filled", Key: ocmKey(t), Normalisation: algorithm})
	require.NoError(t, err)
	out, err := root.Normalise(algorithm)
	require.NoError(t, err)
	return out
}

// sameForm compares our normal form with that of the OCM CLI byte by byte, and its digest with SHA256SUMS.
func sameForm(t *testing.T, file string, got []byte) {
	t.Helper()
	assert.Equal(t, string(interop.Read(t, "normalised/"+file)), string(got), file)
	sum := sha256.Sum256(got)
	assert.Contains(t, string(interop.Read(t, "normalised/SHA256SUMS")), hex.EncodeToString(sum[:])+"  "+file)
}

func TestNormalFormsOfTheCLI(t *testing.T) {
	for _, name := range interop.Names(t, "normalised/*.json") {
		file := path.Base(name)
		parts := strings.Split(strings.TrimSuffix(file, ".json"), "-")
		t.Run(file, func(t *testing.T) {
			if len(parts) == 2 {
				sameForm(t, file, normal(t, "formats/ctf", parts[0], "jsonNormalisation/"+parts[1]))
				return
			}
			archive := "signed/" + parts[0] + "-" + parts[1] + "-SHA-256-RSASSA-PKCS1-V1_5.tgz"
			sameForm(t, file, normal(t, archive, parts[2], "jsonNormalisation/"+parts[1]))
		})
	}
}

// form returns the normal form of a descriptor as JSON data.
func form(t *testing.T, text, algorithm string) any {
	t.Helper()
	normal, err := decode(t, text).Normalise(algorithm)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(normal, &out))
	return out
}

// document is a descriptor of schema v2 with more fields of the component.
func document(fields string) string {
	return "meta: {schemaVersion: v2}\ncomponent: {name: example.com/a, version: 1.0.0, provider: acme" + fields + "}"
}

var allNormalisations = []string{component.NormalisationV1, component.NormalisationV2, component.NormalisationV3, component.NormalisationV4}

func TestN1CreationTimeIsSigned(t *testing.T) {
	for _, algorithm := range allNormalisations {
		early := form(t, document(`, creationTime: "2026-01-01T00:00:00Z"`), algorithm)
		assert.NotEqual(t, early, form(t, document(`, creationTime: "2026-01-02T00:00:00Z"`), algorithm), algorithm)
		assert.NotEqual(t, early, form(t, document(""), algorithm), algorithm)
		assert.Equal(t, early, form(t, document(`, creationTime: "2026-01-01T00:00:00.25Z"`), algorithm), "%s counts seconds", algorithm)
	}
}

func TestN2V2IsV3(t *testing.T) {
	for _, name := range []string{"shop", "mid", "leaf"} {
		v2, v3 := normal(t, "formats/ctf", name, component.NormalisationV2), normal(t, "formats/ctf", name, component.NormalisationV3)
		v2 = bytes.ReplaceAll(v2, []byte(component.NormalisationV2), []byte(component.NormalisationV3))
		assert.True(t, json.Valid(v2))
		assert.Equal(t, len(v3), len(v2))
	}
}

const alike = `, resources: [
  {name: tool, version: 1.0.0, type: t, access: {type: none}},
  {name: tool, version: 2.0.0, type: t, access: {type: none}},
  {name: tool, version: 3.0.0, type: t, access: {type: none}, extraIdentity: {os: linux}},
  {name: tool, version: 4.0.0, type: t, access: {type: none}, extraIdentity: {os: linux}},
  {name: alone, version: 1.0.0, type: t, access: {type: none}}]`

func TestN3VersionsDistinguishResources(t *testing.T) {
	normal, err := decode(t, document(alike)).Normalise(component.NormalisationV2)
	require.NoError(t, err)
	assert.Contains(t, string(normal), `"resources":[{"extraIdentity":{"version":"1.0.0"},"name":"tool"`)
	assert.Contains(t, string(normal), `{"extraIdentity":{"os":"linux","version":"4.0.0"},"name":"tool"`)
	assert.Contains(t, string(normal), `{"name":"alone"`)
	normal, err = decode(t, document(alike)).Normalise(component.NormalisationV1)
	require.NoError(t, err)
	assert.Contains(t, string(normal), `[[{"extraIdentity":[{"version":"1.0.0"}]},{"name":"tool"}`)
	assert.Contains(t, string(normal), `[{"extraIdentity":[{"os":"linux"},{"version":"4.0.0"}]},{"name":"tool"}`)
	assert.Contains(t, string(normal), `[{"extraIdentity":null},{"name":"alone"}`)
	for _, algorithm := range []string{component.NormalisationV3, component.NormalisationV4} {
		normal, err := decode(t, document(alike)).Normalise(algorithm)
		require.NoError(t, err)
		assert.NotContains(t, string(normal), `"extraIdentity":{"version"`, algorithm)
	}
}

func TestN4AllLabelsOfReferencesCount(t *testing.T) {
	text := document(`, componentReferences: [{name: bb, componentName: example.com/b, version: 1.0.0, labels: [{name: free, value: 1}]}]`)
	for algorithm, counts := range map[string]bool{
		component.NormalisationV1: false, component.NormalisationV2: true, component.NormalisationV3: true, component.NormalisationV4: true,
	} {
		normal, err := decode(t, text).Normalise(algorithm)
		require.NoError(t, err)
		assert.Equal(t, counts, strings.Contains(string(normal), "free"), algorithm)
	}
}

func TestN5SourcesWithoutAccessCount(t *testing.T) {
	text := document(`, sources: [{name: nowhere, version: 1.0.0, type: git, access: {type: none}}]`)
	for algorithm, counts := range map[string]bool{
		component.NormalisationV1: false, component.NormalisationV2: true, component.NormalisationV3: true, component.NormalisationV4: true,
	} {
		normal, err := decode(t, text).Normalise(algorithm)
		require.NoError(t, err)
		assert.Equal(t, counts, strings.Contains(string(normal), "nowhere"), algorithm)
	}
}

func TestN6FirstNormalisationFollowsTheSchema(t *testing.T) {
	d := decode(t, document(`, labels: [{name: l, value: {a: null, b: "<"}, signing: true}], componentReferences: [{name: bb, componentName: example.com/b, version: 1.0.0}]`))
	d.Provider.Labels = []component.Label{{Name: "signed", Value: "s", Signing: true}, {Name: "free", Value: "f"}}
	v2, err := d.Normalise(component.NormalisationV1)
	require.NoError(t, err)
	assert.Equal(t, `[{"component":[{"componentReferences":[[{"componentName":"example.com/b"},{"extraIdentity":null},{"name":"bb"},{"version":"1.0.0"}]]},`+
		`{"labels":[[{"name":"l"},{"signing":true},{"value":[{"a":null},{"b":"\u003c"}]}]]},{"name":"example.com/a"},`+
		`{"provider":[{"labels":[[{"name":"signed"},{"signing":true},{"value":"s"}]]},{"name":"acme"}]},{"resources":[]},{"version":"1.0.0"}]},`+
		`{"meta":[{"schemaVersion":"v2"}]}]`, string(v2))
	v3, err := again(t, d, component.SchemaV3).Normalise(component.NormalisationV1)
	require.NoError(t, err)
	assert.Contains(t, string(v3), `{"provider":[{"labels":[[{"name":"signed"},{"signing":true},{"value":"s"}],[{"name":"free"},{"value":"f"}]]},{"name":"acme"}]}`)
	assert.NotContains(t, string(v3), "extraIdentity")
}

func TestN7V4IsV3(t *testing.T) {
	v3, v4 := normal(t, "formats/ctf", "leaf", component.NormalisationV3), normal(t, "formats/ctf", "leaf", component.NormalisationV4)
	assert.Equal(t, string(v3), string(v4))
	assert.Contains(t, string(v4), `"creationTime":"2026-11-22T01:14:43Z"`)
}

func TestN8DigestsOfReferencesAreComputedAnew(t *testing.T) {
	for _, first := range allNormalisations {
		for _, second := range allNormalisations {
			c := signedBy(t, landscape(t), component.SignOptions{Name: "before", Key: ownKey(), Normalisation: first, Hash: component.HashSHA512})
			c = signedBy(t, c, component.SignOptions{Name: "release", Key: ownKey(), Normalisation: second})
			assert.Equal(t, second, c.Root.References[0].Digest.NormalisationAlgorithm)
			assert.NoError(t, verify(t, c), "%s after %s", second, first)
		}
	}
}

// verifyOf checks a signature of the OCM CLI with a key of it, and returns what was verified.
func verifyOf(t *testing.T, s interop.Signature, keys component.Keys) *component.Closed {
	t.Helper()
	collection := opened(t, "signed/"+s.File)
	verified, err := component.Verify(t.Context(), closure(t, collection, s.Component), s.Name, keys, digester(t, collection))
	require.NoError(t, err, s.File)
	return verified
}

// keysOf returns the keys that a signature can be checked with.
func keysOf(t *testing.T, s interop.Signature) map[string]component.Keys {
	t.Helper()
	if !strings.Contains(s.Keys, "ca.crt") {
		return map[string]component.Keys{
			"rsa.pub": {PublicKey: interop.Read(t, "keys/rsa.pub")}, "rsa.pkcs1.pub": {PublicKey: interop.Read(t, "keys/rsa.pkcs1.pub")},
		}
	}
	return map[string]component.Keys{
		"ca.crt": {Certificates: interop.Read(t, "keys/ca.crt")}, "signer.crt": {PublicKey: interop.Read(t, "keys/signer.crt")},
	}
}

func TestSignaturesOfTheCLI(t *testing.T) {
	signatures := interop.Signatures(t)
	assert.Len(t, signatures, len(interop.Names(t, "signed/*.tgz")), "every archive has a line")
	for _, s := range signatures {
		for name, keys := range keysOf(t, s) {
			t.Run(s.File+" "+name, func(t *testing.T) {
				signature := verifyOf(t, s, keys).Root.Signatures[0]
				assert.Equal(t, component.DigestSpec{HashAlgorithm: s.Hash, NormalisationAlgorithm: s.Normalisation, Value: s.Digest}, signature.Digest)
				assert.Equal(t, s.Algorithm, signature.Signature.Algorithm)
				assert.Equal(t, s.MediaType, signature.Signature.MediaType)
			})
		}
	}
}

// TestAllSignaturesOfOneArchive has archives in which several components are signed.
func TestAllSignaturesOfOneArchive(t *testing.T) {
	for file, want := range map[string]int{"recursive.tgz": 3, "mixed-mid-v2-shop-v3.tgz": 2} {
		t.Run(file, func(t *testing.T) {
			collection, verified := opened(t, "signed/"+file), 0
			for name, version := range map[string]string{"shop": "1.2.0", "mid": "2.0.0-rc.1+build.7", "leaf": "1.0.0"} {
				c := closure(t, collection, interopPrefix+name+":"+version)
				for _, signature := range c.Root.Signatures {
					keys := component.Keys{PublicKey: interop.Read(t, "keys/rsa.pub")}
					_, err := component.Verify(t.Context(), c, signature.Name, keys, digester(t, collection))
					assert.NoError(t, err, "%s %s", name, signature.Name)
					verified++
				}
			}
			assert.Equal(t, want, verified)
		})
	}
}

func TestSignaturesOfTheCLIFailWhenContentChanged(t *testing.T) {
	keys := component.Keys{PublicKey: interop.Read(t, "keys/rsa.pub")}
	for _, s := range interop.Signatures(t)[:2] {
		c := closure(t, opened(t, "signed/"+s.File), s.Component)
		changed := *c.Descriptors[2]
		changed.CreationTime = "2026-11-22T00:00:00Z"
		_, err := component.Verify(t.Context(), closed(t, c.Root, c.Descriptors[1], &changed), s.Name, keys, nil)
		assert.ErrorContains(t, err, "is not valid", s.File)
	}
}

// TestSignsAsTheCLI compares signatures byte by byte: those of RSASSA-PKCS1-V1_5 are the same each time.
func TestSignsAsTheCLI(t *testing.T) {
	for _, s := range interop.Signatures(t) {
		if s.Algorithm != component.AlgorithmPKCS1v15 || s.MediaType != component.MediaTypeRSA {
			continue
		}
		c := closure(t, opened(t, "signed/"+s.File), s.Component)
		signed, err := component.Sign(c, component.SignOptions{Name: s.Name, Key: ocmKey(t), Normalisation: s.Normalisation, Hash: s.Hash})
		require.NoError(t, err)
		assert.Equal(t, c.Root.Signatures, signed.Signatures, s.File)
	}
}

func TestN9WhatWeSignWithPSSIsPEM(t *testing.T) {
	c := signedBy(t, landscape(t), component.SignOptions{Name: "release", Key: ownKey(), Algorithm: component.AlgorithmPSS})
	proof := c.Root.Signatures[0].Signature
	assert.Equal(t, component.MediaTypePEM, proof.MediaType)
	assert.Contains(t, proof.Value, "-----BEGIN SIGNATURE-----\nSignature Algorithm: RSASSA-PSS\n")
	assert.Empty(t, proof.Issuer, "the CLI refuses an issuer that it did not find itself")
	assert.NoError(t, verify(t, c))
}

// digester computes the digests of local blobs, and of the manifests of artifact sets in them.
func digester(t testing.TB, collection component.Collection) component.BlobDigester {
	return func(ctx context.Context, d *component.Descriptor, r *component.Resource, want component.DigestSpec) (component.DigestSpec, error) {
		access, err := component.ParseAccess(r.Access)
		require.NoError(t, err)
		blob, _, err := collection.Blob(ctx, d, access.(component.LocalBlob).LocalReference)
		require.NoError(t, err)
		if want.NormalisationAlgorithm == component.OCIArtifactDigest {
			blob = mainManifest(t, blob)
		}
		hash, err := component.HashOf(want.HashAlgorithm)
		require.NoError(t, err)
		sum := hash.New()
		_, err = io.Copy(sum, blob)
		got := want
		got.Value = hex.EncodeToString(sum.Sum(nil))
		return got, err
	}
}

// mainManifest opens the manifest that an artifact set is about.
func mainManifest(t testing.TB, blob io.Reader) io.ReadCloser {
	t.Helper()
	packed, err := io.ReadAll(blob)
	require.NoError(t, err)
	set, err := component.OpenArtifactSet(interop.Untar(t, packed))
	require.NoError(t, err)
	manifest, err := set.Blob(set.Main.Digest)
	require.NoError(t, err)
	return manifest
}

func TestDescriptorsOfTheCLI(t *testing.T) {
	for _, name := range interop.Names(t, "descriptors/*.yaml") {
		for document := range strings.SplitSeq(string(interop.Read(t, name)), "---\n") {
			if document == "" {
				continue
			}
			d := decode(t, document)
			assert.Equal(t, d.View(d.Schema), again(t, d, d.Schema).View(d.Schema), name)
		}
	}
}

func TestS9SourceReferencesOfSchemaV2(t *testing.T) {
	for _, field := range []string{"srcRef", "srcRefs"} {
		d := decode(t, document(`, resources: [{name: rr, version: 1.0.0, type: t, access: {type: none}, `+field+`: [{identitySelector: {name: code}}]}]`))
		assert.Len(t, d.Resources[0].SourceRefs, 1, field)
		text, err := d.Encode(component.SchemaV2)
		require.NoError(t, err)
		assert.Contains(t, string(text), "srcRefs:\n")
		assert.NotContains(t, string(text), "srcRef:\n")
	}
}

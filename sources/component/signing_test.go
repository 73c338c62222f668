// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// Keys of all tests: making them takes long.
var (
	ownKey   = sync.OnceValue(newKey)
	otherKey = sync.OnceValue(newKey)
)

func publicPEM(t testing.TB, key crypto.PublicKey) []byte {
	t.Helper()
	raw, err := x509.MarshalPKIXPublicKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw})
}

// landscape is a root with a component behind it that two ways lead to.
func landscape(t testing.TB) *component.Closed {
	t.Helper()
	resource := func(name string) component.Resource {
		d := component.NewDigest(component.GenericBlobDigest, digest.FromString(name).Encoded())
		return component.Resource{Element: component.Element{Name: name, Version: "1.0.0"}, Type: "plainText", Relation: "local",
			Access: typed(t, "{type: localBlob, localReference: "+name+"}"), Digest: d}
	}
	root, a, b := refersTo("root", "a", "b"), refersTo("a", "b"), refersTo("b")
	root.Resources, a.Resources, b.Resources = []component.Resource{resource("r")}, []component.Resource{resource("a")}, []component.Resource{resource("b")}
	root.Labels = []component.Label{{Name: "signed", Value: "x", Signing: true}, {Name: "free", Value: "y"}}
	return closed(t, root, a, b)
}

func closed(t testing.TB, root *component.Descriptor, others ...*component.Descriptor) *component.Closed {
	t.Helper()
	out, err := component.Closure(t.Context(), root, newCatalog(others...).Resolve, component.Limits{})
	require.NoError(t, err)
	return out
}

// signedBy signs the landscape and returns its closure anew.
func signedBy(t testing.TB, c *component.Closed, o component.SignOptions) *component.Closed {
	t.Helper()
	root, err := component.Sign(c, o)
	require.NoError(t, err)
	return closed(t, root, c.Descriptors[1:]...)
}

func signed(t testing.TB) *component.Closed {
	t.Helper()
	return signedBy(t, landscape(t), component.SignOptions{Name: "release", Key: ownKey()})
}

func verify(t testing.TB, c *component.Closed) error {
	t.Helper()
	_, err := component.Verify(t.Context(), c, "release", component.Keys{PublicKey: publicPEM(t, ownKey().Public())}, nil)
	return err
}

func TestSignAndVerify(t *testing.T) {
	for _, normalisation := range []string{component.NormalisationV1, component.NormalisationV2, component.NormalisationV3, component.NormalisationV4} {
		for _, hash := range []string{component.HashSHA256, component.HashSHA512} {
			for _, algorithm := range []string{component.AlgorithmPKCS1v15, component.AlgorithmPSS} {
				t.Run(normalisation+" "+hash+" "+algorithm, func(t *testing.T) {
					c := signedBy(t, landscape(t), component.SignOptions{
						Name: "release", Key: ownKey(), Normalisation: normalisation, Hash: hash, Algorithm: algorithm,
					})
					assert.Equal(t, algorithm, c.Root.Signatures[0].Signature.Algorithm)
					assert.Equal(t, hash, c.Root.References[0].Digest.HashAlgorithm)
					assert.NoError(t, verify(t, c))
				})
			}
		}
	}
}

func TestSignaturesOutliveEncoding(t *testing.T) {
	c := signed(t)
	for _, schema := range []string{component.SchemaV2, component.SchemaV3} {
		assert.NoError(t, verify(t, closed(t, again(t, c.Root, schema), again(t, c.Descriptors[1], schema), again(t, c.Descriptors[2], schema))), schema)
	}
}

func TestSignReplacesASignatureOfThatName(t *testing.T) {
	root, err := component.Sign(signed(t), component.SignOptions{Name: "release", Key: otherKey()})
	require.NoError(t, err)
	assert.Len(t, root.Signatures, 1)
	root, err = component.Sign(signed(t), component.SignOptions{Name: "second", Key: otherKey()})
	require.NoError(t, err)
	assert.Len(t, root.Signatures, 2)
}

func TestWhatSignaturesDoNotCover(t *testing.T) {
	for name, change := range map[string]func(*component.Descriptor){
		"repository contexts": func(d *component.Descriptor) { d.RepositoryContexts = []component.Typed{registry(t, "moved")} },
		"access": func(d *component.Descriptor) {
			d.Resources[0].Access = typed(t, "{type: ociArtifact, imageReference: r}")
		},
		"labels":            func(d *component.Descriptor) { d.Labels = append(d.Labels, component.Label{Name: "new", Value: 1}) },
		"source references": func(d *component.Descriptor) { d.Resources[0].SourceRefs = []component.SourceRef{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				c := signed(t)
				change(c.Descriptors[i])
				assert.NoError(t, verify(t, c), c.Descriptors[i].Name)
			}
		})
	}
}

func TestWhatSignaturesCover(t *testing.T) {
	for name, change := range map[string]func(*component.Descriptor){
		"creation time":    func(d *component.Descriptor) { d.CreationTime = "2026-01-01T00:00:00Z" },
		"provider":         func(d *component.Descriptor) { d.Provider.Name = "evil" },
		"resource version": func(d *component.Descriptor) { d.Resources[0].Version = "2.0.0" },
		"resource type":    func(d *component.Descriptor) { d.Resources[0].Type = "script" },
		"resource digest": func(d *component.Descriptor) {
			d.Resources[0].Digest = &component.DigestSpec{HashAlgorithm: "SHA-256", NormalisationAlgorithm: "genericBlobDigest/v1", Value: "00"}
		},
		"resource digest excluded": func(d *component.Descriptor) {
			d.Resources[0].Digest = &component.DigestSpec{HashAlgorithm: component.NoDigest, NormalisationAlgorithm: component.ExcludeFromSignature, Value: component.NoDigest}
		},
		"resource digest gone":    func(d *component.Descriptor) { d.Resources[0].Digest = nil },
		"resource without access": func(d *component.Descriptor) { d.Resources[0].Access = typed(t, "{type: none}") },
		"one more resource": func(d *component.Descriptor) {
			d.Resources = append(d.Resources, component.Resource{Element: component.Element{Name: "x"}, Access: typed(t, "{type: none}")})
		},
		"extra identity": func(d *component.Descriptor) { d.Resources[0].ExtraIdentity = map[string]string{"a": "b"} },
		"label for signing": func(d *component.Descriptor) {
			d.Labels = []component.Label{{Name: "signed", Value: "z", Signing: true}}
		},
		"one more source": func(d *component.Descriptor) {
			d.Sources = []component.Source{{Element: component.Element{Name: "s"}, Type: "git"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				c := signed(t)
				change(c.Descriptors[i])
				assert.Error(t, verify(t, c), c.Descriptors[i].Name)
			}
		})
	}
}

func TestVerifyNamesTheComponentThatChanged(t *testing.T) {
	c := signed(t)
	c.Descriptors[1].Provider.Name = "evil"
	assert.ErrorContains(t, verify(t, c), `component example.com/root:1.0.0, reference "a": component example.com/a:1.0.0 is not the one that was referred to`)
	c = signed(t)
	c.Root.Provider.Name = "evil"
	assert.ErrorContains(t, verify(t, c), "it was changed since")
}

func TestVerifyRefusesOverwrittenComponents(t *testing.T) {
	c := signed(t)
	b2 := version("b", "2.0.0")
	b2.Resources = c.Descriptors[2].Resources
	overwrites := overwriteList{{Source: side("", "example.com/b", ""), Substitution: side("", "", "2.0.0")}}
	replaced, err := component.Closure(t.Context(), c.Root, overwrites.read().Wrap(component.Typed{}, newCatalog(c.Descriptors[1], b2).Resolve), component.Limits{})
	require.NoError(t, err)
	assert.ErrorContains(t, verify(t, replaced), "an overwrite replaces it")
}

func TestVerifyWithWrongKeys(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for want, keys := range map[string]component.Keys{
		"it was not made with the key that is trusted":              {PublicKey: publicPEM(t, otherKey().Public())},
		"there is neither a public key nor a certificate authority": {},
		"it carries no certificate, so a public key is needed":      {Certificates: []byte("x")},
		"the public key is not in PEM":                              {PublicKey: []byte("x")},
		"the public key is not an RSA key":                          {PublicKey: publicPEM(t, ec.Public())},
		`PEM block of type "OTHER"`:                                 {PublicKey: pem.EncodeToMemory(&pem.Block{Type: "OTHER"})},
		"the public key is unusable":                                {PublicKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY"})},
	} {
		_, err := component.Verify(t.Context(), signed(t), "release", keys, nil)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, `signature "release" of component example.com/root:1.0.0 is not valid`)
	}
	_, err = component.Verify(t.Context(), signed(t), "other", component.Keys{}, nil)
	assert.ErrorIs(t, err, component.ErrNotFound)
	assert.ErrorContains(t, err, `has no signature "other"; it has: release`)
}

func TestVerifyTakesPublicKeysInSeveralForms(t *testing.T) {
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&ownKey().PublicKey)})
	_, authority := certificates(t)
	self := certify(t, "signer", ownKey(), authority, false)
	for _, key := range [][]byte{pkcs1, certPEM(self)} {
		_, err := component.Verify(t.Context(), signed(t), "release", component.Keys{PublicKey: key}, nil)
		assert.NoError(t, err)
	}
}

func TestVerifyRefusesMalformedSignatures(t *testing.T) {
	for want, change := range map[string]func(*component.Signature){
		"has to be in hexadecimal digits":                func(s *component.Signature) { s.Signature.Value = "x" },
		"its media type \"x\" is not supported":          func(s *component.Signature) { s.Signature.MediaType = "x" },
		"signature algorithm \"x\" is not supported":     func(s *component.Signature) { s.Signature.Algorithm = "x" },
		"no PEM block of type SIGNATURE":                 func(s *component.Signature) { s.Signature.MediaType = component.MediaTypePEM },
		"hash algorithm \"MD5\" is not supported":        func(s *component.Signature) { s.Digest.HashAlgorithm = "MD5" },
		"normalisation algorithm \"x\" is not supported": func(s *component.Signature) { s.Digest.NormalisationAlgorithm = "x" },
		"was signed; it was changed since":               func(s *component.Signature) { s.Digest.Value = "00" },
		"it was not made with the key":                   func(s *component.Signature) { s.Signature.Algorithm = component.AlgorithmPSS },
	} {
		t.Run(want, func(t *testing.T) {
			c := signed(t)
			change(&c.Root.Signatures[0])
			assert.ErrorContains(t, verify(t, c), want)
		})
	}
}

// certificates returns an authority and its key.
func certificates(t testing.TB) (*x509.Certificate, issuer) {
	t.Helper()
	authority := certify(t, "authority", otherKey(), issuer{key: otherKey()}, true)
	return authority, issuer{authority, otherKey()}
}

type issuer struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

func certify(t testing.TB, name string, key *rsa.PrivateKey, by issuer, authority bool, uses ...x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: uses,
	}
	parent := by.certificate
	if parent == nil {
		parent = template
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by.key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return certificate
}

func certPEM(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

func TestVerifyWithCertificates(t *testing.T) {
	root, authority := certificates(t)
	middleKey := newKey()
	middle := certify(t, "middle", middleKey, authority, true)
	signer := certify(t, "signer", ownKey(), issuer{middle, middleKey}, false)
	chain := append(certPEM(signer), certPEM(middle)...)
	for _, algorithm := range []string{component.AlgorithmPKCS1v15, component.AlgorithmPSS} {
		c := signedBy(t, landscape(t), component.SignOptions{Name: "release", Key: ownKey(), Algorithm: algorithm, Certificates: chain})
		assert.Equal(t, component.MediaTypePEM, c.Root.Signatures[0].Signature.MediaType)
		assert.Equal(t, "CN=signer", c.Root.Signatures[0].Signature.Issuer)
		assert.NoError(t, verify(t, c), "with the public key")
		_, err := component.Verify(t.Context(), c, "release", component.Keys{Certificates: certPEM(root)}, nil)
		assert.NoError(t, err, "with the authority")
	}
}

func TestVerifyDistrustsCertificates(t *testing.T) {
	root, authority := certificates(t)
	signer := certify(t, "signer", ownKey(), authority, false)
	stranger := certify(t, "signer", ownKey(), issuer{key: ownKey()}, false)
	for want, test := range map[string]struct {
		chain  []byte
		keys   component.Keys
		change func(*component.Signature)
	}{
		"is not trusted": {certPEM(stranger), component.Keys{Certificates: certPEM(root)}, nil},
		"expired":        {certPEM(signer), component.Keys{Certificates: certPEM(root), Time: time.Unix(1<<34, 0)}, nil},
		"it names the issuer \"CN=boss\"": {certPEM(signer), component.Keys{Certificates: certPEM(root)},
			func(s *component.Signature) { s.Signature.Issuer = "CN=boss" }},
		"its PEM block names algorithm": {certPEM(signer), component.Keys{Certificates: certPEM(root)},
			func(s *component.Signature) { s.Signature.Algorithm = component.AlgorithmPSS }},
		"the certificate authorities are unusable": {certPEM(signer), component.Keys{Certificates: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"})}, nil},
	} {
		t.Run(want, func(t *testing.T) {
			c := signedBy(t, landscape(t), component.SignOptions{Name: "release", Key: ownKey(), Certificates: test.chain})
			if test.change != nil {
				test.change(&c.Root.Signatures[0])
			}
			_, err := component.Verify(t.Context(), c, "release", test.keys, nil)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestL05CertificatesHaveToBeForSigning(t *testing.T) {
	root, authority := certificates(t)
	for name, c := range map[string]struct {
		signer *x509.Certificate
		root   *x509.Certificate
		want   string
	}{
		"for signing":                {certify(t, "signer", ownKey(), authority, false, x509.ExtKeyUsageCodeSigning), root, ""},
		"for no use in particular":   {certify(t, "signer", ownKey(), authority, false), root, ""},
		"of a web server":            {certify(t, "shop.example.com", ownKey(), authority, false, x509.ExtKeyUsageServerAuth), root, "incompatible key usage"},
		"of a client":                {certify(t, "somebody", ownKey(), authority, false, x509.ExtKeyUsageClientAuth), root, "incompatible key usage"},
		"of an authority in between": {certify(t, "middle", ownKey(), authority, true), root, "is that of an authority"},
	} {
		t.Run(name, func(t *testing.T) {
			signed := signedBy(t, landscape(t), component.SignOptions{Name: "release", Key: ownKey(), Certificates: certPEM(c.signer)})
			_, err := component.Verify(t.Context(), signed, "release", component.Keys{Certificates: certPEM(c.root)}, nil)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
	self := certify(t, "self", ownKey(), issuer{key: ownKey()}, true)
	signed := signedBy(t, landscape(t), component.SignOptions{Name: "release", Key: ownKey(), Certificates: certPEM(self)})
	_, err := component.Verify(t.Context(), signed, "release", component.Keys{Certificates: certPEM(self)}, nil)
	assert.NoError(t, err, "one that is trusted by itself")
}

func TestVerifyComparesContents(t *testing.T) {
	honest := func(_ context.Context, _ *component.Descriptor, r *component.Resource, want component.DigestSpec) (component.DigestSpec, error) {
		return *component.NewDigest(want.NormalisationAlgorithm, digest.FromString(r.Name).Encoded()), nil
	}
	keys := component.Keys{PublicKey: publicPEM(t, ownKey().Public())}
	_, err := component.Verify(t.Context(), signed(t), "release", keys, honest)
	assert.NoError(t, err)
	changed := func(ctx context.Context, d *component.Descriptor, r *component.Resource, want component.DigestSpec) (component.DigestSpec, error) {
		if d.Name == "example.com/b" {
			want.Value = "00"
		}
		return want, nil
	}
	_, err = component.Verify(t.Context(), signed(t), "release", keys, changed)
	assert.ErrorContains(t, err, `resource "b" of component example.com/b:1.0.0: the content has SHA-256 digest 00, but`)
	broken := errors.New("no network")
	_, err = component.Verify(t.Context(), signed(t), "release", keys,
		func(context.Context, *component.Descriptor, *component.Resource, component.DigestSpec) (component.DigestSpec, error) {
			return component.DigestSpec{}, broken
		})
	assert.ErrorIs(t, err, broken)
}

func TestAPanicOverContentVerifiesNothing(t *testing.T) {
	keys := component.Keys{PublicKey: publicPEM(t, ownKey().Public())}
	breaks := func(context.Context, *component.Descriptor, *component.Resource, component.DigestSpec) (component.DigestSpec, error) {
		panic("broken")
	}
	_, err := component.Verify(t.Context(), signed(t), "release", keys, breaks)
	assert.ErrorContains(t, err, "broke off by a panic")
}

func TestDigestsThatOnlyTheRootHas(t *testing.T) {
	c := signed(t)
	b := *c.Descriptors[2]
	want := *b.Resources[0].Digest
	b.Resources = append([]component.Resource(nil), b.Resources...)
	b.Resources[0].Digest = nil
	root := *c.Root
	bare := closed(t, &root, c.Descriptors[1], &b)
	assert.ErrorContains(t, verify(t, bare), `resource "b" of component example.com/b:1.0.0 has no digest`)
	root.NestedDigests = []component.NestedDigests{{Name: b.Name, Version: b.Version,
		Resources: []component.NestedResourceDigest{{Name: "b", Version: "1.0.0", Digest: want}}}}
	out, err := component.Verify(t.Context(), bare, "release", component.Keys{PublicKey: publicPEM(t, ownKey().Public())}, nil)
	require.NoError(t, err)
	assert.Equal(t, &want, out.Find(b.Key()).Resources[0].Digest)
	found, err := out.Follow(&out.Root.References[1])
	require.NoError(t, err)
	assert.Equal(t, &want, found.Resources[0].Digest)
	assert.Nil(t, b.Resources[0].Digest, "the descriptor that was given")
	root.NestedDigests[0].Resources[0].Digest.Value = "00"
	assert.Error(t, verify(t, bare))
}

func TestTheFirstDigestOfAResourceCounts(t *testing.T) {
	digest := func(value string) component.DigestSpec {
		return component.DigestSpec{HashAlgorithm: component.HashSHA256, NormalisationAlgorithm: component.GenericBlobDigest, Value: value}
	}
	nested := func(name string, extra map[string]string, value string) component.NestedResourceDigest {
		return component.NestedResourceDigest{Name: name, Version: "1.0.0", ExtraIdentity: extra, Digest: digest(value)}
	}
	root, a := refersTo("root", "a"), refersTo("a")
	for _, extra := range []map[string]string{nil, {"a": "b", "c": "d"}, {"a": "b c:d"}} {
		a.Resources = append(a.Resources, component.Resource{Element: component.Element{Name: "r", Version: "1.0.0", ExtraIdentity: extra}, Type: "plainText", Access: typed(t, "{type: localBlob, localReference: r}")})
	}
	root.NestedDigests = []component.NestedDigests{
		{Name: a.Name, Version: a.Version, Resources: []component.NestedResourceDigest{nested("r", nil, "of a list that another one replaces")}},
		{Name: a.Name, Version: a.Version, Resources: []component.NestedResourceDigest{
			nested("s", nil, "of another name"), nested("r", map[string]string{}, "11"), nested("r", nil, "00"),
			nested("r", map[string]string{"a": "b c:d"}, "33"), nested("r", map[string]string{"c": "d", "a": "b"}, "22"), nested("r", map[string]string{"a": "b", "c": "d"}, "00"),
		}},
	}
	c := signedBy(t, closed(t, root, a), component.SignOptions{Name: "release", Key: ownKey()})
	out, err := component.Verify(t.Context(), c, "release", component.Keys{PublicKey: publicPEM(t, ownKey().Public())}, nil)
	require.NoError(t, err)
	var got []string
	for _, r := range out.Find(a.Key()).Resources {
		got = append(got, r.Digest.Value)
	}
	assert.Equal(t, []string{"11", "22", "33"}, got)
}

func TestVerifyStopsWhenNobodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := signed(t)
	cancel()
	_, err := component.Verify(ctx, c, "release", component.Keys{PublicKey: publicPEM(t, ownKey().Public())}, nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.NotContains(t, err.Error(), "is not valid")
}

func TestSignRefuses(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	circle := closed(t, refersTo("root", "a"), refersTo("a", "root"))
	for want, test := range map[string]struct {
		closed  *component.Closed
		options component.SignOptions
	}{
		"needs a name and a key":                          {landscape(t), component.SignOptions{}},
		"the key is not an RSA key":                       {landscape(t), component.SignOptions{Name: "s", Key: ec}},
		"signature algorithm \"x\" is not supported":      {landscape(t), component.SignOptions{Name: "s", Key: ownKey(), Algorithm: "x"}},
		"refers to itself through its references":         {circle, component.SignOptions{Name: "s", Key: ownKey()}},
		"the certificates hold no PEM block":              {landscape(t), component.SignOptions{Name: "s", Key: ownKey(), Certificates: []byte("x")}},
		"normalisation algorithm \"v0\" is not supported": {landscape(t), component.SignOptions{Name: "s", Key: ownKey(), Normalisation: "v0"}},
	} {
		_, err := component.Sign(test.closed, test.options)
		assert.ErrorContains(t, err, want)
	}
}

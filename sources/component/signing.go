// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Algorithms and media types of signatures.
const (
	// AlgorithmPKCS1v15 is RSASSA-PKCS1-V1_5.
	AlgorithmPKCS1v15 = "RSASSA-PKCS1-V1_5"
	// AlgorithmPSS is RSASSA-PSS.
	AlgorithmPSS = "RSASSA-PSS"
	// MediaTypeRSA is a signature of AlgorithmPKCS1v15 in hexadecimal digits.
	MediaTypeRSA = "application/vnd.ocm.signature.rsa"
	// MediaTypePSS is a signature of AlgorithmPSS in hexadecimal digits.
	MediaTypePSS = "application/vnd.ocm.signature.rsa.pss"
	// MediaTypePEM is a signature in a PEM block, with the certificates of the signer behind it.
	MediaTypePEM = "application/x-pem-file"
)

// Types of PEM blocks, and the header of a signature that names its algorithm.
const (
	pemSignature       = "SIGNATURE"
	pemCertificate     = "CERTIFICATE"
	pemPublicKey       = "PUBLIC KEY"
	pemRSAPublicKey    = "RSA PUBLIC KEY"
	pemAlgorithmHeader = "Signature Algorithm"
)

// SignOptions say how to sign. Empty fields mean the defaults.
type SignOptions struct {
	// Name of the signature; needed. A signature of that name is replaced.
	Name string
	// Normalisation algorithm; NormalisationV3 by default.
	Normalisation string
	// Hash algorithm; HashSHA256 by default.
	Hash string
	// Algorithm is AlgorithmPKCS1v15 by default. Signatures of AlgorithmPSS are written as MediaTypePEM: the OCM tools refuse them in
	// hexadecimal digits. Give Certificates, too, for these tools to verify them.
	Algorithm string
	// Key is an RSA private key.
	Key crypto.Signer
	// Certificates are the chain of the signer in PEM, own certificate first; with them the signature is written as MediaTypePEM.
	Certificates []byte
	// Issuer is the distinguished name of the signer; with Certificates, the subject of the first one by default.
	Issuer string
}

// Sign returns a copy of the closure's root that carries a signature, with the digests of its references filled in. Every resource with
// content in the closure needs a digest.
func Sign(closed *Closed, o SignOptions) (*Descriptor, error) {
	o = o.withDefaults()
	if o.Name == "" || o.Key == nil {
		return nil, errors.New("a signature needs a name and a key")
	}
	digests := newDigests(closed, o.Normalisation, o.Hash)
	sum, filled, err := digests.of(context.Background(), closed.Root)
	if err != nil {
		return nil, err
	}
	proof, err := o.sign(sum.bytes)
	if err != nil {
		return nil, fmt.Errorf("component %s cannot be signed: %w", closed.Root.Key(), err)
	}
	signed := *filled
	signed.Signatures = slices.DeleteFunc(slices.Clone(signed.Signatures), func(s Signature) bool { return s.Name == o.Name })
	signed.Signatures = append(signed.Signatures, Signature{Name: o.Name, Digest: sum.spec, Signature: proof})
	return &signed, nil
}

func (o SignOptions) withDefaults() SignOptions {
	for _, option := range []struct {
		value    *string
		standard string
	}{{&o.Normalisation, NormalisationV3}, {&o.Hash, HashSHA256}, {&o.Algorithm, AlgorithmPKCS1v15}} {
		*option.value = cmp.Or(*option.value, option.standard)
	}
	return o
}

// signerOptions returns what crypto.Signer needs for an algorithm.
func signerOptions(algorithm string, hash crypto.Hash) (crypto.SignerOpts, error) {
	switch algorithm {
	case AlgorithmPKCS1v15:
		return hash, nil
	case AlgorithmPSS:
		return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto, Hash: hash}, nil
	}
	return nil, fmt.Errorf("signature algorithm %q is not supported; use %s or %s", algorithm, AlgorithmPKCS1v15, AlgorithmPSS)
}

func (o SignOptions) sign(sum []byte) (SignatureSpec, error) {
	if _, ok := o.Key.Public().(*rsa.PublicKey); !ok {
		return SignatureSpec{}, errors.New("the key is not an RSA key")
	}
	hash, err := HashOf(o.Hash)
	if err != nil {
		return SignatureSpec{}, err
	}
	options, err := signerOptions(o.Algorithm, hash)
	if err != nil {
		return SignatureSpec{}, err
	}
	value, err := o.Key.Sign(rand.Reader, sum, options)
	if err != nil {
		return SignatureSpec{}, err
	}
	if len(o.Certificates) > 0 || o.Algorithm == AlgorithmPSS {
		return o.inPEM(value)
	}
	return SignatureSpec{Algorithm: o.Algorithm, Value: hex.EncodeToString(value), MediaType: MediaTypeRSA, Issuer: o.Issuer}, nil
}

// inPEM writes the signature and the chain, which may be empty, as PEM blocks.
func (o SignOptions) inPEM(value []byte) (SignatureSpec, error) {
	chain, err := parseCertificates(o.Certificates)
	if err != nil {
		return SignatureSpec{}, err
	}
	if len(o.Certificates) > 0 && len(chain) == 0 {
		return SignatureSpec{}, errors.New("the certificates hold no PEM block of type " + pemCertificate)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: pemSignature, Headers: map[string]string{pemAlgorithmHeader: o.Algorithm}, Bytes: value})
	for _, certificate := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: certificate.Raw})...)
	}
	issuer := o.Issuer
	if issuer == "" && len(chain) > 0 {
		issuer = chain[0].Subject.String()
	}
	return SignatureSpec{Algorithm: o.Algorithm, Value: string(text), MediaType: MediaTypePEM, Issuer: issuer}, nil
}

// maxCertificates is how many certificates a chain may have.
const maxCertificates = 100

// parseCertificates reads the PEM blocks with certificates and skips others.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemCertificate {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a certificate is malformed: %w", err)
		}
		if err := refuseLarge(certificate.PublicKey); err != nil {
			return nil, fmt.Errorf("a certificate cannot be used: %w", err)
		}
		if out = append(out, certificate); len(out) > maxCertificates {
			return nil, fmt.Errorf("there are more than %d certificates", maxCertificates)
		}
	}
	return out, nil
}

// digests computes the digests of the descriptors of a closure with one pair of algorithms, each once. A descriptor is hashed with the
// digests of its references computed anew, and with those of its resources filled in where they are missing.
type digests struct {
	closed              *Closed
	normalisation, hash string
	nested              map[Key]resourceDigests
	known               map[Key]sum
	filled              map[Key]*Descriptor
	running             map[Key]bool
}

// sum is a digest as bytes and as it is written.
type sum struct {
	bytes []byte
	spec  DigestSpec
}

func newDigests(closed *Closed, normalisation, hash string) *digests {
	out := &digests{
		closed: closed, normalisation: normalisation, hash: hash, nested: map[Key]resourceDigests{}, known: map[Key]sum{},
		filled: map[Key]*Descriptor{}, running: map[Key]bool{},
	}
	for _, n := range closed.Root.NestedDigests {
		out.nested[Key{Name: n.Name, Version: n.Version}] = resourceDigestsOf(n.Resources)
	}
	return out
}

// resourceDigests are digests of resources by what names these.
type resourceDigests map[string]DigestSpec

// resourceDigestsOf keeps the first digest of each resource.
func resourceDigestsOf(resources []NestedResourceDigest) resourceDigests {
	out := make(resourceDigests, len(resources))
	for _, n := range resources {
		id := resourceID(n.Name, n.Version, n.ExtraIdentity)
		if _, isKnown := out[id]; !isKnown {
			out[id] = n.Digest
		}
	}
	return out
}

// resourceID is what names a resource as one text; no extra identity is the same as an empty one.
func resourceID(name, version string, extraIdentity map[string]string) string {
	return fmt.Sprintf("%q %q %q", name, version, extraIdentity)
}

// of returns the digest of a descriptor, and the descriptor with all digests.
func (s *digests) of(ctx context.Context, d *Descriptor) (sum, *Descriptor, error) {
	filled, err := s.fill(ctx, d)
	if err != nil {
		return sum{}, nil, err
	}
	if out, done := s.known[d.Key()]; done {
		return out, filled, nil
	}
	function, err := HashOf(s.hash)
	if err != nil {
		return sum{}, nil, fmt.Errorf("component %s: %w", d.Key(), err)
	}
	normal, err := filled.Normalise(s.normalisation)
	if err != nil {
		return sum{}, nil, fmt.Errorf("component %s: %w", d.Key(), err)
	}
	h := function.New()
	h.Write(normal)
	out := sum{bytes: h.Sum(nil)}
	out.spec = DigestSpec{HashAlgorithm: s.hash, NormalisationAlgorithm: s.normalisation, Value: hex.EncodeToString(out.bytes)}
	s.known[d.Key()] = out
	return out, filled, nil
}

// fill returns a copy of the descriptor in which all digests are there. Those of references that were made with the same algorithms are
// checked; others are replaced without a look.
func (s *digests) fill(ctx context.Context, d *Descriptor) (*Descriptor, error) {
	key := d.Key()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.filled[key] != nil:
		return s.filled[key], nil
	case s.running[key]:
		return nil, fmt.Errorf("component %s refers to itself through its references, so it cannot have a signature; break the circle", key)
	}
	s.running[key] = true
	defer delete(s.running, key)
	out := *d
	out.References = slices.Clone(d.References)
	for i := range out.References {
		if err := s.fillReference(ctx, &out.References[i]); err != nil {
			return nil, fmt.Errorf("component %s, reference %q: %w", key, out.References[i].Name, err)
		}
	}
	out.Resources = slices.Clone(d.Resources)
	for i := range out.Resources {
		if err := s.fillResource(key, &out.Resources[i]); err != nil {
			return nil, err
		}
	}
	s.filled[key] = &out
	return &out, nil
}

func (s *digests) fillReference(ctx context.Context, r *Reference) error {
	to, err := s.closed.Follow(r)
	if err != nil {
		return err
	}
	computed, _, err := s.of(ctx, to)
	if err != nil {
		return err
	}
	if s.sameAlgorithms(r.Digest) && !strings.EqualFold(r.Digest.Value, computed.spec.Value) {
		return fmt.Errorf("component %s is not the one that was referred to when the digest was made: it has digest %s instead of %.200q; "+
			"it was published again since, or an overwrite replaces it", to.Key(), computed.spec.Value, r.Digest.Value)
	}
	r.Digest = &computed.spec
	return nil
}

func (s *digests) sameAlgorithms(d *DigestSpec) bool {
	return d != nil && d.NormalisationAlgorithm == s.normalisation && d.HashAlgorithm == s.hash
}

func (s *digests) fillResource(owner Key, r *Resource) error {
	if r.Digest != nil || !r.HasContent() {
		return nil
	}
	if found, isKnown := s.nested[owner][resourceID(r.Name, r.Version, r.ExtraIdentity)]; isKnown {
		r.Digest = &found
		return nil
	}
	return fmt.Errorf("resource %q of component %s has no digest, so no signature covers its content; publish it with a digest", r.Name, owner)
}

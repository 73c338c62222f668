// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// Keys are what a signature is checked with. At least one of PublicKey and Certificates is needed. With a PublicKey the signature has to
// be made with that key. Without, the signature has to carry the certificate of its signer, which one of Certificates has to vouch for.
type Keys struct {
	// PublicKey is an RSA public key or a certificate in PEM.
	PublicKey []byte
	// Certificates are the trusted certificate authorities in PEM.
	Certificates []byte
	// Time at which certificates have to be valid; zero means now.
	Time time.Time
}

// BlobDigester computes the digest of a resource's content with the algorithms of want.
type BlobDigester func(ctx context.Context, d *Descriptor, r *Resource, want DigestSpec) (DigestSpec, error)

// parallelDigests is how many resources are hashed at the same time.
const parallelDigests = 8

// Verify checks the signature of that name on the root of the closure, and with it all components behind it: the digests of the
// references are computed anew from the normalised descriptors, see Descriptor.Normalise. Every resource with content needs a digest. It
// is compared with the content when digester is given; otherwise whoever reads the content later has to compare it. The
// returned closure is the one to go on with: digests that only the root had are filled in where they belong. The error for a missing
// signature wraps ErrNotFound. Where ctx ends the error says nothing about the signature.
func Verify(ctx context.Context, closed *Closed, name string, keys Keys, digester BlobDigester) (*Closed, error) {
	signature, err := signatureOf(closed.Root, name)
	if err != nil {
		return nil, err
	}
	want := signature.Digest
	computed := newDigests(closed, want.NormalisationAlgorithm, want.HashAlgorithm)
	got, _, err := computed.of(ctx, closed.Root)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err == nil && !strings.EqualFold(got.spec.Value, want.Value) {
		err = fmt.Errorf("the component has digest %s, but %.200q was signed; it was changed since", got.spec.Value, want.Value)
	}
	if err == nil {
		err = keys.check(signature, got.bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("signature %q of component %s is not valid: %w", name, closed.Root.Key(), err)
	}
	out := closed.Replace(computed.filled)
	return out, checkContents(ctx, out, digester)
}

func signatureOf(d *Descriptor, name string) (Signature, error) {
	var names []string
	for _, s := range d.Signatures {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	there := cmp.Or(strings.Join(names, ", "), "none")
	return Signature{}, fmt.Errorf("component %s has no signature %q; it has: %.300s: %w", d.Key(), name, there, ErrNotFound)
}

func checkContents(ctx context.Context, c *Closed, digester BlobDigester) error {
	if digester == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDigests)
	for _, d := range c.Descriptors {
		for i := range d.Resources {
			if r := &d.Resources[i]; r.Digest.Covered() && r.HasContent() {
				group.Go(func() error { return fault.Survived(ctx, func() error { return checkContent(ctx, d, r, digester) }) })
			}
		}
	}
	return group.Wait()
}

func checkContent(ctx context.Context, d *Descriptor, r *Resource, digester BlobDigester) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	got, err := digester(ctx, d, r, *r.Digest)
	if err != nil {
		return fmt.Errorf("resource %q of component %s: %w", r.Name, d.Key(), err)
	}
	if got.HashAlgorithm != r.Digest.HashAlgorithm || !strings.EqualFold(got.Value, r.Digest.Value) {
		return fmt.Errorf("resource %q of component %s: the content has %s digest %s, but %.200q was signed", r.Name, d.Key(),
			got.HashAlgorithm, got.Value, r.Digest.Value)
	}
	return nil
}

// check reports whether the signature was made for the digest with a key that is trusted.
func (k Keys) check(s Signature, digest []byte) error {
	value, chain, err := decodeSignature(s.Signature)
	if err != nil {
		return err
	}
	key, err := k.trusted(chain, s.Signature.Issuer)
	if err != nil {
		return err
	}
	hash, err := HashOf(s.Digest.HashAlgorithm)
	if err != nil {
		return err
	}
	return verifyRSA(key, s.Signature.Algorithm, hash, digest, value)
}

func verifyRSA(key *rsa.PublicKey, algorithm string, hash crypto.Hash, digest, value []byte) error {
	err := fmt.Errorf("signature algorithm %q is not supported; sign with %s or %s", algorithm, AlgorithmPKCS1v15, AlgorithmPSS)
	switch algorithm {
	case AlgorithmPKCS1v15:
		err = rsa.VerifyPKCS1v15(key, hash, digest, value)
	case AlgorithmPSS:
		err = rsa.VerifyPSS(key, hash, digest, value, nil)
	}
	if errors.Is(err, rsa.ErrVerification) {
		return errors.New("it was not made with the key that is trusted; sign again, or trust the key of its signer (verificationSignatures of the Context)")
	}
	return err
}

// decodeSignature returns the bytes of the signature and the certificates with it.
func decodeSignature(s SignatureSpec) ([]byte, []*x509.Certificate, error) {
	switch s.MediaType {
	case MediaTypeRSA, MediaTypePSS:
		value, err := hex.DecodeString(s.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("its value has to be in hexadecimal digits: %w", err)
		}
		return value, nil, nil
	case MediaTypePEM:
		return decodePEM(s)
	}
	return nil, nil, fmt.Errorf("its media type %q is not supported; use %s or %s", s.MediaType, MediaTypeRSA, MediaTypePEM)
}

func decodePEM(s SignatureSpec) ([]byte, []*x509.Certificate, error) {
	for block, rest := pem.Decode([]byte(s.Value)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemSignature {
			continue
		}
		if named := block.Headers[pemAlgorithmHeader]; named != "" && named != s.Algorithm {
			return nil, nil, fmt.Errorf("its PEM block names algorithm %q, the signature %q", named, s.Algorithm)
		}
		chain, err := parseCertificates([]byte(s.Value))
		return block.Bytes, chain, err
	}
	return nil, nil, fmt.Errorf("its value has no PEM block of type %s", pemSignature)
}

// trusted returns the key that the signature has to be made with.
func (k Keys) trusted(chain []*x509.Certificate, issuer string) (*rsa.PublicKey, error) {
	switch {
	case len(k.PublicKey) > 0:
		return parsePublicKey(k.PublicKey)
	case len(k.Certificates) == 0:
		return nil, errors.New("there is neither a public key nor a certificate authority to check it with; give one of them (verificationSignatures of the Context)")
	case len(chain) == 0:
		return nil, errors.New("it carries no certificate, so a public key is needed; give it (publicKeySecretReference in verificationSignatures of the Context)")
	}
	return k.vouched(chain, issuer)
}

// vouched returns the key of the first certificate when a trusted authority vouches for it.
func (k Keys) vouched(chain []*x509.Certificate, issuer string) (*rsa.PublicKey, error) {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	authorities, err := parseCertificates(k.Certificates)
	if err != nil {
		return nil, fmt.Errorf("the certificate authorities are unusable: %w", err)
	}
	for _, authority := range authorities {
		roots.AddCert(authority)
	}
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	signer := chain[0]
	options := x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: k.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	if _, err := signer.Verify(options); err != nil {
		return nil, fmt.Errorf("the certificate of its signer is not trusted: %w", err)
	}
	if signer.IsCA && !slices.ContainsFunc(authorities, signer.Equal) {
		return nil, fmt.Errorf("the certificate of its signer, %q, is that of an authority that nobody trusts by itself; sign with one that an authority has issued for signing", signer.Subject)
	}
	if issuer != "" && issuer != signer.Subject.String() {
		return nil, fmt.Errorf("it names the issuer %.300q, but its certificate is of %q", issuer, signer.Subject)
	}
	return rsaKey(signer.PublicKey)
}

func parsePublicKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the public key is not in PEM; put an RSA public key in PEM into the Secret")
	}
	var key any
	var err error
	switch block.Type {
	case pemPublicKey:
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case pemRSAPublicKey:
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case pemCertificate:
		var certificate *x509.Certificate
		if certificate, err = x509.ParseCertificate(block.Bytes); err == nil {
			key = certificate.PublicKey
		}
	default:
		err = fmt.Errorf("PEM block of type %q; use %s", block.Type, pemPublicKey)
	}
	if err != nil {
		return nil, fmt.Errorf("the public key is unusable: %w", err)
	}
	return rsaKey(key)
}

// largestKey is the size in bits of the largest RSA key that is used, which is also what crypto/tls takes from a server: a check with one of a megabyte
// takes hours, and ends with no context.
const largestKey = 8192

func refuseLarge(key any) error {
	if known, ok := key.(*rsa.PublicKey); ok && known.N.BitLen() > largestKey {
		return fmt.Errorf("the RSA key has %d bits, and %d are the most; use a smaller key", known.N.BitLen(), largestKey)
	}
	return nil
}

func rsaKey(key any) (*rsa.PublicKey, error) {
	out, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("the public key is not an RSA key but of type %T", key)
	}
	if err := refuseLarge(out); err != nil {
		return nil, fmt.Errorf("the public key cannot be used: %w", err)
	}
	return out, nil
}

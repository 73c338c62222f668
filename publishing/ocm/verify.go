// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/signing"
)

// Verified is a component version whose signature is valid.
type Verified struct {
	// Component and Version of it.
	Component string `json:"component"`
	Version   string `json:"version"`
	// Signature is the name of the signature.
	Signature string `json:"signature"`
	// Digest that was signed.
	Digest component.DigestSpec `json:"digest"`
	// Algorithm of the signature.
	Algorithm string `json:"algorithm"`
	// Issuer is who signed, as the certificate says; empty without a certificate.
	Issuer string `json:"issuer,omitempty"`
}

// Verify checks a signature of a component version, with all components behind it and the content of their resources, as a controller does.
func (r *Reader) Verify(ctx context.Context, key component.Key, signature string, keys signing.Keys) (*Verified, error) {
	root, err := r.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	closed, err := r.Closure(ctx, root)
	if err != nil {
		return nil, err
	}
	verified, err := signing.Verify(ctx, closed, signature, keys, r.session.Digest)
	if err != nil {
		return nil, err
	}
	out := &Verified{Component: root.Name, Version: root.Version, Signature: signature}
	for _, s := range verified.Root.Signatures {
		if s.Name == signature {
			out.Digest, out.Algorithm, out.Issuer = s.Digest, s.Signature.Algorithm, s.Signature.Issuer
		}
	}
	return out, nil
}

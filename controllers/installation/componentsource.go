// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// verificationKey marks a context.Context of a lookup for which only sources count that Flux has verified.
type verificationKey struct{}

func withVerification(ctx context.Context, required bool) context.Context {
	if !required {
		return ctx
	}
	return context.WithValue(ctx, verificationKey{}, true)
}

// SourceLookup returns the function by which component repositories find Flux sources: through a client that reads from caches, and under
// a policy. Where the Context of the Installation requires it, sources have to be verified by Flux.
func SourceLookup(reader client.Reader, policy flux.Policy) func(context.Context, string, v1alpha1.SourceReference) (flux.Source, error) {
	return func(ctx context.Context, namespace string, ref v1alpha1.SourceReference) (flux.Source, error) {
		source, err := flux.Lookup(ctx, reader, namespace, ref, policy)
		if err == nil && ctx.Value(verificationKey{}) != nil {
			err = source.RequireVerified()
		}
		return source, err
	}
}

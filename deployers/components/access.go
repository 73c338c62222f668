// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package components is how deployers reach component repositories and Flux sources on behalf of a DeployItem.
// It promises nothing to others.
package components

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Access is what a process lets DeployItems use. What is nil makes the items that need it fail with a message that says so.
type Access struct {
	// Registries pulls from registries, and with Artifacts components.
	Registries *oci.Client
	// Artifacts downloads what Flux sources offer.
	Artifacts *fetch.Store
	// Sources reads Flux sources on the landscaper cluster, preferably from a cache.
	Sources client.Reader
	// Landscaper is the landscaper cluster, on which jobs watch the source that they wait for; without it they try again from time to time.
	Landscaper *target.Cluster
	// SourcePolicy says which Flux sources an item may name.
	SourcePolicy flux.Policy
	// Live reads Secrets with credentials, and the ServiceAccounts that name them, on the landscaper cluster, without a cache.
	Live client.Reader
	// Identities finds identities that log in at registries of clouds, as oci.Identities.Find does.
	Identities func(context.Context, oci.IdentityRequest) (*oci.CloudIdentity, error)
	// LocalRoot is the directory below which component repositories in files lie; empty refuses them.
	LocalRoot string
	// PublicOnly refuses downloads over HTTP, and components from Git, from addresses that are not public.
	PublicOnly bool
}

// Repositories opens component repositories with the caches of registries and artifacts; nil without these. They remember descriptors up to
// a limit in bytes, 0 being the default.
func (a *Access) Repositories(limit int64) (*repository.Repositories, error) {
	if a.Registries == nil || a.Artifacts == nil {
		return nil, nil
	}
	options := repository.Options{
		OCI: a.Registries, Store: a.Artifacts, LocalRoot: a.LocalRoot, PublicOnly: a.PublicOnly, Memory: limit, Identity: a.Identities,
	}
	if a.Sources != nil {
		options.Source = flux.Finder(a.Sources, a.SourcePolicy)
	}
	if a.Live != nil {
		options.Secret, options.PullSecrets = repository.SecretReader(a.Live), repository.AccountReader(a.Live)
	}
	return repository.New(options)
}

// RequiresVerified reports whether an item may use only sources that Flux has verified, as its Context says.
func RequiresVerified(item *contract.Item) bool {
	return item.Context != nil && item.Context.Configuration.RequireVerifiedSources
}

// Scope is what an item may use of component repositories, without the overwrites of its Context: with the logins in pull secrets, by Secret name and key, and
// those of its Context. Errors are those of Identity; from says where logins come from that cannot be used.
func (a *Access) Scope(ctx context.Context, item *contract.Item, secrets map[string]map[string][]byte, operation, from string) (repository.Scope, error) {
	scope := repository.Scope{Namespace: item.DeployItem.Namespace, RequireVerified: RequiresVerified(item)}
	var ocmConfig []byte
	if c := item.Context; c != nil {
		scope.Repository, ocmConfig = c.Configuration.RepositoryContext, c.OCMConfig
	}
	var err error
	if scope.Rights, err = repository.ParseRights(secrets, ocmConfig); err != nil {
		return scope, protocol.Stall(operation, "InvalidCredentials", "%s: %w", from, err)
	}
	identity, err := a.Identity(ctx, item, operation)
	if identity != nil {
		scope.Rights = scope.Rights.WithIdentity(identity)
	}
	return scope, err
}

// Lookup finds a Flux source that an item names.
func (a *Access) Lookup(ctx context.Context, item *contract.Item, ref v1alpha1.SourceReference) (flux.Source, error) {
	policy := a.SourcePolicy
	policy.RequireVerified = policy.RequireVerified || RequiresVerified(item)
	return flux.Lookup(ctx, a.Sources, item.DeployItem.Namespace, ref, policy)
}

// Identity returns that of the item's Context at its cloud; nil if it asks for none. The error is a protocol.Failure of an operation that says who
// can end it: what a ServiceAccount lacks is announced by no event.
func (a *Access) Identity(ctx context.Context, item *contract.Item, operation string) (*oci.CloudIdentity, error) {
	if a.Identities == nil || item.Context == nil || item.Context.Configuration.RegistryIdentity == nil {
		return nil, nil
	}
	asked := item.Context.Configuration.RegistryIdentity
	found, err := a.Identities(ctx, oci.IdentityRequest{
		Field: "Context: registryIdentity", Provider: asked.Provider, Namespace: item.DeployItem.Namespace, ServiceAccount: asked.ServiceAccountName,
	})
	if err == nil {
		return found, nil
	}
	failure := protocol.Stall(operation, "Unauthorized", "%w", err)
	if fault.KindOf(err) != fault.Stalled {
		failure = protocol.Again(operation, "Unauthorized", "%w", err)
	}
	return nil, protocol.Coded(failure, v1alpha1.ErrorUnauthorized)
}

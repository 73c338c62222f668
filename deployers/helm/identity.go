// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// identity is that of the item's Context at its cloud; nil if it asks for none.
func (d *deployer) identity(ctx context.Context, item *contract.Item) (*cloud.Identity, error) {
	if d.options.Identity == nil || item.Context == nil || item.Context.Configuration.RegistryIdentity == nil {
		return nil, nil
	}
	asked := item.Context.Configuration.RegistryIdentity
	found, err := d.options.Identity(ctx, cloud.Request{
		Field: "Context: registryIdentity", Provider: asked.Provider, Namespace: item.DeployItem.Namespace, ServiceAccount: asked.ServiceAccountName,
	})
	if err != nil {
		return nil, identityProblem(err)
	}
	return found, nil
}

// identityProblem says who can end the failure: what a ServiceAccount lacks is announced by no event.
func identityProblem(err error) error {
	failure := kit.Stall("GetChart", "Unauthorized", "%w", err)
	var refusal *cloud.Error
	if !errors.As(err, &refusal) || refusal.Retry {
		failure = kit.Again("GetChart", "Unauthorized", "%w", err)
	}
	return kit.Coded(failure, v1alpha1.ErrorUnauthorized)
}

// logins are those of the item's Context, its identity after all others.
func (d *deployer) logins(ctx context.Context, item *contract.Item) (oci.Credentials, error) {
	credentials, err := pullCredentials(item.Context)
	if err != nil {
		return oci.Credentials{}, badCredentials(err)
	}
	identity, err := d.identity(ctx, item)
	if err != nil || identity == nil {
		return credentials, err
	}
	return oci.Join(credentials, oci.FromIdentity(identity)), nil
}

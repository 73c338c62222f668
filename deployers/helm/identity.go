// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// logins are those of the item's Context, its identity after all others.
func (d *deployer) logins(ctx context.Context, item *contract.Item) (oci.Credentials, error) {
	credentials, err := pullCredentials(item.Context)
	if err != nil {
		return oci.Credentials{}, badCredentials(err)
	}
	identity, err := d.options.Identity(ctx, item, "GetChart")
	if err != nil || identity == nil {
		return credentials, err
	}
	return oci.Join(credentials, oci.FromIdentity(identity)), nil
}

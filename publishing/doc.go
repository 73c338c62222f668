// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package publishing is where blueprints and component versions get from a person's directory to a registry, and back to be looked at.
// Its packages check (lint), pack (pack), take over what lies elsewhere (carry), and publish (blueprint, constructor, ocm); what they make
// depends on nothing but content.
package publishing

import (
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// Registry is a client of registries together with the logins to use.
type Registry struct {
	// Client talks to registries.
	Client *oci.Client
	// Credentials are the logins.
	Credentials keychain.Credentials
	// DockerConfig is what Credentials were read from; empty means anonymous.
	DockerConfig []byte
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// componentFlags say where components may come from and how they are verified.
type componentFlags struct {
	registries registryFlags
	identities identityFlags
	signatures string
	localRoot  string
}

func (c *componentFlags) bindFlags(flags *pflag.FlagSet) {
	c.registries.bindFlags(flags)
	c.identities.bindFlags(flags)
	c.identities.bindDefault(flags)
	flags.StringVar(&c.signatures, "signature-verification-enforcement-policy", string(inputs.DoNotEnforce),
		"Which components need a verified signature: "+strings.Join(inputs.SignaturePolicies, ", ")+
			". DoNotEnforce verifies those of Installations with spec.verification.")
	flags.StringVar(&c.localRoot, "local-repository-dir", "",
		"The directory below which component repositories of types local, CommonTransportFormat and ComponentArchive lie; empty refuses them.")
}

// policy returns the policy for signatures.
func (c *componentFlags) policy() (inputs.SignaturePolicy, error) {
	if !slices.Contains(inputs.SignaturePolicies, c.signatures) {
		return "", fmt.Errorf("--signature-verification-enforcement-policy: %q is none of %s", c.signatures,
			strings.Join(inputs.SignaturePolicies, ", "))
	}
	return inputs.SignaturePolicy(c.signatures), nil
}

// open returns the repositories of components.
func (c *componentFlags) open(mgr ctrl.Manager, client *oci.Client, store *fetch.Store, identities *cloud.Identities, kept *memory.Budget, policy flux.Policy, publicOnly bool) (*repository.Repositories, error) {
	repositories, err := repository.New(repository.Options{
		OCI: client, Store: store, LocalRoot: c.localRoot, PublicOnly: publicOnly,
		Source: inputs.SourceLookup(mgr.GetClient(), policy), Secret: repository.SecretReader(mgr.GetAPIReader()),
		PullSecrets: repository.AccountReader(mgr.GetAPIReader()), Identity: identities.Find, Memory: kept,
	})
	if err != nil {
		return nil, fmt.Errorf("--local-repository-dir: %w", err)
	}
	return repositories, nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/fluxcd/pkg/auth"
	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// targetFlags say how servers are reached that tenants name. Names are those of Flux controllers where these have the flag.
type targetFlags struct {
	// publicOnly holds for clusters and for everything that is downloaded.
	publicOnly bool
	// accounts are acted as where neither DeployItem nor Target names a ServiceAccount.
	accounts target.Accounts
}

func (t *targetFlags) bindFlags(flags *pflag.FlagSet) {
	bindPublicOnly(flags, &t.publicOnly)
	flags.StringVar(&t.accounts.Kubeconfig, kubeconfigAccountFlag, "",
		"The ServiceAccount, in the namespace of the Target, that is impersonated on clusters reached by kubeconfig or oidcConfig where neither DeployItem nor Target names one.")
}

// options is what the flags say about Targets.
func (t *targetFlags) options() target.Options {
	return target.Options{PublicOnly: t.publicOnly, Accounts: t.accounts}
}

// bindPublicOnly binds the one flag for private addresses. It has the same default and the same meaning in every process.
func bindPublicOnly(flags *pflag.FlagSet, publicOnly *bool) {
	flags.BoolVar(publicOnly, "no-private-networks", false,
		"Reach what tenants name only at public addresses: clusters of Targets, except the own one, OCI, Git, Helm and web servers, and "+
			"artifacts, except those of --artifact-hosts. Names and redirects count as what they resolve to. Metadata services of clouds are refused in any case.")
}

// bindSelfFlag binds the flag for Targets that lead to the landscaper cluster.
func (t *targetFlags) bindSelfFlag(flags *pflag.FlagSet) {
	flags.StringVar(&t.accounts.Self, auth.ControllerFlagDefaultServiceAccount, "",
		"The ServiceAccount, in the namespace of the object, that stands for one that nobody names: in Targets with selfConfig, and, "+
			"with the feature gate ObjectLevelWorkloadIdentity, at registries of clouds.")
}

const kubeconfigAccountFlag = "default-kubeconfig-service-account"

// check returns what is wrong with the flags.
func (t *targetFlags) check() error {
	for flag, name := range map[string]string{kubeconfigAccountFlag: t.accounts.Kubeconfig, auth.ControllerFlagDefaultServiceAccount: t.accounts.Self} {
		if name != "" && !validation.IsServiceAccountName(name) {
			return fmt.Errorf("--%s: %q is not a valid name of a ServiceAccount; give the name alone: it is one of the namespace of each Target", flag, name)
		}
	}
	return nil
}

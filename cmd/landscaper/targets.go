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

// targetFlags say how clusters are reached that Targets name. Names are those of Flux controllers where these have the flag.
type targetFlags struct {
	publicOnly bool
	// accounts are acted as where neither DeployItem nor Target names a ServiceAccount.
	accounts target.Accounts
}

func (t *targetFlags) bindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.publicOnly, "no-private-targets", false,
		"Reach only clusters at public addresses, except the landscaper cluster itself by selfConfig. Names count as what they resolve to.")
	flags.StringVar(&t.accounts.Kubeconfig, kubeconfigAccountFlag, "",
		"The ServiceAccount, in the namespace of the Target, that is impersonated on clusters reached by kubeconfig or oidcConfig where neither DeployItem nor Target names one.")
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
			return fmt.Errorf("--%s: %q is no name of a ServiceAccount; give the name alone: it is one of the namespace of each Target", flag, name)
		}
	}
	return nil
}

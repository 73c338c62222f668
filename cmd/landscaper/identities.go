// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/runtime/features"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
)

// identityFlags say which identities of clouds may log in at registries. Names are those of Flux controllers where these have the flag.
type identityFlags struct {
	gates          features.FeatureGates
	defaultAccount string
	own            bool
}

func (i *identityFlags) bindFlags(flags *pflag.FlagSet) {
	i.gates.BindFlags(flags)
	flags.BoolVar(&i.own, "registry-controller-identity", false,
		"Let everybody who names a cloud but no ServiceAccount log in at its registries with the identity of this process.")
}

// bindDefault binds the flag of a process where it says nothing else; see targetFlags.bindSelfFlag.
func (i *identityFlags) bindDefault(flags *pflag.FlagSet) {
	flags.StringVar(&i.defaultAccount, auth.ControllerFlagDefaultServiceAccount, "",
		"The ServiceAccount, in the namespace of the object, that logs in at registries of clouds where the object names none. Needs the feature gate.")
}

var errNoGate = errors.New("--" + auth.ControllerFlagDefaultServiceAccount + " needs --feature-gates=" +
	auth.FeatureGateObjectLevelWorkloadIdentity + "=true")

// isOpen reports whether ServiceAccounts may log in.
func (i *identityFlags) isOpen() (bool, error) {
	supported := map[string]bool{}
	auth.SetFeatureGates(supported)
	if err := i.gates.SupportedFeatures(supported); err != nil {
		return false, fmt.Errorf("--feature-gates: %w", err)
	}
	return supported[auth.FeatureGateObjectLevelWorkloadIdentity], nil
}

// openFor is open for a process whose default ServiceAccount stands for more than logins, so that it needs no gate.
func (i *identityFlags) openFor(mgr ctrl.Manager, account string) (*cloud.Identities, error) {
	isOpen, err := i.isOpen()
	if err != nil {
		return nil, err
	}
	if isOpen {
		i.defaultAccount = account
	}
	return i.open(mgr)
}

// open returns the identities, and the gate of the library as the flags say.
func (i *identityFlags) open(mgr ctrl.Manager) (*cloud.Identities, error) {
	isOpen, err := i.isOpen()
	switch {
	case err != nil:
		return nil, err
	case isOpen:
		auth.EnableObjectLevelWorkloadIdentity()
	case i.defaultAccount != "":
		return nil, errNoGate
	}
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return cloud.New(cloud.Options{Client: live, OwnIdentity: i.own, DefaultServiceAccount: i.defaultAccount})
}

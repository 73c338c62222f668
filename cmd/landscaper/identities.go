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
	flags.StringVar(&i.defaultAccount, auth.ControllerFlagDefaultServiceAccount, "",
		"The ServiceAccount, in the namespace of the object, that logs in at registries of clouds where the object names none. Needs the feature gate.")
	flags.BoolVar(&i.own, "registry-controller-identity", false,
		"Let everybody who names a cloud but no ServiceAccount log in at its registries with the identity of this process.")
}

var errNoGate = errors.New("--" + auth.ControllerFlagDefaultServiceAccount + " needs --feature-gates=" +
	auth.FeatureGateObjectLevelWorkloadIdentity + "=true")

// open returns the identities, and the gate of the library as the flags say.
func (i *identityFlags) open(mgr ctrl.Manager) (*cloud.Identities, error) {
	supported := map[string]bool{}
	auth.SetFeatureGates(supported)
	if err := i.gates.SupportedFeatures(supported); err != nil {
		return nil, fmt.Errorf("--feature-gates: %w", err)
	}
	if supported[auth.FeatureGateObjectLevelWorkloadIdentity] {
		auth.EnableObjectLevelWorkloadIdentity()
	} else if i.defaultAccount != "" {
		return nil, errNoGate
	}
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return cloud.New(cloud.Options{Client: live, OwnIdentity: i.own, DefaultServiceAccount: i.defaultAccount})
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/fluxcd/pkg/auth"
	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/confined"
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

// childFlags limit the child processes that render.
type childFlags struct {
	processes int
	memory    int64
}

// wholeMemory is what GOMEMLIMIT says, as much as there can be where it says nothing.
var wholeMemory = debug.SetMemoryLimit(-1)

// ownMemory is what this process has in any case, in bytes, however little its children leave.
const ownMemory = 256 * mebibyte

// keepRoom has the garbage collector of this process go by what children leave of the memory of the container.
func keepRoom(children confined.Limits) {
	if wholeMemory < math.MaxInt64 {
		debug.SetMemoryLimit(max(wholeMemory-children.Most(), ownMemory))
	}
}

// minChildMemory is less than what a child needs for anything useful.
const minChildMemory = 32 * mebibyte

func (c *childFlags) bindFlags(flags *pflag.FlagSet, memory int64) {
	flags.IntVar(&c.processes, "render-processes", confined.DefaultLimits().Children,
		"The number of child processes that render; a namespace has at most half of them.")
	flags.Int64Var(&c.memory, "render-process-memory", memory, "The memory that a child process may take to render, in bytes.")
}

// limits returns an error that names the flag that cannot be used.
func (c *childFlags) limits() (confined.Limits, error) {
	if c.processes < 1 {
		return confined.Limits{}, fmt.Errorf("--render-processes is %d; it has to be 1 at least", c.processes)
	}
	if c.memory < minChildMemory {
		return confined.Limits{}, fmt.Errorf("--render-process-memory is %d bytes; it has to be %d at least", c.memory, minChildMemory)
	}
	return confined.Limits{Children: c.processes, Memory: c.memory}, nil
}

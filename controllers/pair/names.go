// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pair is what Environments and DeployerRegistrations have in common: the pair of one of each is a deployer in an environment, with an
// Installation that bears its name. It promises nothing to others.
package pair

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// MaxName is the length of the longest name of a pair.
const MaxName = 58

// MaxShown is how many pairs a status lists.
const MaxShown = 200

// ReasonDeadlock says that a deployer can never be installed.
const ReasonDeadlock = "DeployerDeadlock"

// ReasonName says that a pair cannot have its name.
const ReasonName = "InvalidPairName"

// Key names the two halves of a pair.
type Key struct {
	// Registration and Environment are names.
	Registration, Environment string
}

// Name is the name of everything that is made for a pair, <registration>-<environment>. Different pairs may have the same.
func (k Key) Name() string { return k.Registration + "-" + k.Environment }

// Labels are on everything that is made for a pair.
func (k Key) Labels() map[string]string {
	return map[string]string{
		v1alpha1.DeployerEnvironmentLabel: k.Environment, v1alpha1.DeployerRegistrationLabel: k.Registration,
	}
}

// Of returns the pair that an object was made for, from its labels. Both names are empty for other objects.
func Of(object client.Object) Key {
	labels := object.GetLabels()
	return Key{Registration: labels[v1alpha1.DeployerRegistrationLabel], Environment: labels[v1alpha1.DeployerEnvironmentLabel]}
}

// IsMade reports whether an object was made for a pair.
func IsMade(object client.Object) bool {
	key := Of(object)
	return key.Registration != "" && key.Environment != ""
}

// Check fails for a pair whose name would be too long.
func (k Key) Check(operation string) error {
	if len(k.Name()) <= MaxName {
		return nil
	}
	return kit.Stall(operation, ReasonName,
		"the name %q of DeployerRegistration %q in Environment %q has %d characters, %d at most; shorten the name of one of them",
		k.Name(), k.Registration, k.Environment, len(k.Name()), MaxName)
}

// CheckMade fails for an object that was not made for this pair: it is neither used nor changed.
func (k Key) CheckMade(operation, kind string, object client.Object) error {
	switch other := Of(object); {
	case other == k:
		return nil
	case IsMade(object):
		return kit.Stall(operation, ReasonName,
			"%s %s belongs to DeployerRegistration %q in Environment %q, and DeployerRegistration %q in Environment %q would have the same name; rename one of them",
			kind, nameOf(object), other.Registration, other.Environment, k.Registration, k.Environment)
	}
	return kit.Stall(operation, ReasonName,
		"%s %s exists and was not made by the deployer management; delete or rename it, or rename DeployerRegistration %q or Environment %q",
		kind, nameOf(object), k.Registration, k.Environment)
}

func nameOf(object client.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return fmt.Sprintf("%s/%s", object.GetNamespace(), object.GetName())
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Homes are the namespaces that hold what is made for pairs: one for each Environment, and one that Environments without their own share.
type Homes struct {
	// Shared is the namespace of the deployer management.
	Shared string
}

// Own is the name of the namespace that belongs to one Environment.
func (h Homes) Own(environment string) string {
	return v1alpha1.EnvironmentNamespacePrefix + environment
}

// Has reports whether a namespace may hold what is made for an Environment.
func (h Homes) Has(namespace, environment string) bool {
	return namespace == h.Shared || namespace == h.Own(environment)
}

// Holds reports whether an object was made for a pair and is where those of its Environment are.
func (h Homes) Holds(object client.Object) bool {
	return IsMade(object) && h.Has(object.GetNamespace(), Of(object).Environment)
}

// OfEnvironment returns the Installations of an Environment, by name. They may be the cache's own: whoever changes one copies it first.
func (h Homes) OfEnvironment(ctx context.Context, c client.Reader, name string) ([]*v1alpha1.Installation, error) {
	var all []*v1alpha1.Installation
	for _, namespace := range []string{h.Own(name), h.Shared} {
		found, err := h.installations(ctx, c, v1alpha1.DeployerEnvironmentLabel, name, client.InNamespace(namespace))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	sortByName(all)
	return all, nil
}

// OfRegistration returns the Installations of a DeployerRegistration, by name, as OfEnvironment.
func (h Homes) OfRegistration(ctx context.Context, c client.Reader, name string) ([]*v1alpha1.Installation, error) {
	all, err := h.installations(ctx, c, v1alpha1.DeployerRegistrationLabel, name)
	sortByName(all)
	return all, err
}

func (h Homes) installations(ctx context.Context, c client.Reader, label, value string, more ...client.ListOption) ([]*v1alpha1.Installation, error) {
	list := &v1alpha1.InstallationList{}
	if err := c.List(ctx, list, append(more, client.MatchingLabels{label: value}, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	var made []*v1alpha1.Installation
	for i := range list.Items {
		if h.Holds(&list.Items[i]) {
			made = append(made, &list.Items[i])
		}
	}
	return made, nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/bounded"
	api "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Configuration reads and checks spec.config of an item. Its errors carry the code ERR_CONFIGURATION_PROBLEM.
func Configuration(item *v1alpha1.DeployItem) (*containerv1alpha1.ProviderConfiguration, error) {
	if item.Spec.Configuration == nil || len(item.Spec.Configuration.Raw) == 0 {
		return nil, kit.Stall(operation, "ConfigurationMissing", "spec.config is missing; write a configuration of the container deployer there")
	}
	config, err := api.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err == nil {
		err = validate(config, item.Namespace)
	}
	if err != nil {
		return nil, kit.Stall(operation, "ConfigurationInvalid", "spec.config: %w", err)
	}
	return config, nil
}

// validate checks a configuration. The error lists the problems, each with its field and cure.
func validate(config *containerv1alpha1.ProviderConfiguration, namespace string) error {
	errs := bounded.In(len(config.RegistryPullSecrets), func(i int) []error {
		var errs []error
		secret, at := &config.RegistryPullSecrets[i], fmt.Sprintf("registryPullSecrets[%d]", i)
		if secret.Name == "" {
			errs = append(errs, fmt.Errorf("%s.name: is empty, name a Secret in the namespace of the DeployItem", at))
		}
		if secret.Namespace != "" && secret.Namespace != namespace {
			errs = append(errs, fmt.Errorf("%s.namespace: is not %s, the namespace of the DeployItem; copy the Secret there and leave the field out", at, namespace))
		}
		return errs
	})
	if blueprint := config.Blueprint; blueprint != nil {
		errs = append(errs, exactlyOne("blueprint", "ref, inline and sourceRef",
			blueprint.Reference != nil, blueprint.Inline != nil, blueprint.SourceReference != nil))
		if blueprint.Reference != nil && config.ComponentDescriptor == nil {
			errs = append(errs, errors.New("blueprint.ref: needs the component that has the resource; set componentDescriptor"))
		}
	}
	if component := config.ComponentDescriptor; component != nil {
		errs = append(errs, exactlyOne("componentDescriptor", "ref, inline and sourceRef",
			component.Reference != nil, component.Inline != nil, component.SourceReference != nil))
	}
	errs = append(errs, managedresource.ValidateContinuousReconcile("continuousReconcile", config.ContinuousReconcile)...)
	return bounded.Join(errs)
}

func exactlyOne(field, choices string, given ...bool) error {
	count := 0
	for _, is := range given {
		if is {
			count++
		}
	}
	if count == 1 {
		return nil
	}
	return fmt.Errorf("%s: set exactly one of %s, found %d", field, choices, count)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
)

// DecodeConfiguration reads spec.config of a DeployItem as JSON. A missing apiVersion or kind is v1alpha1; errors name the field.
func DecodeConfiguration(raw []byte) (*ProviderConfiguration, error) {
	config := &ProviderConfiguration{}
	return config, document.Read(raw, kind(ProviderConfigurationKind), config)
}

// DecodeFileConfiguration reads the configuration file of the deployer as JSON. Errors as for DecodeConfiguration.
func DecodeFileConfiguration(raw []byte) (*Configuration, error) {
	config := &Configuration{}
	return config, document.Read(raw, kind(ConfigurationKind), config)
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: APIVersion, Kind: name}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
)

// DecodeConfiguration reads spec.config of a DeployItem as JSON. A missing apiVersion or kind is v1alpha1; errors name the field.
func DecodeConfiguration(raw []byte) (*ProviderConfiguration, error) {
	config := &ProviderConfiguration{}
	return config, document.Read(raw, kind(ProviderConfigurationKind), config)
}

// DecodeStatus reads status.providerStatus of a DeployItem as JSON; nothing gives an empty status. Errors as for DecodeConfiguration.
func DecodeStatus(raw []byte) (*ProviderStatus, error) {
	status := &ProviderStatus{}
	if len(raw) == 0 {
		return status, nil
	}
	return status, document.Read(raw, kind(ProviderStatusKind), status)
}

// EncodeStatus writes a status with its apiVersion and kind.
func EncodeStatus(status *ProviderStatus) (*runtime.RawExtension, error) {
	typed := *status
	typed.TypeMeta = kind(ProviderStatusKind)
	return document.Write(typed)
}

// DecodeFileConfiguration reads the configuration file of the deployer as JSON and fills in the defaults. Errors as for
// DecodeConfiguration.
func DecodeFileConfiguration(raw []byte) (*Configuration, error) {
	config := &Configuration{}
	if err := document.Read(raw, kind(ConfigurationKind), config); err != nil {
		return nil, err
	}
	setDefaults(config)
	return config, nil
}

func setDefaults(config *Configuration) {
	config.Namespace = cmp.Or(config.Namespace, DefaultNamespace)
	config.DefaultImage.Image = cmp.Or(config.DefaultImage.Image, DefaultImage)
	config.GarbageCollection.Worker = cmp.Or(max(config.GarbageCollection.Worker, 0), DefaultGarbageCollectionWorkers)
	config.GarbageCollection.RequeueTimeSeconds = cmp.Or(max(config.GarbageCollection.RequeueTimeSeconds, 0), DefaultGarbageCollectionSeconds)
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: APIVersion, Kind: name}
}

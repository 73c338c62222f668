// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package container reads configuration and status of DeployItems of type landscaper.gardener.cloud/container.
package container

import (
	"cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
)

// DecodeConfiguration reads spec.config of a DeployItem as JSON. A missing apiVersion or kind is v1alpha1; errors name the field.
func DecodeConfiguration(raw []byte) (*v1alpha1.ProviderConfiguration, error) {
	config := &v1alpha1.ProviderConfiguration{}
	return config, document.Read(raw, kind(v1alpha1.ProviderConfigurationKind), config)
}

// DecodeStatus reads status.providerStatus of a DeployItem as JSON; nothing gives an empty status. Errors as for DecodeConfiguration.
func DecodeStatus(raw []byte) (*v1alpha1.ProviderStatus, error) {
	status := &v1alpha1.ProviderStatus{}
	if len(raw) == 0 {
		return status, nil
	}
	return status, document.Read(raw, kind(v1alpha1.ProviderStatusKind), status)
}

// EncodeStatus writes a status with its apiVersion and kind.
func EncodeStatus(status *v1alpha1.ProviderStatus) (*runtime.RawExtension, error) {
	typed := *status
	typed.TypeMeta = kind(v1alpha1.ProviderStatusKind)
	return document.Write(typed)
}

// DecodeFileConfiguration reads the configuration file of the deployer as JSON and fills in the defaults. Errors as for
// DecodeConfiguration.
func DecodeFileConfiguration(raw []byte) (*v1alpha1.Configuration, error) {
	config := &v1alpha1.Configuration{}
	if err := document.Read(raw, kind(v1alpha1.ConfigurationKind), config); err != nil {
		return nil, err
	}
	setDefaults(config)
	return config, nil
}

func setDefaults(config *v1alpha1.Configuration) {
	config.Namespace = cmp.Or(config.Namespace, v1alpha1.DefaultNamespace)
	config.DefaultImage.Image = cmp.Or(config.DefaultImage.Image, v1alpha1.DefaultImage)
	config.GarbageCollection.Worker = cmp.Or(max(config.GarbageCollection.Worker, 0), v1alpha1.DefaultGarbageCollectionWorkers)
	config.GarbageCollection.RequeueTimeSeconds = cmp.Or(max(config.GarbageCollection.RequeueTimeSeconds, 0), v1alpha1.DefaultGarbageCollectionSeconds)
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: name}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// DecodeConfiguration reads spec.config of a DeployItem. A missing apiVersion means v1alpha2, keys are
// case-sensitive, unknown keys are ignored. The error names the field with a wrong type, or the version that is not known;
// the values are not validated, see Validate.
func DecodeConfiguration(raw []byte) (*ProviderConfiguration, error) {
	version, err := versionOf(raw, ProviderConfigurationKind)
	if err != nil {
		return nil, err
	}
	if version == v1alpha1.APIVersion {
		old := &v1alpha1.ProviderConfiguration{}
		if err := document.Decode(raw, old); err != nil {
			return nil, err
		}
		return convertConfiguration(old), nil
	}
	config := &ProviderConfiguration{}
	if err := document.Decode(raw, config); err != nil {
		return nil, err
	}
	config.TypeMeta = typeMeta(ProviderConfigurationKind)
	return config, nil
}

// ConfigurationOf returns an empty configuration of the version that a document has.
func ConfigurationOf(raw []byte) any {
	if version, _ := versionOf(raw, ProviderConfigurationKind); version == v1alpha1.APIVersion {
		return &v1alpha1.ProviderConfiguration{}
	}
	return &ProviderConfiguration{}
}

// DecodeFileConfiguration reads the configuration file of the deployer, of any version, as JSON. Errors as for
// DecodeConfiguration.
func DecodeFileConfiguration(raw []byte) (*Configuration, error) {
	if _, err := versionOf(raw, ConfigurationKind); err != nil {
		return nil, err
	}
	config := &Configuration{}
	if err := document.Decode(raw, config); err != nil {
		return nil, err
	}
	config.TypeMeta = typeMeta(ConfigurationKind)
	return config, nil
}

// DecodeStatus reads status.providerStatus of a DeployItem; empty input gives an empty status. Errors as for
// DecodeConfiguration.
func DecodeStatus(raw []byte) (*ProviderStatus, error) {
	status := &ProviderStatus{TypeMeta: typeMeta(ProviderStatusKind)}
	if len(raw) == 0 || string(raw) == "null" {
		return status, nil
	}
	version, err := versionOf(raw, ProviderStatusKind)
	if err != nil {
		return nil, err
	}
	if version == v1alpha1.APIVersion {
		return decodeOldStatus(raw, status)
	}
	if err := document.Decode(raw, status); err != nil {
		return nil, err
	}
	status.TypeMeta = typeMeta(ProviderStatusKind)
	return status, nil
}

// DecodeDeletionGroups reads only the deletion groups of a configuration of any version, so that an item can be deleted although
// something else in its configuration is broken. The error names the field.
func DecodeDeletionGroups(raw []byte) ([]managedresource.DeletionGroupDefinition, error) {
	var config struct {
		DeletionGroups []managedresource.DeletionGroupDefinition `json:"deletionGroups"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := document.Decode(raw, &config); err != nil {
		return nil, err
	}
	return config.DeletionGroups, errors.Join(managedresource.ValidateDeletionGroups("deletionGroups", config.DeletionGroups)...)
}

// EncodeStatus writes a status, always as v1alpha2.
func EncodeStatus(status *ProviderStatus) (*runtime.RawExtension, error) {
	status.TypeMeta = typeMeta(ProviderStatusKind)
	return document.Write(status)
}

// Validate checks a configuration. The error lists the problems, each with its field and cure.
func Validate(config *ProviderConfiguration) error {
	var errs []error
	errs = append(errs, managedresource.ValidateStrategy("updateStrategy", config.UpdateStrategy))
	if config.Manifests == nil {
		errs = append(errs, errors.New("manifests: is missing; write the objects to deploy there, or [] to uninstall all that were deployed"))
	}
	errs = append(errs, managedresource.ValidateApply(config.UpdateStrategy, config.OnConflict, config.OnImmutable)...)
	errs = append(errs, fault.ProblemsIn(len(config.Manifests), func(i int) []error {
		manifest, at := &config.Manifests[i], fmt.Sprintf("manifests[%d]", i)
		problem := managedresource.ValidatePolicy(at, manifest.Policy)
		if isEmpty(manifest.Manifest) {
			return []error{problem, fmt.Errorf("%s.manifest: is empty, write the object to deploy there", at)}
		}
		return []error{problem}
	})...)
	errs = append(errs, managedresource.ValidateReadiness("readinessChecks", &config.ReadinessChecks)...)
	errs = append(errs, managedresource.ValidateExports("exports", config.Exports)...)
	errs = append(errs, managedresource.ValidateContinuousReconcile("continuousReconcile", config.ContinuousReconcile)...)
	errs = append(errs, managedresource.ValidateDriftDetection("driftDetection", config.DriftDetection)...)
	errs = append(errs, managedresource.ValidateDeletionGroups("deletionGroups", config.DeletionGroups)...)
	errs = append(errs, managedresource.ValidateDeletionGroups("deletionGroupsDuringUpdate", config.DeletionGroupsDuringUpdate)...)
	return fault.Join(errs)
}

func versionOf(raw []byte, kind string) (string, error) {
	var header metav1.TypeMeta
	if err := document.Decode(raw, &header); err != nil {
		return "", err
	}
	if header.Kind != "" && header.Kind != kind {
		return "", fmt.Errorf("kind: %q is not known to the manifest deployer, use %s", document.Brief(header.Kind), kind)
	}
	switch header.APIVersion {
	case "":
		return APIVersion, nil
	case v1alpha1.APIVersion, APIVersion:
		return header.APIVersion, nil
	default:
		return "", fmt.Errorf("apiVersion: %q is not known to the manifest deployer, use %s", document.Brief(header.APIVersion), APIVersion)
	}
}

func convertConfiguration(old *v1alpha1.ProviderConfiguration) *ProviderConfiguration {
	config := &ProviderConfiguration{
		TypeMeta:                   typeMeta(ProviderConfigurationKind),
		UpdateStrategy:             old.UpdateStrategy,
		OnConflict:                 old.OnConflict,
		OnImmutable:                old.OnImmutable,
		ReadinessChecks:            old.ReadinessChecks,
		Exports:                    old.Exports,
		ContinuousReconcile:        old.ContinuousReconcile,
		DriftDetection:             old.DriftDetection,
		DeletionGroups:             old.DeletionGroups,
		DeletionGroupsDuringUpdate: old.DeletionGroupsDuringUpdate,
	}
	if old.Manifests != nil {
		config.Manifests = []managedresource.Manifest{}
	}
	for _, raw := range old.Manifests {
		config.Manifests = append(config.Manifests, managedresource.Manifest{Policy: managedresource.ManagePolicy, Manifest: raw})
	}
	return config
}

func decodeOldStatus(raw []byte, status *ProviderStatus) (*ProviderStatus, error) {
	old := &v1alpha1.ProviderStatus{}
	if err := document.Decode(raw, old); err != nil {
		return nil, err
	}
	for _, reference := range old.ManagedResources {
		status.ManagedResources = append(status.ManagedResources,
			managedresource.ManagedResourceStatus{Policy: managedresource.ManagePolicy, Resource: reference})
	}
	return status, nil
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: APIVersion, Kind: kind}
}

func isEmpty(raw *runtime.RawExtension) bool {
	if raw == nil {
		return true
	}
	text := string(raw.Raw)
	return text == "" || text == "null" || text == "{}"
}

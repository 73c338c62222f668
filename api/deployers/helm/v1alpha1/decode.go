// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// DecodeConfiguration reads spec.config of a DeployItem. A missing apiVersion or kind means v1alpha1, keys are case-sensitive, unknown keys
// are ignored. The error names the field with a wrong type, or the version that is not known; the values are not checked, see Validate.
func DecodeConfiguration(raw []byte) (*ProviderConfiguration, error) {
	if err := checkVersion(raw, ProviderConfigurationKind); err != nil {
		return nil, err
	}
	config := &ProviderConfiguration{}
	if err := document.Decode(raw, config); err != nil {
		return nil, err
	}
	config.TypeMeta = typeMeta(ProviderConfigurationKind)
	return config, nil
}

// DecodeStatus reads status.providerStatus of a DeployItem; empty input gives an empty status. Errors as for DecodeConfiguration.
func DecodeStatus(raw []byte) (*ProviderStatus, error) {
	status := &ProviderStatus{}
	if len(raw) > 0 && string(raw) != "null" {
		if err := checkVersion(raw, ProviderStatusKind); err != nil {
			return nil, err
		}
		if err := document.Decode(raw, status); err != nil {
			return nil, err
		}
	}
	status.TypeMeta = typeMeta(ProviderStatusKind)
	return status, nil
}

// EncodeStatus writes a status.
func EncodeStatus(status *ProviderStatus) (*runtime.RawExtension, error) {
	status.TypeMeta = typeMeta(ProviderStatusKind)
	return document.Write(status)
}

// DecodeFileConfiguration reads the deployer's configuration file, as JSON. Errors as for DecodeConfiguration.
func DecodeFileConfiguration(raw []byte) (*Configuration, error) {
	if err := checkVersion(raw, ConfigurationKind); err != nil {
		return nil, err
	}
	config := &Configuration{}
	if err := document.Decode(raw, config); err != nil {
		return nil, err
	}
	config.TypeMeta = typeMeta(ConfigurationKind)
	return config, nil
}

// DecodeValues reads the values of a chart: whole numbers are int64, and others float64. Nothing gives an empty map.
func DecodeValues(values landscaper.AnyJSON) (map[string]any, error) {
	decoded := map[string]any{}
	if len(values.RawMessage) == 0 {
		return decoded, nil
	}
	if err := foreign.CheckNumbers(values.RawMessage); err != nil {
		return nil, fmt.Errorf("values: the object %w", err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(values.RawMessage, &decoded); err != nil {
		return nil, fmt.Errorf("values: have to be an object of keys and values: %w", typeOnly(err))
	}
	return decoded, nil
}

// typeOnly keeps values out of the messages of the JSON decoder.
func typeOnly(err error) error {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("found a JSON %s", mismatch.Value)
	}
	return errors.New("found no JSON")
}

func checkVersion(raw []byte, kind string) error {
	var header metav1.TypeMeta
	if err := document.Decode(raw, &header); err != nil {
		return err
	}
	if header.APIVersion == "" || header.Kind == "" {
		return nil
	}
	if header.Kind != kind {
		return fmt.Errorf("kind: %q is not known to the helm deployer, use %s", document.Brief(header.Kind), kind)
	}
	if header.APIVersion != APIVersion {
		return fmt.Errorf("apiVersion: %q is not known to the helm deployer, use %s", document.Brief(header.APIVersion), APIVersion)
	}
	return nil
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: APIVersion, Kind: kind}
}

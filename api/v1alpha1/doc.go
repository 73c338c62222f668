// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the API group landscaper.gardener.cloud as users write them in YAML.
//
// The wire format is that of Gardener Landscaper: every manifest written for it is accepted unmodified. Fields that
// this project adds are optional and say so.
//
// +kubebuilder:object:generate=true
// +groupName=landscaper.gardener.cloud
package v1alpha1

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// CommonConfiguration is part of the configuration file of every deployer.
type CommonConfiguration struct {
	// identity of the deployer's process.
	Identity string `json:"identity,omitempty"`
	// targetSelector restricts the Targets that the deployer serves; one has to match.
	TargetSelector []landscaper.TargetSelector `json:"targetSelector,omitempty"`
	// hpa is accepted; replicas elect a leader.
	HPA *HPAConfiguration `json:"hpa,omitempty"`
	// controller holds settings of the controller.
	Controller ControllerConfiguration `json:"controller,omitempty"`
}

// HPAConfiguration holds settings of replicas.
type HPAConfiguration struct {
	// maxReplicas is the largest number of replicas.
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
}

// ControllerConfiguration holds settings of the controller.
type ControllerConfiguration struct {
	// workers is how many DeployItems are worked on at a time; 0 means the default of the deployer.
	Workers int `json:"workers,omitempty"`
	// cacheSyncTimeout is how long the caches may take to fill.
	CacheSyncTimeout *landscaper.Duration `json:"cacheSyncTimeout,omitempty"`
}

// OCIConfiguration holds settings of the access to OCI registries.
type OCIConfiguration struct {
	// configFiles are paths of dockerconfigjson files. Everybody whose own logins do not fit pulls with theirs.
	ConfigFiles []string `json:"configFiles,omitempty"`
	// cache is accepted; artifacts are always cached.
	Cache *landscaper.AnyJSON `json:"cache,omitempty"`
	// allowPlainHttp is accepted and has no effect: the flag --oci-plain-http names the registries without TLS.
	AllowPlainHTTP bool `json:"allowPlainHttp,omitempty"`
	// insecureSkipVerify is accepted and has no effect: certificates are always verified.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

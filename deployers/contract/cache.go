// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// CacheOptions says what the cache of a deployer for one item type holds: the DeployItems of that type only, selected by the API
// server, Targets and Contexts; all without managed fields. It belongs into cache.Options.ByObject of the manager.
func CacheOptions(itemType string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.DeployItem{}: {
			Field: fields.OneTermEqualSelector("spec.type", itemType), Transform: kit.StripManagedFields,
		},
		&v1alpha1.Target{}:  {Transform: kit.StripManagedFields},
		&v1alpha1.Context{}: {Transform: kit.StripManagedFields},
	}
}

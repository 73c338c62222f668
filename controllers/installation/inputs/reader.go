// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs reads what jobs of Installations work with: Context, sources, component, blueprint and imports, what a blueprint may use, and
// the values of its imports. It says what of that has changed since the last job. Nothing in the cluster changes. It promises nothing to others.
package inputs

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/contexts"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/imports"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Reader reads the inputs of jobs, and keeps in memory what it has read.
type Reader struct {
	// Reader reads from caches.
	client.Reader
	// Metadata reads Secrets and ConfigMaps from the cache of metadata; nil means with Reader.
	Metadata client.Reader
	// Live reads from the API server: contents of Secrets and ConfigMaps.
	Live client.Reader
	// Artifacts holds the contents of Flux sources.
	Artifacts *fetch.Store
	// Repositories finds components and the content of their resources.
	Repositories *repository.Repositories
	// Identity finds the identity with which a Context logs in at a cloud; nil means that there are none.
	Identity func(context.Context, cloud.Request) (*cloud.Identity, error)
	// SignaturePolicy says which components need a verified signature.
	SignaturePolicy SignaturePolicy
	// Clusters opens the Targets that templates pass to functions for kubeconfigs; nil makes these functions fail.
	Clusters *target.Clients
	// BlueprintAccess is what blueprints may use where their Context does not say it; empty is the namespace.
	BlueprintAccess v1alpha1.BlueprintAccess
	// Renderer runs templates; nil means one with the default limits.
	Renderer *rendering.Renderer
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool
	// RequireVerifiedSources refuses sources that Flux has not verified, whatever a Context says.
	RequireVerifiedSources bool

	blueprints blueprintCache
	issued     issuedCache
	rendering  sync.Once
	// components are those of running jobs.
	components JobMemory[*Component]
	digests    digestCache
	tried      contexts.Tried
	graces     graces
}

// related finds the Installations that one is related to.
func (r *Reader) related() *relations.Finder {
	return &relations.Finder{Reader: r.Reader, Live: r.Live}
}

// Forget drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (r *Reader) Forget(installation types.NamespacedName) {
	r.components.Drop(installation)
	r.graces.forget(installation, graceOperations...)
}

// collector collects imports.
func (r *Reader) collector() *imports.Collector {
	return &imports.Collector{Reader: r.Reader, Live: r.Live}
}

// contexts finds Contexts.
func (r *Reader) contexts() *contexts.Finder {
	return &contexts.Finder{
		Reader: r.Reader, Live: r.Live, Identity: r.Identity, BlueprintAccess: r.BlueprintAccess, NoCrossNamespaceRefs: r.NoCrossNamespaceRefs,
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs reads what jobs of Installations work with: Context, sources, component, blueprint and imports, what a blueprint may use, and
// the values of its imports. It says what of that has changed since the last job. Nothing in the cluster changes.
package inputs

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
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
	Identity func(context.Context, oci.IdentityRequest) (*oci.CloudIdentity, error)
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
	tried      tried
}

// related finds the Installations that one is related to.
func (r *Reader) related() *relations.Finder {
	return &relations.Finder{Reader: r.Reader, Live: r.Live}
}

// Forget drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (r *Reader) Forget(installation types.NamespacedName) { r.components.Drop(installation) }

// Inputs are what a job works with, as it was read.
type Inputs struct {
	// context is nil where the controller needs none.
	context *usedContext
	source  *resolvedSource
	// Component is nil where there is none.
	Component *Component
	// Borrowed is what is given back when the reconciliation ends: components that have to stay open.
	Borrowed  []interface{ Give() }
	Blueprint *Blueprint
	Imports   *Collected
	// Reach is what the blueprint may use.
	Reach Reach
}

// Reading is one reading of the inputs.
type Reading struct {
	// inst is the Installation that is read for. Its status gets what was found: sources, hashes and conditions.
	inst *v1alpha1.Installation
	// waited is how long the job has run.
	waited time.Duration
	// clusters issues kubeconfigs to templates; nil where the process does not.
	clusters *Issuer

	// Requeue is when to read again without an event; 0 is never.
	Requeue time.Duration
	Inputs
	// Values are those of the imports of the blueprint, env is what its templates see, shown what they see of the component.
	Values *render.Values
	Env    *render.Environment
	Shown  *repository.View
}

// Read reads what the job of an Installation, which has run for a time, works with, and computes the values of its imports. Nothing in the cluster changes. What
// it returns holds components open, also when there is an error.
func (r *Reader) Read(ctx context.Context, inst *v1alpha1.Installation, waited time.Duration, clusters *Issuer) (*Reading, error) {
	in := &Reading{inst: inst, waited: waited, clusters: clusters}
	return in, protocol.Through(ctx, in, r.reads())
}

// reads are the steps that collect what a job works with. They change nothing in the cluster.
func (r *Reader) reads() []protocol.Step[*Reading] {
	return []protocol.Step[*Reading]{
		r.checkReadable,    // inputs.go     spec as it was decoded → nothing of it was left out
		r.readReach,        // context.go    Context                → what the blueprint may use
		r.readContext,      // context.go    Context                → overwrites, what is allowed
		r.resolveSources,   // source.go     sourceRefs             → artifacts (revision, digest)
		r.resolveComponent, // component.go  componentDescriptor    → component and all behind it
		r.verifyComponent,  // verify.go     signature              → verified, or not asked for
		r.loadBlueprint,    // blueprint.go  artifact or inline     → blueprint (cached by digest)
		r.collectImports,   // imports.go    DataObjects, Targets … → typed imports
		r.satisfyImports,   // values.go     blueprint + imports    → values (pure)
	}
}

// checkReadable ends a job whose spec could not be read as a whole, or contradicts itself: nothing is deployed from the rest of it.
func (r *Reader) checkReadable(_ context.Context, in *Reading) error {
	if in.inst.Undecoded.Err() != nil {
		return protocol.Stall(readOperation, reasonUnreadable, "%w", in.inst.Undecoded.Err())
	}
	if problems := validation.Installation(in.inst); len(problems) > 0 {
		return protocol.Stall(jobs.Operation, "InvalidInstallation", "%w", problems.ToAggregate())
	}
	return nil
}

const (
	readOperation    = "ReadSpec"
	reasonUnreadable = "Unreadable"
)

// cache is opened at its first use.
type cache[K comparable, V any] struct {
	once  sync.Once
	cache *memory.Cache[K, V]
}

func (c *cache[K, V]) entries() *memory.Cache[K, V] {
	c.once.Do(func() { c.cache = memory.NewCache[K, V](0, nil) })
	return c.cache
}

// lease counts who uses something that has to be closed. It is closed when the last one has given it back; from then on nobody can take it.
type lease struct {
	mu     sync.Mutex
	users  int
	closed bool
	// close runs once; nil where there is nothing to close.
	close func()
}

// take counts one more user. It returns false when it is too late.
func (l *lease) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.users++
	return true
}

// Give counts one user less.
func (l *lease) Give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	if l.users > 0 {
		return
	}
	l.closed = true
	if l.close != nil {
		l.close()
	}
}

// keepOpen keeps a component open until the reconciliation ends. It returns false when the component was closed meanwhile.
func (in *Inputs) keepOpen(found *Component) bool {
	if !found.lease.take() {
		return false
	}
	in.Borrowed = append(in.Borrowed, &found.lease)
	return true
}

// GiveBack ends the use of all that the reconciliation has borrowed.
func (in *Inputs) GiveBack() {
	for _, held := range in.Borrowed {
		held.Give()
	}
	in.Borrowed = nil
}

// JobMemory keeps something of running jobs by Installation, together with the component that it needs; nothing has to survive a restart. A
// component is given back when its entry is dropped at the end of the job, replaced by that of another job, or pushed out by too many others.
// The zero value is ready.
type JobMemory[T any] struct {
	once sync.Once
	jobs *memory.Cache[types.NamespacedName, jobEntry[T]]
}

type jobEntry[T any] struct {
	uid       types.UID
	job       string
	value     T
	component *Component
}

func (m *JobMemory[T]) entries() *memory.Cache[types.NamespacedName, jobEntry[T]] {
	m.once.Do(func() {
		m.jobs = memory.NewCache[types.NamespacedName](0, func(gone jobEntry[T]) {
			if gone.component != nil {
				gone.component.lease.Give()
			}
		})
	})
	return m.jobs
}

// Recall returns what is kept of the running job of an Installation and borrows its component for the reconciliation.
func (m *JobMemory[T]) Recall(in *Inputs, inst *v1alpha1.Installation) (T, bool) {
	kept, ok := m.entries().Get(client.ObjectKeyFromObject(inst))
	if !ok || kept.uid != inst.UID || kept.job != inst.Status.JobID || kept.component != nil && !in.keepOpen(kept.component) {
		var none T
		return none, false
	}
	return kept.value, true
}

// Keep keeps something of the running job of an Installation that takes so many bytes beside its component. That, nil where there is none, is one that
// the caller has borrowed.
func (m *JobMemory[T]) Keep(inst *v1alpha1.Installation, value T, needed *Component, bytes int64) {
	if inst.Status.IsIdle() || needed != nil && !needed.lease.take() {
		return
	}
	m.entries().Put(client.ObjectKeyFromObject(inst), jobEntry[T]{inst.UID, inst.Status.JobID, value, needed}, bytes+needed.weight())
}

// Drop lets go what is kept of an Installation.
func (m *JobMemory[T]) Drop(key types.NamespacedName) { m.entries().Remove(key) }

// SourceIndex finds the Installations that name a Flux source.
const SourceIndex = "source"

// SourcesOf indexes Installations by the Flux sources that they name.
func SourcesOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	var keys []string
	for _, use := range sourceUses(inst) {
		keys = append(keys, flux.KeyFor(inst.Namespace, *use.ref))
	}
	if component := inst.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
		if ref := repositorySource(component.Reference.RepositoryContext); ref != nil {
			keys = append(keys, flux.KeyFor(inst.Namespace, *ref))
		}
	}
	return keys
}

const (
	// ContextIndex finds the Installations with a Context.
	ContextIndex = "context"
	// UsedByContextIndex finds the Contexts that name an object.
	UsedByContextIndex = "used-by-context"
)

// ContextsOf indexes Installations by their Context: each needs to know what its blueprint may use.
func ContextsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	return []string{inst.ContextName()}
}

// UsedByContext indexes Contexts by what they name: "kind/name" for objects of their namespace, the key of a source, and for Secrets with
// keys of signatures "Secret/namespace/name".
func UsedByContext(obj client.Object) []string {
	c, ok := obj.(*v1alpha1.Context)
	if !ok {
		return nil
	}
	var keys []string
	secrets, _ := pullsecrets.Different(pullsecrets.NamesOf(c.RegistryPullSecrets)) // of a Context that names more no Secret is read
	for _, name := range secrets {
		keys = append(keys, "Secret/"+c.Namespace+"/"+name)
	}
	if c.OCMConfig != nil {
		keys = append(keys, "ConfigMap/"+c.Namespace+"/"+c.OCMConfig.Name)
	}
	if name := c.ComponentVersionOverwritesReference; name != "" {
		keys = append(keys, "ComponentVersionOverwrites/"+c.Namespace+"/"+name)
	}
	for _, signature := range c.VerificationSignatures {
		for _, ref := range []*v1alpha1.SecretReference{signature.PublicKeySecretReference, signature.CaCertificateSecretReference} {
			if ref != nil {
				keys = append(keys, "Secret/"+secretKey(c.Namespace, ref).String())
			}
		}
	}
	if ref := repositorySource(c.RepositoryContext); ref != nil {
		keys = append(keys, flux.KeyFor(c.Namespace, *ref))
	}
	return keys
}

// repositorySource returns the Flux source that a typed repository lies in, nil when it lies elsewhere.
func repositorySource(repository *v1alpha1.AnyJSON) *v1alpha1.SourceReference {
	var typed struct {
		SourceRef *v1alpha1.SourceReference `json:"sourceRef"`
	}
	if repository == nil || json.Unmarshal(repository.RawMessage, &typed) != nil {
		return nil
	}
	return typed.SourceRef
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// ocmConfigKey is the key of the ConfigMap that Context.ocmConfig names.
const ocmConfigKey = ".ocmconfig"

// incomplete is an error about something that is not there, or lacks a part, and that an event will announce.
type incomplete struct{ error }

func lacking(format string, args ...any) error { return incomplete{fmt.Errorf(format, args...)} }

// installationContext is what a Context gives to an Installation.
type installationContext struct {
	// object is the Context; an empty one when "default" is missing.
	object *v1alpha1.Context
	// missing says that there is no Context "default".
	missing bool
	// overwrites of component references.
	overwrites []v1alpha1.ComponentVersionOverwrite
}

// usesContext reports whether the controller needs the Context of an Installation: for its component or its sources.
func usesContext(inst *v1alpha1.Installation) bool {
	return inst.Spec.ComponentDescriptor != nil || inst.Spec.Blueprint.SourceReference != nil || inst.Spec.Verification != nil
}

// readContext finds the Context in the cache, with the overwrites that it names.
func (r *Reader) readContext(ctx context.Context, in *Reading) error {
	if !usesContext(in.inst) {
		return nil
	}
	found, err := r.contextOf(ctx, in.inst)
	if err != nil {
		return r.contextFailure(in, err)
	}
	in.context = found
	return nil
}

// contextOf reads Context and overwrites from caches. The Context "default" may be missing.
func (r *Reader) contextOf(ctx context.Context, inst *v1alpha1.Installation) (*installationContext, error) {
	key := client.ObjectKey{Namespace: inst.Namespace, Name: inst.ContextName()}
	found := &installationContext{object: &v1alpha1.Context{}}
	err := r.Get(ctx, key, found.object)
	switch {
	case apierrors.IsNotFound(err) && key.Name == v1alpha1.DefaultContextName:
		found.object.Namespace, found.object.Name, found.missing = key.Namespace, key.Name, true
		return found, nil
	case apierrors.IsNotFound(err):
		return nil, lacking("spec.context: Context %s not found; create it or name another one", key)
	case err != nil:
		return nil, fmt.Errorf("read Context %s: %w", key, err)
	}
	if err := found.object.Undecoded.Err(); err != nil {
		return nil, kit.Stall(jobs.ContextOperation, reasonInvalidContext, "%s: %w", found, err)
	}
	if name := found.object.ComponentVersionOverwritesReference; name != "" && inst.Spec.ComponentDescriptor != nil {
		found.overwrites, err = r.overwritesOf(ctx, found, name)
	}
	return found, err
}

func (r *Reader) overwritesOf(ctx context.Context, c *installationContext, name string) ([]v1alpha1.ComponentVersionOverwrite, error) {
	object := &v1alpha1.ComponentVersionOverwrites{}
	key := client.ObjectKey{Namespace: c.object.Namespace, Name: name}
	if err := r.Get(ctx, key, object); err != nil {
		return nil, unread(err, c.field("componentVersionOverwrites"), "ComponentVersionOverwrites", key)
	}
	if err := object.Undecoded.Err(); err != nil {
		return nil, kit.Stall(jobs.ContextOperation, reasonInvalidContext, "ComponentVersionOverwrites %s: %w", key, err)
	}
	return object.Overwrites, nil
}

// contextFailure gives what is missing a moment of grace, like imports: a sync creates both in any order.
func (r *Reader) contextFailure(in *Reading, err error) error {
	var missing incomplete
	if kit.IsTransient(err) || !errors.As(err, &missing) {
		return err
	}
	if r.graces.over(in.inst, jobs.ContextOperation, in.now) {
		r.graces.forget(client.ObjectKeyFromObject(in.inst), jobs.ContextOperation)
		return kit.Stall(jobs.ContextOperation, jobs.ReasonContextIncomplete, "%w", err)
	}
	in.Wake(ImportGrace)
	return kit.Wait(jobs.ContextOperation, jobs.ReasonContextIncomplete, "%w", err)
}

// contextArrived reports whether after a job that failed because its Context was incomplete nothing is missing now, or something else.
func (r *Reader) contextArrived(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	found, err := r.contextOf(ctx, inst)
	if err == nil {
		err = r.checkContext(ctx, inst, found)
	}
	var missing incomplete
	if errors.As(err, &missing) {
		return err.Error() != inst.Status.LastError.Message, nil
	}
	return err == nil, transientOnly(err)
}

// transientOnly drops errors that another try does not end.
func transientOnly(err error) error {
	if kit.IsTransient(err) {
		return err
	}
	return nil
}

// checkContext tells what the Context of an Installation lacks.
func (r *Reader) checkContext(ctx context.Context, inst *v1alpha1.Installation, c *installationContext) error {
	if inst.Spec.ComponentDescriptor == nil {
		return nil
	}
	if err := c.checkRepository(inst); err != nil {
		return err
	}
	if _, err := r.registrySecrets(ctx, c); err != nil {
		return err
	}
	if verification := inst.Spec.Verification; verification != nil && r.SignaturePolicy.asksFor(inst) {
		_, err := r.keysOf(ctx, c, verification.SignatureName)
		return err
	}
	return nil
}

// checkRepository reports whether the Context would be needed for its repository and is missing.
func (c *installationContext) checkRepository(inst *v1alpha1.Installation) error {
	definition := inst.Spec.ComponentDescriptor
	if c.missing && definition.Reference != nil && definition.Reference.RepositoryContext == nil {
		return lacking("%s not found; create it with a repositoryContext, or set spec.componentDescriptor.ref.repositoryContext", c)
	}
	return nil
}

// registrySecrets is what the namespace knows about registries; it is read live and not kept.
type registrySecrets struct {
	// pull holds the data of pull secrets by name.
	pull map[string]map[string][]byte
	// config is the OCM configuration; it may be empty.
	config []byte
	// identity is nil when the Context asks for none.
	identity *cloud.Identity
}

// rights are what the Context and its Secrets give.
func (s *registrySecrets) rights() (repository.Rights, error) {
	rights, err := repository.ParseRights(s.pull, s.config)
	if err == nil && s.identity != nil {
		rights = rights.WithIdentity(s.identity)
	}
	return rights, err
}

// registrySecrets reads the pull secrets of a Context and its OCM configuration, and finds its identity.
func (r *Reader) registrySecrets(ctx context.Context, c *installationContext) (*registrySecrets, error) {
	found := &registrySecrets{pull: map[string]map[string][]byte{}}
	for i, ref := range c.object.RegistryPullSecrets {
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: c.object.Namespace, Name: ref.Name}
		if err := r.Live.Get(ctx, key, secret); err != nil {
			return nil, unread(err, c.field("registryPullSecrets[%d]", i), "Secret", key)
		}
		found.pull[ref.Name] = secret.Data
	}
	var err error
	if found.config, err = r.ocmConfig(ctx, c); err != nil {
		return nil, err
	}
	found.identity, err = r.registryIdentity(ctx, c)
	return found, err
}

// registryIdentity is the identity of the Context at its cloud; nil if it asks for none.
func (r *Reader) registryIdentity(ctx context.Context, c *installationContext) (*cloud.Identity, error) {
	asked := c.object.RegistryIdentity
	if asked == nil || r.Identity == nil {
		return nil, nil
	}
	return r.Identity(ctx, cloud.Request{
		Field: c.field("registryIdentity"), Provider: asked.Provider, Namespace: c.object.Namespace, ServiceAccount: asked.ServiceAccountName,
	})
}

func (r *Reader) ocmConfig(ctx context.Context, c *installationContext) ([]byte, error) {
	if c.object.OCMConfig == nil {
		return nil, nil
	}
	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: c.object.Namespace, Name: c.object.OCMConfig.Name}
	if err := r.Live.Get(ctx, key, config); err != nil {
		return nil, unread(err, c.field("ocmConfig"), "ConfigMap", key)
	}
	content, ok := config.Data[ocmConfigKey]
	if !ok {
		return nil, lacking("%s: ConfigMap %s has no key %s; add it", c.field("ocmConfig"), key, ocmConfigKey)
	}
	return []byte(content), nil
}

// String names the Context.
func (c *installationContext) String() string {
	return "Context " + client.ObjectKeyFromObject(c.object).String()
}

// field names a field of the Context.
func (c *installationContext) field(format string, args ...any) string {
	return c.String() + ": " + fmt.Sprintf(format, args...)
}

// unread says what could not be read, and whether an event will announce it.
func unread(err error, field, kind string, key client.ObjectKey) error {
	if apierrors.IsNotFound(err) {
		return lacking("%s: %s %s not found; create it or remove the reference", field, kind, key)
	}
	return fmt.Errorf("%s: read %s %s: %w", field, kind, key, err)
}

// triedAccess remembers by UID of the Installation what it last used to look its component up.
type triedAccess struct {
	once  sync.Once
	byUID *lru.Cache[types.UID, [sha256.Size]byte]
}

// rememberedAccess is for how many Installations that is remembered.
const rememberedAccess = 1 << 14

func (t *triedAccess) entries() *lru.Cache[types.UID, [sha256.Size]byte] {
	t.once.Do(func() { t.byUID, _ = lru.New[types.UID, [sha256.Size]byte](rememberedAccess) })
	return t.byUID
}

func (t *triedAccess) note(inst *v1alpha1.Installation, c *installationContext, secrets *registrySecrets) {
	t.entries().Add(inst.UID, fingerprint(c, secrets))
}

// fingerprint is equal for equal content of a Context and of what it names. It stays in this process.
func fingerprint(c *installationContext, secrets *registrySecrets) [sha256.Size]byte {
	identity := ""
	if secrets.identity != nil {
		identity = secrets.identity.Fingerprint()
	}
	raw, _ := json.Marshal([]any{c.object.ContextConfiguration, c.overwrites, secrets.pull, secrets.config, identity})
	return sha256.Sum256(raw)
}

// readReach reads what the blueprint may use.
func (r *Reader) readReach(ctx context.Context, in *Reading) error {
	access, err := r.accessOf(ctx, in.inst)
	in.Reach = Reach{
		onlyImports:  access != v1alpha1.BlueprintAccessNamespace,
		installation: client.ObjectKeyFromObject(in.inst), context: contextKey(in.inst),
	}
	return err
}

// accessOf returns what the Context of an Installation lets blueprints use. A Context "default" that is missing says nothing. Another one that is
// missing may have said imports, so they are all that may be used.
func (r *Reader) accessOf(ctx context.Context, inst *v1alpha1.Installation) (v1alpha1.BlueprintAccess, error) {
	found := &v1alpha1.Context{}
	err := r.Get(ctx, contextKey(inst), found)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Context %s: %w", contextKey(inst), err)
	}
	if err != nil && inst.ContextName() != v1alpha1.DefaultContextName {
		return v1alpha1.BlueprintAccessImports, nil
	}
	return cmp.Or(found.BlueprintAccess, r.BlueprintAccess, v1alpha1.BlueprintAccessNamespace), nil
}

func contextKey(inst *v1alpha1.Installation) client.ObjectKey {
	return client.ObjectKey{Namespace: inst.Namespace, Name: inst.ContextName()}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package contexts reads what the Context of an Installation gives: logins, overwrites, keys, and what its blueprint may use. It changes nothing in the
// cluster, and knows neither components nor blueprints. It promises nothing to others.
package contexts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	"github.com/flux-landscaper/flux-landscaper/sources/component/signing"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// ocmConfigKey is the key of the ConfigMap that Context.ocmConfig names.
const ocmConfigKey = ".ocmconfig"

// ReasonInvalid says that the content of a Context, or of what it names, cannot be used.
const ReasonInvalid = "InvalidContext"

// Finder finds Contexts and what they name.
type Finder struct {
	// Reader reads from caches.
	client.Reader
	// Live reads from the API server: contents of Secrets and ConfigMaps.
	Live client.Reader
	// Identity finds the identity with which a Context logs in at a cloud; nil means that there are none.
	Identity func(context.Context, cloud.Request) (*cloud.Identity, error)
	// BlueprintAccess is what blueprints may use where their Context does not say it; empty is the namespace.
	BlueprintAccess v1alpha1.BlueprintAccess
	// NoCrossNamespaceRefs refuses Secrets of other namespaces.
	NoCrossNamespaceRefs bool
}

// Incomplete is an error about something that is not there, or lacks a part, and that an event will announce.
type Incomplete struct{ error }

func lacking(format string, args ...any) error { return Incomplete{fmt.Errorf(format, args...)} }

// Context is what a Context gives to an Installation.
type Context struct {
	// Object is the Context; an empty one when "default" is missing.
	Object *v1alpha1.Context
	// Missing says that there is no Context "default".
	Missing bool
	// Overwrites of component references.
	Overwrites []v1alpha1.ComponentVersionOverwrite
}

// Find reads Context and overwrites from caches. The Context "default" may be missing.
func (f *Finder) Find(ctx context.Context, inst *v1alpha1.Installation) (*Context, error) {
	key := KeyOf(inst)
	found := &Context{Object: &v1alpha1.Context{}}
	err := f.Get(ctx, key, found.Object)
	switch {
	case apierrors.IsNotFound(err) && key.Name == v1alpha1.DefaultContextName:
		found.Object.Namespace, found.Object.Name, found.Missing = key.Namespace, key.Name, true
		return found, nil
	case apierrors.IsNotFound(err):
		return nil, lacking("spec.context: Context %s not found; create it or name another one", key)
	case err != nil:
		return nil, fmt.Errorf("read Context %s: %w", key, err)
	}
	if err := found.Object.Undecoded.Err(); err != nil {
		return nil, kit.Stall(jobs.ContextOperation, ReasonInvalid, "%s: %w", found, err)
	}
	if name := found.Object.ComponentVersionOverwritesReference; name != "" && inst.Spec.ComponentDescriptor != nil {
		found.Overwrites, err = f.overwritesOf(ctx, found, name)
	}
	return found, err
}

func (f *Finder) overwritesOf(ctx context.Context, c *Context, name string) ([]v1alpha1.ComponentVersionOverwrite, error) {
	object := &v1alpha1.ComponentVersionOverwrites{}
	key := client.ObjectKey{Namespace: c.Object.Namespace, Name: name}
	if err := f.Get(ctx, key, object); err != nil {
		return nil, unread(err, c.Field("componentVersionOverwrites"), "ComponentVersionOverwrites", key)
	}
	if err := object.Undecoded.Err(); err != nil {
		return nil, kit.Stall(jobs.ContextOperation, ReasonInvalid, "ComponentVersionOverwrites %s: %w", key, err)
	}
	return object.Overwrites, nil
}

// Check tells what the Context of an Installation lacks, with verified also of what its signature is verified by.
func (f *Finder) Check(ctx context.Context, inst *v1alpha1.Installation, c *Context, verified bool) error {
	if inst.Spec.ComponentDescriptor == nil {
		return nil
	}
	if err := c.CheckRepository(inst); err != nil {
		return err
	}
	if _, err := f.Access(ctx, c); err != nil {
		return err
	}
	if verification := inst.Spec.Verification; verification != nil && verified {
		_, err := f.Keys(ctx, c, verification.SignatureName)
		return err
	}
	return nil
}

// CheckRepository reports whether the Context would be needed for its repository and is missing.
func (c *Context) CheckRepository(inst *v1alpha1.Installation) error {
	definition := inst.Spec.ComponentDescriptor
	if c.Missing && definition.Reference != nil && definition.Reference.RepositoryContext == nil {
		return lacking("%s not found; create it with a repositoryContext, or set spec.componentDescriptor.ref.repositoryContext", c)
	}
	return nil
}

// Access is what the namespace knows about registries; it is read live and not kept.
type Access struct {
	// pull holds the data of pull secrets by name.
	pull map[string]map[string][]byte
	// config is the OCM configuration; it may be empty.
	config []byte
	// identity is nil when the Context asks for none.
	identity *cloud.Identity
}

// Rights are what the Context and its Secrets give.
func (a *Access) Rights() (repository.Rights, error) {
	rights, err := repository.ParseRights(a.pull, a.config)
	if err == nil && a.identity != nil {
		rights = rights.WithIdentity(a.identity)
	}
	return rights, err
}

// Access reads the pull secrets of a Context and its OCM configuration, and finds its identity.
func (f *Finder) Access(ctx context.Context, c *Context) (*Access, error) {
	found := &Access{pull: map[string]map[string][]byte{}}
	err := f.pullSecrets(ctx, c, found.pull)
	if err != nil {
		return nil, err
	}
	if found.config, err = f.ocmConfig(ctx, c); err != nil {
		return nil, err
	}
	found.identity, err = f.registryIdentity(ctx, c)
	return found, err
}

// pullSecrets adds the pull secrets of a Context to others.
func (f *Finder) pullSecrets(ctx context.Context, c *Context, found map[string]map[string][]byte) error {
	names := pullsecrets.NamesOf(c.Object.RegistryPullSecrets)
	get := pullsecrets.From(ctx, f.Live, c.Object.Namespace, false, func(name string, err error) error {
		key := client.ObjectKey{Namespace: c.Object.Namespace, Name: name}
		return unread(err, c.Field("registryPullSecrets[%d]", slices.Index(names, name)), "Secret", key)
	})
	err := pullsecrets.Reading{Field: c.Field("registryPullSecrets"), Get: get}.Into(found, names)
	if errors.Is(err, pullsecrets.ErrTooMuch) {
		return kit.Stall(jobs.ContextOperation, ReasonInvalid, "%w", err)
	}
	return err
}

// registryIdentity is the identity of the Context at its cloud; nil if it asks for none.
func (f *Finder) registryIdentity(ctx context.Context, c *Context) (*cloud.Identity, error) {
	asked := c.Object.RegistryIdentity
	if asked == nil || f.Identity == nil {
		return nil, nil
	}
	return f.Identity(ctx, cloud.Request{
		Field: c.Field("registryIdentity"), Provider: asked.Provider, Namespace: c.Object.Namespace, ServiceAccount: asked.ServiceAccountName,
	})
}

func (f *Finder) ocmConfig(ctx context.Context, c *Context) ([]byte, error) {
	if c.Object.OCMConfig == nil {
		return nil, nil
	}
	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: c.Object.Namespace, Name: c.Object.OCMConfig.Name}
	if err := f.Live.Get(ctx, key, config); err != nil {
		return nil, unread(err, c.Field("ocmConfig"), "ConfigMap", key)
	}
	content, ok := config.Data[ocmConfigKey]
	if !ok {
		return nil, lacking("%s: ConfigMap %s has no key %s; add it", c.Field("ocmConfig"), key, ocmConfigKey)
	}
	return []byte(content), nil
}

// String names the Context.
func (c *Context) String() string {
	return "Context " + client.ObjectKeyFromObject(c.Object).String()
}

// Field names a field of the Context.
func (c *Context) Field(format string, args ...any) string {
	return c.String() + ": " + fmt.Sprintf(format, args...)
}

// unread says what could not be read, and whether an event will announce it.
func unread(err error, field, kind string, key client.ObjectKey) error {
	if apierrors.IsNotFound(err) {
		return lacking("%s: %s %s not found; create it or remove the reference", field, kind, key)
	}
	return fmt.Errorf("%s: read %s %s: %w", field, kind, key, err)
}

// Tried remembers by UID of the Installation what it last used to look its component up.
type Tried struct {
	once  sync.Once
	byUID *lru.Cache[types.UID, [sha256.Size]byte]
}

// rememberedAccess is for how many Installations that is remembered.
const rememberedAccess = 1 << 14

func (t *Tried) entries() *lru.Cache[types.UID, [sha256.Size]byte] {
	t.once.Do(func() { t.byUID, _ = lru.New[types.UID, [sha256.Size]byte](rememberedAccess) })
	return t.byUID
}

// Note remembers it.
func (t *Tried) Note(inst *v1alpha1.Installation, c *Context, access *Access) {
	t.entries().Add(inst.UID, c.fingerprint(access))
}

// Forget forgets it.
func (t *Tried) Forget(inst *v1alpha1.Installation) { t.entries().Remove(inst.UID) }

// fingerprint is equal for equal content of a Context and of what it names. It stays in this process.
func (c *Context) fingerprint(access *Access) [sha256.Size]byte {
	identity := ""
	if access.identity != nil {
		identity = access.identity.Fingerprint()
	}
	raw, _ := json.Marshal([]any{c.Object.ContextConfiguration, c.Overwrites, identity, access.config, pullsecrets.Digest(access.pull)})
	return sha256.Sum256(raw)
}

// BlueprintAccessOf returns what the Context of an Installation lets blueprints use. A Context "default" that is missing says nothing. Another one that is
// missing may have said imports, so they are all that may be used.
func (f *Finder) BlueprintAccessOf(ctx context.Context, inst *v1alpha1.Installation) (v1alpha1.BlueprintAccess, error) {
	found := &v1alpha1.Context{}
	err := f.Get(ctx, KeyOf(inst), found)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Context %s: %w", KeyOf(inst), err)
	}
	if err != nil && inst.ContextName() != v1alpha1.DefaultContextName {
		return v1alpha1.BlueprintAccessImports, nil
	}
	return cmp.Or(found.BlueprintAccess, f.BlueprintAccess, v1alpha1.BlueprintAccessNamespace), nil
}

// KeyOf is the key of the Context of an Installation.
func KeyOf(inst *v1alpha1.Installation) client.ObjectKey {
	return client.ObjectKey{Namespace: inst.Namespace, Name: inst.ContextName()}
}

// RequiresVerified reports whether only sources count that Flux has verified.
func (c *Context) RequiresVerified() bool {
	return c != nil && c.Object.RequireVerifiedSources
}

// Keys reads the keys of a signature live from the Secrets that the Context names.
func (f *Finder) Keys(ctx context.Context, c *Context, name string) (*signing.Keys, error) {
	signature, ok := c.Object.VerificationSignatures[name]
	if !ok {
		return nil, kit.Stall(jobs.VerifyOperation, jobs.ReasonUnverified,
			"%s: verificationSignatures has no signature %q, which spec.verification names; add it with its key", c, name)
	}
	public, err := f.keyOf(ctx, c, name, "publicKeySecretReference", signature.PublicKeySecretReference)
	if err != nil {
		return nil, err
	}
	authorities, err := f.keyOf(ctx, c, name, "caCertificateSecretReference", signature.CaCertificateSecretReference)
	if err != nil {
		return nil, err
	}
	if public == nil && authorities == nil {
		return nil, kit.Stall(jobs.VerifyOperation, jobs.ReasonUnverified,
			"%s: verificationSignatures[%s] names neither a public key nor CA certificates; add one of them", c, name)
	}
	return &signing.Keys{PublicKey: public, Certificates: authorities}, nil
}

// keyOf reads one key; nil where there is no reference.
func (f *Finder) keyOf(ctx context.Context, c *Context, name, field string, ref *v1alpha1.SecretReference) ([]byte, error) {
	if ref == nil {
		return nil, nil
	}
	at := c.Field("verificationSignatures[%s].%s", name, field)
	key := SecretKey(c.Object.Namespace, ref)
	if key.Namespace != c.Object.Namespace && f.NoCrossNamespaceRefs {
		return nil, kit.Stall(jobs.VerifyOperation, "AccessDenied", "%s: Secret %s lies in another namespace; "+
			"copy it, or let the operator allow it with --no-cross-namespace-refs=false", at, key)
	}
	secret := &corev1.Secret{}
	if err := f.Live.Get(ctx, key, secret); err != nil {
		return nil, unread(err, at, "Secret", key)
	}
	content, ok := secret.Data[ref.Key]
	if !ok {
		return nil, lacking("%s: Secret %s has no key %q; add it or correct the reference", at, key, ref.Key)
	}
	return content, nil
}

// SecretKey returns the Secret that a reference of an object in a namespace names.
func SecretKey(namespace string, ref *v1alpha1.SecretReference) client.ObjectKey {
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return client.ObjectKey{Namespace: namespace, Name: ref.Name}
}

// Changed reports whether an Installation would use something else now, and whether it is known what it used.
func (t *Tried) Changed(inst *v1alpha1.Installation, c *Context, access *Access) (changed, known bool) {
	before, known := t.entries().Get(inst.UID)
	return before != c.fingerprint(access), known
}

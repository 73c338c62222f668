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
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// usesContext reports whether the controller needs the Context of an Installation: for its component or its sources.
func usesContext(inst *v1alpha1.Installation) bool {
	return inst.Spec.ComponentDescriptor != nil || inst.Spec.Blueprint.SourceReference != nil || inst.Spec.Verification != nil
}

// readContext finds the Context in the cache, with the overwrites that it names.
func (r *Reader) readContext(ctx context.Context, in *Reading) error {
	if !usesContext(in.inst) {
		return nil
	}
	found, err := r.findContext(ctx, in.inst)
	if err != nil {
		return r.contextFailure(in, err)
	}
	in.context = found
	return nil
}

// contextFailure gives what is missing a moment of grace, like imports: a sync creates both in any order.
func (r *Reader) contextFailure(in *Reading, err error) error {
	var missing incomplete
	if protocol.IsTransient(err) || !errors.As(err, &missing) {
		return err
	}
	if in.waited >= ImportGrace {
		return protocol.Stall(jobs.ContextOperation, jobs.ReasonContextIncomplete, "%w", err)
	}
	in.Requeue = ImportGrace
	return protocol.Wait(jobs.ContextOperation, jobs.ReasonContextIncomplete, "%w", err)
}

// contextArrived reports whether after a job that failed because its Context was incomplete nothing is missing now, or something else.
func (r *Reader) contextArrived(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	found, err := r.findContext(ctx, inst)
	if err == nil {
		err = r.checkContext(ctx, inst, found, r.SignaturePolicy.asksFor(inst))
	}
	if _, ok := errors.AsType[incomplete](err); ok {
		return err.Error() != inst.Status.LastError.Message, nil
	}
	return err == nil, transientOnly(err)
}

// transientOnly drops errors that another try does not end.
func transientOnly(err error) error {
	if protocol.IsTransient(err) {
		return err
	}
	return nil
}

// readReach reads what the blueprint may use.
func (r *Reader) readReach(ctx context.Context, in *Reading) error {
	access, err := r.blueprintAccessOf(ctx, in.inst)
	in.Reach = Reach{
		onlyImports:  access != v1alpha1.BlueprintAccessNamespace,
		installation: client.ObjectKeyFromObject(in.inst), context: contextKey(in.inst),
	}
	return err
}

// ocmConfigKey is the key of the ConfigMap that Context.ocmConfig names.
const ocmConfigKey = ".ocmconfig"

// reasonInvalidContext says that the content of a Context, or of what it names, cannot be used.
const reasonInvalidContext = "InvalidContext"

// incomplete is an error about something that is not there, or lacks a part, and that an event will announce.
type incomplete struct{ error }

func lacking(format string, args ...any) error { return incomplete{fmt.Errorf(format, args...)} }

// usedContext is what a Context gives to an Installation.
type usedContext struct {
	// Object is the Context; an empty one when "default" is missing.
	Object *v1alpha1.Context
	// Missing says that there is no Context "default".
	Missing bool
	// Overwrites of component references.
	Overwrites []v1alpha1.ComponentVersionOverwrite
}

// findContext reads Context and overwrites from caches. The Context "default" may be missing.
func (r *Reader) findContext(ctx context.Context, inst *v1alpha1.Installation) (*usedContext, error) {
	key := contextKey(inst)
	found := &usedContext{Object: &v1alpha1.Context{}}
	err := r.Get(ctx, key, found.Object)
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
		return nil, protocol.Stall(jobs.ContextOperation, reasonInvalidContext, "%s: %w", found, err)
	}
	if name := found.Object.ComponentVersionOverwritesReference; name != "" && inst.Spec.ComponentDescriptor != nil {
		found.Overwrites, err = r.overwritesOf(ctx, found, name)
	}
	return found, err
}

func (r *Reader) overwritesOf(ctx context.Context, c *usedContext, name string) ([]v1alpha1.ComponentVersionOverwrite, error) {
	object := &v1alpha1.ComponentVersionOverwrites{}
	key := client.ObjectKey{Namespace: c.Object.Namespace, Name: name}
	if err := r.Get(ctx, key, object); err != nil {
		return nil, unreadContext(err, c.Field("componentVersionOverwrites"), "ComponentVersionOverwrites", key)
	}
	if err := object.Undecoded.Err(); err != nil {
		return nil, protocol.Stall(jobs.ContextOperation, reasonInvalidContext, "ComponentVersionOverwrites %s: %w", key, err)
	}
	return object.Overwrites, nil
}

// checkContext tells what the Context of an Installation lacks, with verified also of what its signature is verified by.
func (r *Reader) checkContext(ctx context.Context, inst *v1alpha1.Installation, c *usedContext, verified bool) error {
	if inst.Spec.ComponentDescriptor == nil {
		return nil
	}
	if err := c.checkRepository(inst); err != nil {
		return err
	}
	if _, err := r.access(ctx, c); err != nil {
		return err
	}
	if verification := inst.Spec.Verification; verification != nil && verified {
		_, err := r.signatureKeys(ctx, c, verification.SignatureName)
		return err
	}
	return nil
}

// checkRepository reports whether the Context would be needed for its repository and is missing.
func (c *usedContext) checkRepository(inst *v1alpha1.Installation) error {
	definition := inst.Spec.ComponentDescriptor
	if c.Missing && definition.Reference != nil && definition.Reference.RepositoryContext == nil {
		return lacking("%s not found; create it with a repositoryContext, or set spec.componentDescriptor.ref.repositoryContext", c)
	}
	return nil
}

// access is what the namespace knows about registries; it is read live and not kept.
type access struct {
	// pull holds the data of pull secrets by name.
	pull map[string]map[string][]byte
	// config is the OCM configuration; it may be empty.
	config []byte
	// identity is nil when the Context asks for none.
	identity *oci.CloudIdentity
}

// rights are what the Context and its Secrets give.
func (a *access) rights() (repository.Rights, error) {
	rights, err := repository.ParseRights(a.pull, a.config)
	if err == nil && a.identity != nil {
		rights = rights.WithIdentity(a.identity)
	}
	return rights, err
}

// access reads the pull secrets of a Context and its OCM configuration, and finds its identity.
func (r *Reader) access(ctx context.Context, c *usedContext) (*access, error) {
	found := &access{pull: map[string]map[string][]byte{}}
	err := r.pullSecrets(ctx, c, found.pull)
	if err != nil {
		return nil, err
	}
	if found.config, err = r.ocmConfig(ctx, c); err != nil {
		return nil, err
	}
	found.identity, err = r.registryIdentity(ctx, c)
	return found, err
}

// pullSecrets adds the pull secrets of a Context to others.
func (r *Reader) pullSecrets(ctx context.Context, c *usedContext, found map[string]map[string][]byte) error {
	names := pullsecrets.NamesOf(c.Object.RegistryPullSecrets)
	get := pullsecrets.From(ctx, r.Live, c.Object.Namespace, false, func(name string, err error) error {
		key := client.ObjectKey{Namespace: c.Object.Namespace, Name: name}
		return unreadContext(err, c.Field("registryPullSecrets[%d]", slices.Index(names, name)), "Secret", key)
	})
	err := pullsecrets.Reading{Field: c.Field("registryPullSecrets"), Get: get}.Into(found, names)
	if errors.Is(err, pullsecrets.ErrTooMuch) {
		return protocol.Stall(jobs.ContextOperation, reasonInvalidContext, "%w", err)
	}
	return err
}

// registryIdentity is the identity of the Context at its cloud; nil if it asks for none.
func (r *Reader) registryIdentity(ctx context.Context, c *usedContext) (*oci.CloudIdentity, error) {
	asked := c.Object.RegistryIdentity
	if asked == nil || r.Identity == nil {
		return nil, nil
	}
	return r.Identity(ctx, oci.IdentityRequest{
		Field: c.Field("registryIdentity"), Provider: asked.Provider, Namespace: c.Object.Namespace, ServiceAccount: asked.ServiceAccountName,
	})
}

func (r *Reader) ocmConfig(ctx context.Context, c *usedContext) ([]byte, error) {
	if c.Object.OCMConfig == nil {
		return nil, nil
	}
	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: c.Object.Namespace, Name: c.Object.OCMConfig.Name}
	if err := r.Live.Get(ctx, key, config); err != nil {
		return nil, unreadContext(err, c.Field("ocmConfig"), "ConfigMap", key)
	}
	content, ok := config.Data[ocmConfigKey]
	if !ok {
		return nil, lacking("%s: ConfigMap %s has no key %s; add it", c.Field("ocmConfig"), key, ocmConfigKey)
	}
	return []byte(content), nil
}

// String names the Context.
func (c *usedContext) String() string {
	return "Context " + client.ObjectKeyFromObject(c.Object).String()
}

// Field names a field of the Context.
func (c *usedContext) Field(format string, args ...any) string {
	return c.String() + ": " + fmt.Sprintf(format, args...)
}

// unreadContext says what could not be read, and whether an event will announce it.
func unreadContext(err error, field, kind string, key client.ObjectKey) error {
	if apierrors.IsNotFound(err) {
		return lacking("%s: %s %s not found; create it or remove the reference", field, kind, key)
	}
	return fmt.Errorf("%s: read %s %s: %w", field, kind, key, err)
}

// tried remembers by UID of the Installation what it last used to look its component up.
type tried struct {
	once  sync.Once
	byUID *lru.Cache[types.UID, [sha256.Size]byte]
}

// rememberedAccess is for how many Installations that is remembered.
const rememberedAccess = 1 << 14

func (t *tried) entries() *lru.Cache[types.UID, [sha256.Size]byte] {
	t.once.Do(func() { t.byUID, _ = lru.New[types.UID, [sha256.Size]byte](rememberedAccess) })
	return t.byUID
}

// note remembers it.
func (t *tried) note(inst *v1alpha1.Installation, c *usedContext, access *access) {
	t.entries().Add(inst.UID, c.fingerprint(access))
}

// forget forgets it.
func (t *tried) forget(inst *v1alpha1.Installation) { t.entries().Remove(inst.UID) }

// fingerprint is equal for equal content of a Context and of what it names. It stays in this process.
func (c *usedContext) fingerprint(access *access) [sha256.Size]byte {
	identity := ""
	if access.identity != nil {
		identity = access.identity.Fingerprint()
	}
	raw, _ := json.Marshal([]any{c.Object.ContextConfiguration, c.Overwrites, identity, access.config, pullsecrets.Digest(access.pull)})
	return sha256.Sum256(raw)
}

// blueprintAccessOf returns what the Context of an Installation lets blueprints use. A Context "default" that is missing says nothing. Another one that is
// missing may have said imports, so they are all that may be used.
func (r *Reader) blueprintAccessOf(ctx context.Context, inst *v1alpha1.Installation) (v1alpha1.BlueprintAccess, error) {
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

// contextKey is the key of the Context of an Installation.
func contextKey(inst *v1alpha1.Installation) client.ObjectKey {
	return client.ObjectKey{Namespace: inst.Namespace, Name: inst.ContextName()}
}

// requiresVerified reports whether only sources count that Flux has verified.
func (c *usedContext) requiresVerified() bool {
	return c != nil && c.Object.RequireVerifiedSources
}

// signatureKeys reads the keys of a signature live from the Secrets that the Context names.
func (r *Reader) signatureKeys(ctx context.Context, c *usedContext, name string) (*component.Keys, error) {
	signature, ok := c.Object.VerificationSignatures[name]
	if !ok {
		return nil, protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified,
			"%s: verificationSignatures has no signature %q, which spec.verification names; add it with its key", c, name)
	}
	public, err := r.signatureKey(ctx, c, name, "publicKeySecretReference", signature.PublicKeySecretReference)
	if err != nil {
		return nil, err
	}
	authorities, err := r.signatureKey(ctx, c, name, "caCertificateSecretReference", signature.CaCertificateSecretReference)
	if err != nil {
		return nil, err
	}
	if public == nil && authorities == nil {
		return nil, protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified,
			"%s: verificationSignatures[%s] names neither a public key nor CA certificates; add one of them", c, name)
	}
	return &component.Keys{PublicKey: public, Certificates: authorities}, nil
}

// signatureKey reads one key; nil where there is no reference.
func (r *Reader) signatureKey(ctx context.Context, c *usedContext, name, field string, ref *v1alpha1.SecretReference) ([]byte, error) {
	if ref == nil {
		return nil, nil
	}
	at := c.Field("verificationSignatures[%s].%s", name, field)
	key := secretKey(c.Object.Namespace, ref)
	if key.Namespace != c.Object.Namespace && r.NoCrossNamespaceRefs {
		return nil, protocol.Stall(jobs.VerifyOperation, "AccessDenied", "%s: Secret %s lies in another namespace; "+
			"copy it, or let the operator allow it with --no-cross-namespace-refs=false", at, key)
	}
	secret := &corev1.Secret{}
	if err := r.Live.Get(ctx, key, secret); err != nil {
		return nil, unreadContext(err, at, "Secret", key)
	}
	content, ok := secret.Data[ref.Key]
	if !ok {
		return nil, lacking("%s: Secret %s has no key %q; add it or correct the reference", at, key, ref.Key)
	}
	return content, nil
}

// secretKey returns the Secret that a reference of an object in a namespace names.
func secretKey(namespace string, ref *v1alpha1.SecretReference) client.ObjectKey {
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return client.ObjectKey{Namespace: namespace, Name: ref.Name}
}

// changed reports whether an Installation would use something else now, and whether it is known what it used.
func (t *tried) changed(inst *v1alpha1.Installation, c *usedContext, access *access) (changed, known bool) {
	before, known := t.entries().Get(inst.UID)
	return before != c.fingerprint(access), known
}

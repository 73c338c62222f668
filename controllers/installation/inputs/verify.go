// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fluxcd/pkg/runtime/conditions"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// SignaturePolicy says which components need a verified signature.
type SignaturePolicy string

// Policies for signatures.
const (
	// Enforce verifies every component; an Installation that does not say by which signature fails.
	Enforce SignaturePolicy = "Enforce"
	// DoNotEnforce verifies the components of Installations that ask for it.
	DoNotEnforce SignaturePolicy = "DoNotEnforce"
	// Disabled verifies nothing.
	Disabled SignaturePolicy = "Disabled"
)

// SignaturePolicies are all policies.
var SignaturePolicies = []string{string(Enforce), string(DoNotEnforce), string(Disabled)}

const (
	reasonVerified     = "SignatureVerified"
	reasonCovered      = "CoveredBySignature"
	reasonNotRequested = "VerificationNotRequested"
)

// asksFor reports whether the component of a root has to be verified.
func (p SignaturePolicy) asksFor(root *v1alpha1.Installation) bool {
	return p == Enforce || p != Disabled && root.Spec.Verification != nil
}

// verifyComponent checks the signature of the component, once for a job. A sub-installation is covered by the signature that its root asks
// for: its components have to be among those that this signature covers.
func (r *Reader) verifyComponent(ctx context.Context, in *Reading) error {
	root, err := r.related().Root(ctx, in.inst)
	if err != nil {
		return err
	}
	if !r.SignaturePolicy.asksFor(root) {
		conditions.Delete(in.inst, v1alpha1.ComponentVerifiedCondition)
		return nil
	}
	reason := reasonVerified
	if root.UID == in.inst.UID {
		err = r.verifyRoot(ctx, in.inst, in.context, in.Component)
	} else {
		reason, err = reasonCovered, r.verifyCovered(ctx, in, root)
	}
	if err != nil {
		return in.unverified(r.componentFailure(in, err))
	}
	if in.Component != nil {
		conditions.MarkTrue(in.inst, v1alpha1.ComponentVerifiedCondition, reason, "%s", in.Component.verified)
	}
	return in.unverified(r.verifyBlueprint(ctx, in))
}

// verifyBlueprint refuses under Enforce every blueprint that nobody has verified. Good are the content of a resource that the signature of the
// component covers, a source that Flux has verified, and what the verified blueprint of the parent holds in place.
func (r *Reader) verifyBlueprint(ctx context.Context, in *Reading) error {
	if r.SignaturePolicy != Enforce {
		return nil
	}
	definition := &in.inst.Spec.Blueprint
	switch {
	case in.source != nil && in.source.status.Verified:
		return nil
	case in.source != nil:
		return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "spec.blueprint.sourceRef: this landscaper runs verified blueprints only, and Flux has not "+
			"verified %s %s; set spec.verify there, or name a resource of the component in spec.blueprint.ref", definition.SourceReference.Kind, definition.SourceReference.Name)
	case definition.Inline != nil:
		return r.verifyInPlace(ctx, in)
	case definition.Reference != nil && in.Component != nil:
		return in.Component.covers(definition.Reference.ResourceName)
	}
	return nil
}

// verifyInPlace accepts the blueprint in place that the verified blueprint of the parent holds.
func (r *Reader) verifyInPlace(ctx context.Context, in *Reading) error {
	parent, err := r.related().ListingParent(ctx, in.inst, isSealed)
	var refused *protocol.Failure
	if err == nil && parent == nil || errors.As(err, &refused) {
		return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "spec.blueprint.inline: this landscaper runs verified blueprints only, and this one is not "+
			"what the verified blueprint of a parent holds; publish it in the component and name it in spec.blueprint.ref")
	}
	return err
}

// covers refuses a blueprint that the signature of its component leaves out. A resource that is not there is found out where it is read.
func (f *Component) covers(resource string) error {
	found, err := f.root.Descriptor.FindResource(map[string]string{"name": resource})
	if err != nil || found.Digest.Covered() {
		return nil
	}
	return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "spec.blueprint.ref.resourceName: the signature of component %s does not cover resource %q; "+
		"sign the component with a digest of it", f.root.Descriptor.Key(), resource)
}

// InPlaceDigest returns the digest of a blueprint written in place. It is the same for every way to write the same JSON.
func InPlaceDigest(raw []byte) (string, error) {
	var filesystem any
	if err := utiljson.Unmarshal(raw, &filesystem); err != nil {
		return "", fmt.Errorf("spec.blueprint.inline.filesystem is not JSON: %w", err)
	}
	plain, err := json.Marshal(filesystem)
	if err != nil {
		return "", fmt.Errorf("encode spec.blueprint.inline.filesystem: %w", err)
	}
	sum := sha256.Sum256(plain)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// unverified shows a failed verification in the condition, too.
func (in *Reading) unverified(err error) error {
	var failure *protocol.Failure
	if errors.As(err, &failure) && failure.Kind == protocol.Stalled {
		conditions.MarkFalse(in.inst, v1alpha1.ComponentVerifiedCondition, failure.Reason, "%s", failure.Error())
	}
	return err
}

// verifyRoot checks the signature that a root names.
func (r *Reader) verifyRoot(ctx context.Context, root *v1alpha1.Installation, c *usedContext, found *Component) error {
	if root.Spec.Verification == nil {
		return protocol.Stall(jobs.VerifyOperation, reasonNotRequested,
			"spec.verification: this landscaper accepts verified components only; name the signature in spec.verification.signatureName")
	}
	name := root.Spec.Verification.SignatureName
	if found == nil {
		return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "spec.componentDescriptor: there is no component that signature %q could be verified of; "+
			"set it or remove spec.verification", name)
	}
	found.verifying.Lock()
	defer found.verifying.Unlock()
	if found.verified != "" {
		return nil
	}
	keys, err := r.signatureKeys(ctx, c, name)
	if err != nil {
		return err
	}
	closed, err := component.Verify(ctx, found.closed, name, *keys, nil)
	if err != nil {
		return notVerified(ctx, err)
	}
	found.take(closed, fmt.Sprintf("signature %q of component %s is verified", name, closed.Root.Key()))
	return nil
}

// notVerified says that a person has to look at a signature, unless the job ended before it was checked.
func notVerified(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "spec.verification: %w", err)
}

// take goes on with verified descriptors: they hold the digests that content is compared with later.
func (f *Component) take(closed *component.Closed, why string) {
	root := *f.root
	root.Descriptor = closed.Root
	f.root, f.closed, f.verified = &root, closed, why
}

// verifyCovered takes the component of a sub-installation, with everything behind it, from what the verified signature of the root covers.
func (r *Reader) verifyCovered(ctx context.Context, in *Reading, root *v1alpha1.Installation) error {
	found := in.Component
	if found == nil || found.verified != "" {
		return nil
	}
	c, err := r.findContext(ctx, root)
	if err != nil {
		return err
	}
	if root.Spec.ComponentDescriptor == nil {
		return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "root installation %s has no component that a signature covers", root.Name)
	}
	covering, err := r.componentOf(ctx, &in.Inputs, root, c)
	if err != nil {
		return fmt.Errorf("component of root installation %s: %w", root.Name, err)
	}
	if err := r.verifyRoot(ctx, root, c, covering); err != nil {
		return err
	}
	own, err := covering.behind(ctx, found.root.Descriptor.Key())
	if err != nil {
		return protocol.Stall(jobs.VerifyOperation, jobs.ReasonUnverified, "component of root installation %s: %s does not cover it: %w", root.Name, covering.verified, err)
	}
	found.take(own, fmt.Sprintf("covered by root installation %s: %s", root.Name, covering.verified))
	return nil
}

// behind returns a component of the closure with everything that it refers to itself.
func (f *Component) behind(ctx context.Context, key component.Key) (*component.Closed, error) {
	root := f.closed.Find(key)
	if root == nil {
		return nil, fmt.Errorf("component %s is not among the components behind %s: %w", key, f.closed.Root.Key(), component.ErrNotFound)
	}
	resolver := component.Resolver(func(_ context.Context, _ component.Key, hint component.Hint) (*component.Descriptor, error) {
		return f.closed.Follow(hint.Reference)
	})
	return component.Closure(ctx, root, resolver, component.Limits{})
}

// isSealed reports whether the parent has recorded the blueprint in place of a sub-installation for the job that both run.
func isSealed(parent, inst *v1alpha1.Installation) error {
	digest, err := InPlaceDigest(inst.Spec.Blueprint.Inline.Filesystem.RawMessage)
	if err != nil {
		return err
	}
	if recorded := parent.Status.SubInstCache.Find(inst.Name).BlueprintDigest; recorded != digest || parent.Status.JobID != inst.Status.JobID {
		return fmt.Errorf("the verified blueprint of installation %s does not hold this one", parent.Name)
	}
	return nil
}

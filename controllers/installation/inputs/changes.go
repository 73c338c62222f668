// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// accessReasons are the ways in which a job fails that another content of the Context, or of what it names, may end.
var accessReasons = map[string][]string{
	reasonUnauthorized:   {jobs.ComponentOperation, jobs.SatisfyOperation, jobs.RenderOperation, jobs.ExportOperation},
	reasonInvalidContext: {jobs.ContextOperation},
}

// ChangedContextOf tells the same of the Installation alone.
func (r *Reader) ChangedContextOf(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	last := inst.Status.LastError
	switch {
	case inst.Status.Phase != v1alpha1.PhaseFailed || last == nil:
		return "", nil
	case last.Reason == jobs.ReasonBeyondImports:
		access, err := r.blueprintAccessOf(ctx, inst)
		return jobs.ReasonIf(access == v1alpha1.BlueprintAccessNamespace, "blueprints may use the namespace now"), err
	case last.Operation == jobs.ContextOperation && last.Reason == jobs.ReasonContextIncomplete:
		arrived, err := r.contextArrived(ctx, inst)
		return jobs.ReasonIf(arrived, "what the Context was missing is there"), err
	case slices.Contains(accessReasons[last.Reason], last.Operation):
		changed, err := r.accessChanged(ctx, inst)
		return jobs.ReasonIf(changed, "the Context, or a Secret that it names, changed"), err
	}
	return "", nil
}

// accessChanged reports whether an Installation may use something else now than its failed job did. Parts that are missing now count as
// unchanged: their next event comes back here. After a restart nobody knows what the job used, so the registry is asked.
func (r *Reader) accessChanged(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	c, err := r.findContext(ctx, inst)
	if err != nil {
		return false, transientOnly(err)
	}
	secrets, err := r.access(ctx, c)
	var identity *fault.Error
	switch {
	case errors.Is(err, oci.ErrIdentity) && errors.As(err, &identity):
		return !strings.Contains(inst.Status.LastError.Message, identity.Error()), nil
	case err != nil:
		return false, transientOnly(err)
	}
	if changed, known := r.tried.changed(inst, c, secrets); known {
		return changed, nil
	}
	found, err := r.findComponent(ctx, inst, c)
	if err == nil {
		found.session.Close()
	}
	return reasonOf(err) != inst.Status.LastError.Reason, nil
}

// reasonOf says in one word why a component was not found; "" if it was.
func reasonOf(err error) string {
	var failure *protocol.Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failure):
		return failure.Reason
	}
	reason, _ := repositoryReason(err)
	return reason
}

// HealedImports says which change of what an Installation imports may end the failure of its last job: what was missing is there, or, of a job that failed
// over a value, the content is other than what the job read. "" is none.
func (r *Reader) HealedImports(ctx context.Context, inst *v1alpha1.Installation, overValue bool) (string, error) {
	last := inst.Status.LastError
	missed := last != nil && last.Operation == jobs.ImportOperation && last.Reason == jobs.ReasonImportNotFound
	if inst.Status.Phase != v1alpha1.PhaseFailed || !missed && (!overValue || inst.Status.ImportsHash == "") {
		return "", nil
	}
	found, err := r.collect(ctx, inst)
	switch {
	case isUnread(err):
		return "", UnreadSource{err}
	case err != nil:
		return "", nil
	case missed:
		return "the imports that were missing are there", nil
	}
	return jobs.ReasonIf(found.Hash() != inst.Status.ImportsHash, "the content of an import changed, and the last job failed over it"), nil
}

// MissingImport says which object that an Installation imports does not exist; "" when all do. known is what it said before.
func (r *Reader) MissingImport(ctx context.Context, inst *v1alpha1.Installation, known string) (string, error) {
	missing := r.missingImport(ctx, inst)
	switch {
	case missing == nil:
		return "", nil
	case isUnread(missing):
		return "", missing
	case missing.Error() == known:
		return known, nil
	}
	isThere, err := r.isOnServer(ctx, missing)
	return jobs.ReasonIf(err == nil && !isThere, missing.Error()), err
}

// ChangedImports reports whether the content of an import is another than the last job used, where an annotation asks for it. Imports
// that are not there, or not as they have to be, count as unchanged: their next event comes back here. The new content counts as used from
// now on, however the job ends.
func (r *Reader) ChangedImports(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if inst.Annotations[v1alpha1.ReconcileIfImportsChangedAnnotation] != "true" || inst.Status.ImportsHash == "" {
		return "", nil
	}
	found, err := r.collect(ctx, inst)
	if isUnread(err) {
		return "", UnreadSource{err}
	}
	if err != nil || found.Hash() == inst.Status.ImportsHash {
		return "", nil
	}
	inst.Status.ImportsHash = found.Hash()
	return "the content of an import changed", nil
}

// ChangedSource tells which referenced source has other content than the last job used. A new revision that cannot be read now is tried
// again, and one that can never be read starts a job that fails visibly. What the next event of the source ends counts as unchanged.
func (r *Reader) ChangedSource(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	for _, use := range sourceUses(inst) {
		current, err := r.currentSource(ctx, inst, use)
		reason, err := judgeSource(inst.Status.Sources, current, err)
		if reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// NoteSources records the present states of the sources of a job that begins: it counts as having tried them, also when it fails before it reads them.
func (r *Reader) NoteSources(ctx context.Context, inst *v1alpha1.Installation) {
	for _, use := range sourceUses(inst) {
		found, err := flux.Lookup(ctx, r.Reader, inst.Namespace, *use.ref, flux.Policy{NoCrossNamespaceRefs: r.NoCrossNamespaceRefs})
		if err != nil {
			continue // the next state of the source is another one
		}
		state := found.Status()
		same := func(known v1alpha1.SourceStatus) bool {
			return known.Kind == state.Kind && known.Namespace == state.Namespace && known.Name == state.Name
		}
		if at := slices.IndexFunc(inst.Status.Sources, same); at < 0 {
			inst.Status.Sources = append(inst.Status.Sources, state)
		} else if inst.Status.Sources[at].Revision != state.Revision {
			inst.Status.Sources[at] = state
		}
	}
}

// ChangedFolder tells the same of the folder that a sub-installation takes from a source of its root. A revision that the root has tried counts
// as used.
func (r *Reader) ChangedFolder(ctx context.Context, root, child *v1alpha1.Installation) (string, error) {
	used := slices.Clone(child.Status.Sources)
	for _, tried := range root.Status.Sources {
		tried.ContentDigest = "" // that of another folder
		used = append(used, tried)
	}
	if len(child.Status.Sources) == 0 {
		return "", nil
	}
	for _, use := range sourceUses(child) {
		current, err := r.currentSource(ctx, child, use)
		if reason, err := judgeSource(used, current, err); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// UnreadSource is why nobody knows whether a source or an import changed, or why a copy of an import stays where it is. It is tried again and not shown: the
// last job stands.
type UnreadSource struct{ Cause error }

// Error says what the cause says.
func (u UnreadSource) Error() string { return u.Cause.Error() }

// Unwrap returns the cause.
func (u UnreadSource) Unwrap() error { return u.Cause }

// judgeSource returns why the present state of a source asks for a job after one that used others; "" when it does not. Current is nil where
// the source says itself that it has nothing to use; it has no content digest where err says why the artifact could not be read.
func judgeSource(used []v1alpha1.SourceStatus, current *resolvedSource, err error) (string, error) {
	if current == nil {
		return "", sourceToCome(err)
	}
	if slices.ContainsFunc(used, func(used v1alpha1.SourceStatus) bool { return sameSource(used, current.status) }) {
		return "", nil
	}
	failure := protocol.AsFailure(jobs.Operation, sourceFailure("", err))
	if err != nil && failure.Kind != protocol.Stalled {
		return "", UnreadSource{err}
	}
	return fmt.Sprintf("%s %s/%s has revision %s", current.status.Kind, current.status.Namespace, current.status.Name, current.status.Revision), nil
}

// sourceToCome returns nil when an event of the source ends a problem, and otherwise that it has to be looked at again: kinds that are installed
// later send no events.
func sourceToCome(err error) error {
	var problem *flux.Error
	if protocol.IsTransient(err) || errors.As(err, &problem) && problem.Reason == flux.NotInstalled {
		return UnreadSource{err}
	}
	return nil
}

// currentSource reads a source as a job would.
func (r *Reader) currentSource(ctx context.Context, inst *v1alpha1.Installation, use sourceUse) (*resolvedSource, error) {
	found, err := r.findContext(ctx, inst)
	if err != nil {
		return nil, err
	}
	return r.lookupSource(ctx, inst, use, found.requiresVerified())
}

// sameSource reports whether two states of a source hold the same for us. A GitRepository or Bucket is shared by many
// things, so only the content of the used path counts; an OCIRepository or ExternalArtifact is one published thing, so its
// revision counts.
func sameSource(used, current v1alpha1.SourceStatus) bool {
	if used.Kind != current.Kind || used.Namespace != current.Namespace || used.Name != current.Name {
		return false
	}
	if used.Revision == current.Revision {
		return true
	}
	return sharedKind(current.Kind) && used.ContentDigest != "" && used.ContentDigest == current.ContentDigest
}

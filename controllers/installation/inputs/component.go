// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fluxcd/pkg/runtime/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Component is the component of a job with everything that it refers to. It is read-only once the job has verified it.
type Component struct {
	root    *repository.Root
	closed  *component.Closed
	session *repository.Session
	// lease closes the session.
	lease lease
	// standard is the default repository of the Context; zero when it has none.
	standard component.Typed
	// overwritable says that the Context names overwrites.
	overwritable bool
	// verifying guards root, closed and verified until verified is set: sub-installations may verify the component of their root.
	verifying sync.Mutex
	// verified says why the component counts as verified; empty as long as it does not.
	verified string
}

// resolveComponent finds the component and all that it refers to, once for a job.
func (r *Reader) resolveComponent(ctx context.Context, in *Reading) error {
	in.Component = nil
	if in.inst.Spec.ComponentDescriptor != nil {
		found, err := r.componentOf(ctx, &in.Inputs, in.inst, in.context)
		if err != nil {
			return r.componentFailure(in, err)
		}
		in.Component = found
	}
	in.showOverwrite()
	in.listSources()
	return nil
}

// componentOf returns the component of the running job of an Installation, which may be another than that of the reconciliation. It is
// usable until the reconciliation ends.
func (r *Reader) componentOf(ctx context.Context, in *Inputs, inst *v1alpha1.Installation, c *usedContext) (*Component, error) {
	if kept, ok := r.components.Recall(in, inst); ok {
		return kept, nil
	}
	found, err := r.findComponent(ctx, inst, c)
	if err != nil {
		return nil, err
	}
	in.keepOpen(found)
	r.components.Keep(inst, found, found, 0)
	return found, nil
}

func (r *Reader) findComponent(ctx context.Context, inst *v1alpha1.Installation, c *usedContext) (*Component, error) {
	definition := inst.Spec.ComponentDescriptor
	if err := c.checkRepository(inst); err != nil {
		return nil, err
	}
	secrets, err := r.access(ctx, c)
	if err != nil {
		r.tried.forget(inst) // what an earlier job used may be just what ends this failure
		return nil, err
	}
	r.tried.note(inst, c, secrets)
	rights, err := secrets.rights()
	if err != nil {
		return nil, protocol.Stall(jobs.ContextOperation, reasonInvalidContext, "%s: %w", c, err)
	}
	for _, warning := range rights.Warnings() {
		ctrl.LoggerFrom(ctx).Info("a login is left out", "context", client.ObjectKeyFromObject(c.Object), "reason", warning)
	}
	found := &Component{overwritable: c.Object.ComponentVersionOverwritesReference != ""}
	if found.standard, err = defaultRepository(c); err != nil {
		return nil, err
	}
	found.session = r.Repositories.Open(repository.Scope{
		Namespace: inst.Namespace, Repository: c.Object.RepositoryContext, Rights: rights, Overwrites: c.Overwrites,
		RequireVerified: c.requiresVerified(),
	})
	found.lease.close = found.session.Close
	if err := found.resolve(ctx, definition); err != nil {
		found.session.Close()
		return nil, fmt.Errorf("spec.componentDescriptor: %w", err)
	}
	return found, nil
}

// resolve looks the component up, and everything that it refers to.
func (f *Component) resolve(ctx context.Context, definition *v1alpha1.ComponentDescriptorDefinition) (err error) {
	if f.root, err = f.session.Root(ctx, *definition); err != nil {
		return err
	}
	f.closed, err = f.session.Closure(ctx, f.root.Descriptor)
	return err
}

// weight is how many bytes the component takes in memory; none where there is no component.
func (f *Component) weight() int64 {
	if f == nil || f.session == nil {
		return 0
	}
	return f.session.Weight()
}

func defaultRepository(c *usedContext) (component.Typed, error) {
	if c.Object.RepositoryContext == nil || len(c.Object.RepositoryContext.RawMessage) == 0 {
		return component.Typed{}, nil
	}
	found, err := component.ParseTyped(c.Object.RepositoryContext.RawMessage)
	if err != nil {
		return found, protocol.Stall(jobs.ContextOperation, reasonInvalidContext, "%s: %w", c.Field("repositoryContext"), err)
	}
	return found, nil
}

// componentFailure says who can end a problem with a component. A lost connection is the one to the API server, unless an edge has said which content
// it could not get.
func (r *Reader) componentFailure(in *Reading, err error) error {
	var failure *protocol.Failure
	var missing incomplete
	var source *flux.Error
	switch {
	case errors.Is(err, oci.ErrIdentity):
		return in.identityFailure(err)
	case errors.As(err, &failure), protocol.IsTransient(err) && !errors.As(err, new(*fault.Error)):
		return err
	case errors.As(err, &missing):
		return r.contextFailure(in, err)
	case errors.As(err, &source) && source.Waiting:
		return protocol.Wait(jobs.ComponentOperation, string(source.Reason), "%w", err)
	case errors.As(err, &source):
		return protocol.Stall(jobs.ComponentOperation, string(source.Reason), "%w", err)
	case errors.Is(err, fetch.ErrGone):
		return protocol.Again(jobs.ComponentOperation, "ArtifactGone", "%w", err)
	}
	reason, codes := repositoryReason(err)
	if reason == reasonUnauthorized {
		err = in.withTrigger(err)
	}
	switch fault.KindOf(err) {
	case fault.Waiting:
		return protocol.Wait(jobs.ComponentOperation, reason, "%w", err)
	case fault.Stalled:
		return &protocol.Failure{Kind: protocol.Stalled, Operation: jobs.ComponentOperation, Reason: reason, Codes: codes, Err: err}
	}
	return protocol.Again(jobs.ComponentOperation, reason, "%w", err)
}

// identityFailure is for an identity that cannot log in at its cloud. What it needs of a ServiceAccount is announced by no event.
func (in *Reading) identityFailure(err error) error {
	failure := protocol.Again(jobs.ComponentOperation, reasonUnauthorized, "%w", err)
	if fault.KindOf(err) == fault.Stalled {
		failure = protocol.Stall(jobs.ComponentOperation, reasonUnauthorized, "%w", in.withTrigger(err))
	}
	return protocol.Coded(failure, v1alpha1.ErrorUnauthorized)
}

// repositoryReason says in one word what failed.
func repositoryReason(err error) (string, []v1alpha1.ErrorCode) {
	switch {
	case errors.Is(err, oci.ErrUnauthorized), errors.Is(err, oci.ErrIdentity):
		return reasonUnauthorized, []v1alpha1.ErrorCode{v1alpha1.ErrorUnauthorized}
	case errors.Is(err, repository.ErrRepositoryMissing):
		return "RepositoryContextMissing", []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
	case errors.Is(err, component.ErrNotFound), errors.Is(err, oci.ErrNotFound):
		return "ComponentNotFound", []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
	}
	return "ComponentNotResolved", []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
}

// showOverwrite tells in a condition whether overwrites changed the reference to the component.
func (in *Reading) showOverwrite() {
	switch {
	case in.Component == nil || !in.Component.overwritable:
		conditions.Delete(in.inst, v1alpha1.ComponentReferenceOverwriteCondition)
	case in.Component.root.Overwrite == "":
		conditions.MarkFalse(in.inst, v1alpha1.ComponentReferenceOverwriteCondition, "NoOverwriteDefined", "no overwrite matches the component reference")
	default:
		conditions.MarkTrue(in.inst, v1alpha1.ComponentReferenceOverwriteCondition, "FoundOverwrite", "%s", in.Component.root.Overwrite)
	}
}

// listSources adds the sources that component repositories lie in to those that the Installation names.
func (in *Reading) listSources() {
	if in.Component == nil {
		return
	}
	for _, used := range in.Component.session.SourcesUsed() {
		known := slices.ContainsFunc(in.inst.Status.Sources, func(listed v1alpha1.SourceStatus) bool {
			return listed.Kind == used.Kind && listed.Namespace == used.Namespace && listed.Name == used.Name
		})
		if !known {
			in.inst.Status.Sources = append(in.inst.Status.Sources, used)
		}
	}
}

const (
	// reasonUnauthorized says that a registry refused the logins of the Context.
	reasonUnauthorized = "Unauthorized"
)

// withTrigger adds to an error about access what else there is to do for an Installation that does not follow changes.
func (in *Reading) withTrigger(err error) error {
	if !in.inst.IsRoot() || jobs.FollowsChanges(in.inst) {
		return err
	}
	return fmt.Errorf("%w; then annotate the installation with %s=%s", err, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
}

// ChildBlueprint returns the blueprint of a sub-installation and its component: that of the parent for a blueprint in place, and the one
// that a reference leads to. One in another folder comes from where that of the parent comes from.
func (in *Inputs) ChildBlueprint(inst *v1alpha1.Installation, template *model.InstallationTemplate) (*v1alpha1.BlueprintDefinition, *v1alpha1.ComponentDescriptorDefinition, error) {
	if to := template.Blueprint.Path; to != "" {
		beside := inst.Spec.Blueprint.DeepCopy()
		var err error
		if beside.Path, err = model.Beside(inst.Spec.Blueprint.Path, to); err != nil {
			return nil, nil, fmt.Errorf("blueprint.path: %w", err)
		}
		return beside, inst.Spec.ComponentDescriptor, nil
	}
	if len(template.Blueprint.Filesystem.RawMessage) > 0 {
		inline := &v1alpha1.InlineBlueprint{Filesystem: template.Blueprint.Filesystem}
		return &v1alpha1.BlueprintDefinition{Inline: inline}, inst.Spec.ComponentDescriptor, nil
	}
	reference, descriptor, err := in.followBlueprint(inst, template.Blueprint.Ref)
	if err != nil {
		return nil, nil, fmt.Errorf("blueprint.ref %q: %w", template.Blueprint.Ref, err)
	}
	return &v1alpha1.BlueprintDefinition{Reference: reference}, descriptor, nil
}

// followBlueprint returns the resource that a cd:// URI leads to and the component that it is in.
func (in *Inputs) followBlueprint(inst *v1alpha1.Installation, uri string) (*v1alpha1.BlueprintReference, *v1alpha1.ComponentDescriptorDefinition, error) {
	if in.Component == nil {
		return nil, nil, errors.New("no component descriptor defined to resolve the blueprint ref; set spec.componentDescriptor or use blueprint.filesystem")
	}
	way, err := component.ParseReference(uri)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := in.Component.closed.Locate(in.Component.root.Descriptor, way); err != nil {
		return nil, nil, err
	}
	resource := &v1alpha1.BlueprintReference{ResourceName: way.Resource["name"]}
	if len(way.Path) == 0 {
		return resource, inst.Spec.ComponentDescriptor, nil
	}
	descriptor, err := in.Component.child(way.Path)
	return resource, descriptor, err
}

// child describes the component that references lead to, as a sub-installation finds it by itself. The last reference is passed on as it
// is written: the child applies overwrites to it.
func (f *Component) child(path []map[string]string) (*v1alpha1.ComponentDescriptorDefinition, error) {
	last := len(path) - 1
	from, err := f.closed.Component(f.root.Descriptor, path[:last])
	if err != nil {
		return nil, err
	}
	reference, err := from.FindReference(path[last])
	if err != nil {
		return nil, err
	}
	if inline, err := f.embedded(reference); inline != nil || err != nil {
		return inline, err
	}
	out := &v1alpha1.ComponentDescriptorReference{ComponentName: reference.ComponentName, Version: reference.Version}
	if where := f.root.Repository; !where.IsZero() {
		raw := v1alpha1.NewAnyJSON(where.Raw)
		out.RepositoryContext = &raw
	}
	return &v1alpha1.ComponentDescriptorDefinition{Reference: out}, nil
}

// embedded returns the descriptor that an inline component carries in a reference, unless an overwrite leads elsewhere.
func (f *Component) embedded(reference *component.Reference) (*v1alpha1.ComponentDescriptorDefinition, error) {
	if f.root.Definition.Inline == nil {
		return nil, nil
	}
	found, err := reference.Embedded()
	if err != nil || found == nil {
		return nil, err
	}
	if target, err := f.closed.Follow(reference); err != nil || target.Key() != reference.Key() {
		return nil, err
	}
	for i := range reference.Labels {
		if reference.Labels[i].Name == component.LabelEmbedded {
			raw, err := json.Marshal(reference.Labels[i].Value)
			inline := v1alpha1.NewAnyJSON(raw)
			return &v1alpha1.ComponentDescriptorDefinition{Inline: &inline}, err
		}
	}
	return nil, nil
}

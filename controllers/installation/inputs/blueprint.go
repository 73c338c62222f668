// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Blueprint is a blueprint with its files, or the problem that it has. It is read-only and shared between jobs.
type Blueprint struct {
	digest   string
	files    fs.FS
	Document *model.Blueprint
	schemas  *schema.Validator
	problem  error
	// bytes is what it takes in memory.
	bytes int64
}

// load reads a blueprint.
func load(files fs.FS, digest string) *Blueprint {
	document, err := model.Load(files)
	blueprint := &Blueprint{digest: digest, files: files, Document: document, problem: err}
	if err == nil {
		blueprint.schemas = schema.New(schema.Options{LocalTypes: document.LocalTypes, Blueprint: files})
	}
	return blueprint.weighed()
}

// weighed measures the blueprint.
func (b *Blueprint) weighed() *Blueprint {
	b.bytes = memory.Size(b.files) + memory.Size(b.Document)
	if b.problem != nil {
		b.bytes += int64(len(b.problem.Error()))
	}
	return b
}

// Weight is how many bytes the blueprint takes in memory.
func (b *Blueprint) Weight() int64 { return b.bytes }

// blueprintOf reads a blueprint from a directory, which may be too large to be one.
func blueprintOf(files fs.FS) (*Blueprint, error) {
	snapshot, digest, err := model.Snapshot(files)
	if err != nil {
		return nil, err
	}
	return load(snapshot, digest), nil
}

// loadBlueprint finds the blueprint of the job.
func (r *Reader) loadBlueprint(ctx context.Context, in *Reading) error {
	definition := &in.inst.Spec.Blueprint
	switch {
	case in.source != nil:
		in.Blueprint = in.source.blueprint
	case definition.Inline != nil:
		in.Blueprint = r.blueprints.inline(definition.Inline.Filesystem.RawMessage, definition.Path)
	case definition.Reference != nil:
		if err := r.loadResource(ctx, in, definition.Reference.ResourceName); err != nil {
			return err
		}
	default:
		return protocol.Stall(jobs.Operation, "BlueprintMissing", "%w", errNoBlueprint)
	}
	if in.Blueprint.problem != nil {
		return protocol.Stall(jobs.Operation, "InvalidBlueprint", "spec.blueprint: %w", in.Blueprint.problem)
	}
	return nil
}

// loadResource takes the blueprint from a resource of the component.
func (r *Reader) loadResource(ctx context.Context, in *Reading, name string) error {
	const field = "spec.blueprint.ref.resourceName"
	if in.Component == nil {
		return protocol.Stall(jobs.Operation, "ComponentMissing", "%s: no component descriptor defined to resolve the blueprint ref; set spec.componentDescriptor", field)
	}
	root := in.Component.root.Descriptor
	resource, err := root.FindResource(map[string]string{"name": name})
	if err != nil {
		return protocol.Stall(jobs.Operation, "BlueprintNotFound", "%s: %w; correct the name", field, err)
	}
	files, err := in.Component.session.BlueprintFiles(ctx, root, resource)
	if err != nil {
		return r.componentFailure(in, fmt.Errorf("%s: %w", field, err))
	}
	if files, err = model.Folder(files, in.inst.Spec.Blueprint.Path); err != nil {
		return protocol.Stall(jobs.Operation, "BlueprintNotFound", "spec.blueprint.path: %w", err)
	}
	fresh, err := blueprintOf(files)
	if err != nil {
		return protocol.Stall(jobs.Operation, "BlueprintTooLarge", "%s: %w", field, err)
	}
	key := blueprintKey{"component", fresh.digest, ""}
	in.Blueprint, err = r.blueprints.artifact(key, func() (*Blueprint, error) { return fresh, nil })
	return err
}

// blueprintCache keeps blueprints by what they were made from, so that any number of Installations of one blueprint parse it once. Equal ones
// of different revisions are kept once. The zero value is ready.
type blueprintCache struct {
	cache[blueprintKey, *Blueprint]
}

// blueprintKey says what a blueprint was made from: text in place, a path in an artifact, a resource of a component, or files with a digest.
type blueprintKey struct{ from, digest, path string }

// inline returns the blueprint in a folder of an inline file system.
func (c *blueprintCache) inline(raw []byte, folder string) *Blueprint {
	sum := sha256.Sum256(raw)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	key := blueprintKey{"inline", digest, folder}
	if cached, ok := c.entries().Get(key); ok {
		return cached
	}
	files, err := model.Inline(raw)
	if err == nil && folder != "" {
		if files, err = model.Folder(files, folder); err == nil {
			files, digest, err = model.Snapshot(files) // without the files beside it
		}
	}
	blueprint := (&Blueprint{digest: digest, problem: err}).weighed()
	if err == nil {
		blueprint = load(files, digest)
	}
	c.entries().Put(key, blueprint, blueprint.bytes)
	return blueprint
}

// artifact returns the blueprint that key stands for, made by open when it is not known.
func (c *blueprintCache) artifact(key blueprintKey, open func() (*Blueprint, error)) (*Blueprint, error) {
	if cached, ok := c.entries().Get(key); ok && key.digest != "" {
		return cached, nil
	}
	blueprint, err := open()
	if err != nil {
		return nil, err
	}
	content := blueprintKey{"files", blueprint.digest, ""}
	if same, ok := c.entries().Get(content); ok {
		blueprint = same
	}
	c.entries().Put(content, blueprint, blueprint.bytes)
	c.entries().Put(key, blueprint, blueprint.bytes)
	return blueprint, nil
}

// showComponent adds the component, if there is one, to what templates and schemas see.
func showComponent(env *render.Environment, found *Component) (*repository.View, error) {
	if found == nil {
		return nil, nil
	}
	shown, err := repository.Show(env, repository.Component{
		Root: found.root, Closed: found.closed, Session: found.session, Standard: found.standard, Pinned: found.verified != "",
	})
	if err != nil {
		return nil, protocol.Stall(jobs.RenderOperation, "InvalidBlueprint", "%w", err)
	}
	return shown, nil
}

// viewFailure says who can end a failure of rendering. What was wrong with the content that was read decides, if there was anything: problem is
// the last error of that.
func viewFailure(ctx context.Context, operation string, err, problem error) error {
	if err == nil {
		return nil
	}
	if again := notRendered(ctx, operation, err); again != nil {
		return again
	}
	switch {
	case errors.Is(problem, oci.ErrUnauthorized):
		reason, codes := repositoryReason(problem)
		return &protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
	case problem == nil || fault.KindOf(problem) == fault.Stalled:
		return RenderFailure(operation, err)
	}
	return protocol.Again(operation, "ContentNotRead", "%w", err)
}

// RenderingFailed is viewFailure for what templates saw, which is nil without component.
func RenderingFailed(ctx context.Context, shown *repository.View, operation string, err error) error {
	return viewFailure(ctx, operation, err, shown.Problem())
}

// satisfyImports computes the values of the imports of the blueprint.
func (r *Reader) satisfyImports(ctx context.Context, in *Reading) error {
	env, shown, err := Environment(in.inst, &in.Inputs, in.clusters)
	if err != nil {
		return err
	}
	values, err := r.Rendering().Satisfy(ctx, env, &in.Imports.Values, in.inst.Spec.ImportDataMappings)
	if err != nil {
		return RenderingFailed(ctx, shown, jobs.SatisfyOperation, err)
	}
	in.Values, in.Env, in.Shown = values, env, shown
	return nil
}

// Rendering runs templates, in worker processes.
func (r *Reader) Rendering() *rendering.Renderer {
	r.rendering.Do(func() {
		if r.Renderer == nil {
			r.Renderer = rendering.New(confined.Limits{})
		}
	})
	return r.Renderer
}

// Environment is what the templates of an Installation see, and what they see of its component.
func Environment(inst *v1alpha1.Installation, in *Inputs, clusters *Issuer) (*render.Environment, *repository.View, error) {
	definition, err := relations.JSONLike(inst.Spec.Blueprint)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.blueprint: %w", err)
	}
	env := &render.Environment{
		Blueprint: in.Blueprint.Document, Files: in.Blueprint.files, Schemas: in.Blueprint.schemas,
		Namespace: inst.Namespace, BlueprintDefinition: definition,
	}
	if clusters != nil {
		clusters.reach = &in.Reach
		env.Clusters = clusters
	}
	shown, err := showComponent(env, in.Component)
	return env, shown, err
}

// notRendered says why rendering has to be tried again, nil when the templates themselves are to blame.
func notRendered(ctx context.Context, operation string, err error) error {
	var ended *confined.Ended
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &ended) && ended.Reason == confined.Died, errors.Is(err, confined.ErrNotStarted):
		return protocol.Again(operation, "RenderProcessEnded", "%w", err)
	}
	return nil
}

// RenderFailure says that a person has to change blueprint or imports.
func RenderFailure(operation string, err error) error {
	reason := "RenderFailed"
	if problem, ok := errors.AsType[*render.Error](err); ok {
		reason = problem.Reason
	}
	codes := []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
	if _, ok := errors.AsType[*render.CycleError](err); ok {
		reason, codes = "CyclicDependencies", []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies}
	}
	return &protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
}

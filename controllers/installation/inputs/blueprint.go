// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
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

// load reads a blueprint for a namespace. It waits for its turn with a large one as long as that takes: what it finds is kept for other jobs, too.
func load(namespace string, files fs.FS, digest string) *Blueprint {
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
func blueprintOf(namespace string, files fs.FS) (*Blueprint, error) {
	snapshot, digest, err := model.Snapshot(files)
	if err != nil {
		return nil, err
	}
	return load(namespace, snapshot, digest), nil
}

// loadBlueprint finds the blueprint of the job.
func (r *Reader) loadBlueprint(ctx context.Context, in *Reading) error {
	definition := &in.inst.Spec.Blueprint
	switch {
	case in.source != nil:
		in.Blueprint = in.source.blueprint
	case definition.Inline != nil:
		in.Blueprint = r.blueprints.inline(in.inst.Namespace, definition.Inline.Filesystem.RawMessage, definition.Path)
	case definition.Reference != nil:
		if err := r.loadResource(ctx, in, definition.Reference.ResourceName); err != nil {
			return err
		}
	default:
		return kit.Stall(jobs.Operation, "BlueprintMissing", "%w", errNoBlueprint)
	}
	if in.Blueprint.problem != nil {
		return kit.Stall(jobs.Operation, "InvalidBlueprint", "spec.blueprint: %w", in.Blueprint.problem)
	}
	return nil
}

// loadResource takes the blueprint from a resource of the component.
func (r *Reader) loadResource(ctx context.Context, in *Reading, name string) error {
	const field = "spec.blueprint.ref.resourceName"
	if in.Component == nil {
		return kit.Stall(jobs.Operation, "ComponentMissing", "%s: no component descriptor defined to resolve the blueprint ref; set spec.componentDescriptor", field)
	}
	root := in.Component.root.Descriptor
	resource, err := root.FindResource(map[string]string{"name": name})
	if err != nil {
		return kit.Stall(jobs.Operation, "BlueprintNotFound", "%s: %w; correct the name", field, err)
	}
	files, err := in.Component.session.BlueprintFiles(ctx, root, resource)
	if err != nil {
		return r.componentFailure(in, fmt.Errorf("%s: %w", field, err))
	}
	if files, err = model.Folder(files, in.inst.Spec.Blueprint.Path); err != nil {
		return kit.Stall(jobs.Operation, "BlueprintNotFound", "spec.blueprint.path: %w", err)
	}
	fresh, err := blueprintOf(in.inst.Namespace, files)
	if err != nil {
		return kit.Stall(jobs.Operation, "BlueprintTooLarge", "%s: %w", field, err)
	}
	key := blueprintKey{"component", fresh.digest, ""}
	in.Blueprint, err = r.blueprints.artifact(in.inst.Namespace, key, func() (*Blueprint, error) { return fresh, nil })
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
func (c *blueprintCache) inline(namespace string, raw []byte, folder string) *Blueprint {
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
		blueprint = load(namespace, files, digest)
	}
	c.entries().Put(key, blueprint, blueprint.bytes)
	return blueprint
}

// artifact returns the blueprint that key stands for, made by open when it is not known.
func (c *blueprintCache) artifact(namespace string, key blueprintKey, open func() (*Blueprint, error)) (*Blueprint, error) {
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

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// loadedBlueprint is a blueprint with its files, or the problem that it has. It is read-only and shared between jobs.
type loadedBlueprint struct {
	digest   string
	files    fs.FS
	document *model.Blueprint
	schemas  *schema.Validator
	problem  error
}

func load(files fs.FS, digest string) *loadedBlueprint {
	document, err := model.Load(files)
	blueprint := &loadedBlueprint{digest: digest, files: files, document: document, problem: err}
	if err == nil {
		blueprint.schemas = schema.New(schema.Options{LocalTypes: document.LocalTypes, Blueprint: files})
	}
	return blueprint
}

// loadBlueprint finds the blueprint of the job.
func (r *Reconciler) loadBlueprint(ctx context.Context, in *reading) error {
	definition := &in.inst.Spec.Blueprint
	switch {
	case in.source != nil:
		in.blueprint = in.source.blueprint
	case definition.Inline != nil:
		in.blueprint = r.blueprints.inline(definition.Inline.Filesystem.RawMessage)
	case definition.Reference != nil:
		if err := r.loadResource(ctx, in, definition.Reference.ResourceName); err != nil {
			return err
		}
	default:
		return kit.Stall(operation, "BlueprintMissing", "%w", errNoBlueprint)
	}
	if in.blueprint.problem != nil {
		return kit.Stall(operation, "InvalidBlueprint", "spec.blueprint: %w", in.blueprint.problem)
	}
	return nil
}

// loadResource takes the blueprint from a resource of the component.
func (r *Reconciler) loadResource(ctx context.Context, in *reading, name string) error {
	const field = "spec.blueprint.ref.resourceName"
	if in.component == nil {
		return kit.Stall(operation, "ComponentMissing", "%s: no component descriptor defined to resolve the blueprint ref; set spec.componentDescriptor", field)
	}
	root := in.component.root.Descriptor
	resource, err := root.FindResource(map[string]string{"name": name})
	if err != nil {
		return kit.Stall(operation, "BlueprintNotFound", "%s: %w; correct the name", field, err)
	}
	files, digest, err := in.component.session.Blueprint(ctx, root, resource)
	if err != nil {
		return r.componentFailure(in, fmt.Errorf("%s: %w", field, err))
	}
	in.blueprint, err = r.blueprints.artifact(digest, "component", func() (*loadedBlueprint, error) { return load(files, digest), nil })
	return err
}

// blueprintCache keeps blueprints by the digest of what they were made from, so that any number of Installations of one blueprint
// parse it once.
type blueprintCache struct {
	once sync.Once
	byID *lru.Cache[string, *loadedBlueprint]
}

// cachedBlueprints is how many blueprints are kept in memory.
const cachedBlueprints = 512

func (c *blueprintCache) entries() *lru.Cache[string, *loadedBlueprint] {
	c.once.Do(func() { c.byID, _ = lru.New[string, *loadedBlueprint](cachedBlueprints) })
	return c.byID
}

// inline returns the blueprint of an inline file system.
func (c *blueprintCache) inline(raw []byte) *loadedBlueprint {
	sum := sha256.Sum256(raw)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if cached, ok := c.entries().Get(digest); ok {
		return cached
	}
	files, err := model.Inline(raw)
	blueprint := &loadedBlueprint{digest: digest, problem: err}
	if err == nil {
		blueprint = load(files, digest)
	}
	c.entries().Add(digest, blueprint)
	return blueprint
}

// artifact returns the blueprint of a directory of an artifact, made by open when it is not known.
func (c *blueprintCache) artifact(digest, path string, open func() (*loadedBlueprint, error)) (*loadedBlueprint, error) {
	key := digest + "|" + path
	if cached, ok := c.entries().Get(key); ok && digest != "" {
		return cached, nil
	}
	blueprint, err := open()
	if err != nil {
		return nil, err
	}
	c.entries().Add(key, blueprint)
	return blueprint, nil
}

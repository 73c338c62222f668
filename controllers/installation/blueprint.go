// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
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

// loadBlueprint finds the blueprint of the job. There is nothing to do once the Execution has its spec.
func (r *Reconciler) loadBlueprint(_ context.Context, s *scope) error {
	if s.applied() {
		return nil
	}
	definition := &s.inst.Spec.Blueprint
	switch {
	case s.source != nil:
		s.blueprint = s.source.blueprint
	case definition.Inline != nil:
		s.blueprint = r.blueprints.inline(definition.Inline.Filesystem.RawMessage)
	case definition.Reference != nil:
		return kit.Stall(operation, "BlueprintNotSupported",
			"spec.blueprint.ref: component repositories are not served by this release; use spec.blueprint.sourceRef or inline")
	default:
		return kit.Stall(operation, "BlueprintMissing", "%w", errNoBlueprint)
	}
	if s.blueprint.problem != nil {
		return kit.Stall(operation, "InvalidBlueprint", "spec.blueprint: %w", s.blueprint.problem)
	}
	return nil
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

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// Blueprint returns the files of a resource that is a blueprint, in any of its forms: a tar, a gzipped tar, a layer of an OCI
// artifact, an artifact set. The second value is the digest of the files: equal files have equal digests.
func (s *Session) Blueprint(ctx context.Context, d *component.Descriptor, resource *component.Resource) (fs.FS, string, error) {
	files, err := s.BlueprintFiles(ctx, d, resource)
	if err != nil {
		return nil, "", err
	}
	kept, sum, err := model.Snapshot(files)
	if err != nil {
		return nil, "", about(d, resource, refused("blueprint", err))
	}
	return kept, sum, nil
}

// BlueprintFiles returns the same files where they lie on disk. They stay usable as long as something refers to them.
func (s *Session) BlueprintFiles(ctx context.Context, d *component.Descriptor, resource *component.Resource) (fs.FS, error) {
	if !slices.Contains([]string{typeBlueprint, typeBlueprintLegacy}, resource.Type) {
		return nil, about(d, resource, stalled("type "+resource.Type, "it is not a blueprint", fmt.Sprintf("refer to a resource of type %s", typeBlueprint)))
	}
	return s.Files(ctx, d, resource)
}

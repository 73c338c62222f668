// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// resolvedSource is the state of a Flux source with the blueprint directory in it.
type resolvedSource struct {
	status    v1alpha1.SourceStatus
	blueprint *loadedBlueprint
}

// resolveSource reads the source that the blueprint comes from. There is nothing to do once the Execution has its spec.
func (r *Reconciler) resolveSource(ctx context.Context, s *scope) error {
	ref := s.inst.Spec.Blueprint.SourceReference
	if s.applied() {
		return nil
	}
	if ref == nil {
		s.inst.Status.Sources = nil
		return nil
	}
	source, err := r.lookupSource(ctx, s.inst, ref, s.inst.Spec.Blueprint.Path)
	if err != nil {
		return sourceFailure(err)
	}
	s.source = source
	s.inst.Status.Sources = []v1alpha1.SourceStatus{source.status}
	return nil
}

// lookupSource returns the artifact of a source and the digest of the directory path in it.
func (r *Reconciler) lookupSource(
	ctx context.Context, inst *v1alpha1.Installation, ref *v1alpha1.SourceReference, path string,
) (*resolvedSource, error) {
	policy := flux.Policy{NoCrossNamespaceRefs: r.NoCrossNamespaceRefs}
	found, err := flux.Lookup(ctx, r.Client, inst.Namespace, *ref, policy)
	if err != nil {
		return nil, err
	}
	blueprint, err := r.blueprints.artifact(found.Digest, path, func() (*loadedBlueprint, error) {
		return r.fetchBlueprint(ctx, found, path)
	})
	if err != nil {
		return nil, err
	}
	return &resolvedSource{blueprint: blueprint, status: v1alpha1.SourceStatus{
		Kind: found.Kind, Namespace: found.Namespace, Name: found.Name,
		Revision: found.Revision, Digest: found.Digest, ContentDigest: blueprint.digest,
	}}, nil
}

// fetchBlueprint downloads an artifact and loads the blueprint in it.
func (r *Reconciler) fetchBlueprint(ctx context.Context, source flux.Source, path string) (*loadedBlueprint, error) {
	tree, err := r.Artifacts.Open(ctx, fetch.Artifact{
		URL: source.URL, Digest: source.Digest, Revision: source.Revision, Source: source.String(),
	})
	if err != nil {
		return nil, err
	}
	defer tree.Close() // nothing was written
	files, err := tree.Sub(path)
	if err != nil {
		return nil, kit.Stall(operation, "BlueprintNotFound", "spec.blueprint.path: %w", err)
	}
	snapshot, digest, err := model.Snapshot(files)
	if err != nil {
		return nil, kit.Stall(operation, "BlueprintTooLarge", "spec.blueprint.sourceRef: %s: %w", source, err)
	}
	return load(snapshot, digest), nil
}

// sourceFailure says who can end a problem with a source: its next event, a person, or time.
func sourceFailure(err error) error {
	var problem *flux.Error
	if errors.As(err, &problem) {
		if problem.Waiting {
			return kit.Wait(operation, string(problem.Reason), "spec.blueprint.sourceRef: %w", err)
		}
		return kit.Stall(operation, string(problem.Reason), "spec.blueprint.sourceRef: %w", err)
	}
	var bad *fetch.Error
	if !errors.As(err, &bad) {
		return err
	}
	if errors.Is(err, fetch.ErrGone) {
		return kit.Again(operation, "ArtifactGone", "spec.blueprint.sourceRef: %w", err)
	}
	return kit.Stall(operation, "ArtifactRefused", "spec.blueprint.sourceRef: %w", err)
}

var errNoBlueprint = fmt.Errorf("spec.blueprint: give exactly one of inline, ref and sourceRef")

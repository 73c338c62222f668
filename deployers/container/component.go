// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/archive"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// supplyLimits bound the archive with component descriptors and content: it has to fit into a few Secrets.
var supplyLimits = archive.Limits{Bytes: 128 << 20, Packed: 16 << 20, Entries: 20_000}

// supply returns the archive with component descriptors and the files of the blueprint, nil where the item names neither, and the Flux sources
// that they come from.
func (r *run) supply(ctx context.Context) ([]byte, []v1alpha1.SourceStatus, error) {
	if r.config.ComponentDescriptor == nil && r.config.Blueprint == nil {
		return nil, nil, nil
	}
	ctx = components.WithVerification(ctx, r.item.Context)
	packer := archive.NewPacker(supplyLimits)
	session, root, err := r.openComponent(ctx, packer)
	if err != nil {
		return nil, nil, err
	}
	var sources []v1alpha1.SourceStatus
	if session != nil {
		defer session.Close()
	}
	if r.config.Blueprint != nil {
		files, source, err := r.blueprint(ctx, session, root)
		if err != nil {
			return nil, nil, err
		}
		if source != nil {
			sources = append(sources, *source)
		}
		if err := packer.AddDirectory(layout.ContentDirectory, files); err != nil {
			return nil, nil, kit.Stall(operationReconcile, "ContentTooLarge", "spec.config.blueprint: %w", err)
		}
	}
	packed, err := packer.Close()
	if err != nil {
		return nil, nil, kit.Stall(operationReconcile, "ContentTooLarge", "spec.config.componentDescriptor: %w", err)
	}
	if session != nil {
		sources = append(sources, session.SourcesUsed()...)
	}
	return packed, sources, nil
}

// openComponent adds the component and all that it refers to. The session has to be closed; it is nil without component.
func (r *run) openComponent(ctx context.Context, packer *archive.Packer) (*repository.Session, *repository.Root, error) {
	const field = "spec.config.componentDescriptor"
	if r.config.ComponentDescriptor == nil {
		return nil, nil, nil
	}
	if r.deployer.components == nil {
		return nil, nil, kit.Stall(operationReconcile, "NotSupported", "%s: this deployer runs without component repositories; leave it out", field)
	}
	scope, err := r.scope(ctx)
	if err != nil {
		return nil, nil, err
	}
	session := r.deployer.components.Open(scope)
	root, err := session.Root(ctx, *r.config.ComponentDescriptor)
	if err != nil {
		session.Close()
		return nil, nil, componentProblem(field, err)
	}
	closure, err := session.Closure(ctx, root.Descriptor)
	if err != nil {
		session.Close()
		return nil, nil, componentProblem(field, err)
	}
	list, err := json.Marshal(closure.ViewAll(component.SchemaV2))
	if err == nil {
		err = packer.AddFile(layout.ComponentDescriptorFile, archive.FileMode, list)
	}
	if err != nil {
		session.Close()
		return nil, nil, kit.Stall(operationReconcile, "ComponentTooLarge", "%s: %w", field, err)
	}
	return session, root, nil
}

// scope is what the item may use of component repositories.
func (r *run) scope(ctx context.Context) (repository.Scope, error) {
	scope := repository.Scope{Namespace: r.item.DeployItem.Namespace}
	secrets, err := r.pullSecrets(ctx)
	if err != nil {
		return scope, err
	}
	var ocmConfig []byte
	if c := r.item.Context; c != nil {
		scope.Repository, ocmConfig = c.Configuration.RepositoryContext, c.OCMConfig
	}
	if scope.Rights, err = repository.ParseRights(secrets, ocmConfig); err != nil {
		return scope, kit.Stall(operationReconcile, "InvalidCredentials", "Context or registryPullSecrets: %w", err)
	}
	identity, err := r.deployer.options.Access.Identity(ctx, r.item, operationReconcile)
	if err != nil {
		return scope, err
	}
	if identity != nil {
		scope.Rights = scope.Rights.WithIdentity(identity)
	}
	if c := r.item.Context; c != nil && c.Overwrites != nil {
		scope.Overwrites, err = c.Overwrites(ctx)
	}
	return scope, err
}

// blueprint returns the files of the blueprint, and the Flux source that holds them, if any.
func (r *run) blueprint(ctx context.Context, session *repository.Session, root *repository.Root) (fs.FS, *v1alpha1.SourceStatus, error) {
	const field = "spec.config.blueprint"
	definition := r.config.Blueprint
	switch {
	case definition.Inline != nil:
		files, err := model.Inline(definition.Inline.Filesystem.RawMessage)
		if err != nil {
			return nil, nil, kit.Stall(operationReconcile, "InvalidBlueprint", "%s.inline: %w", field, err)
		}
		return files, nil, nil
	case definition.SourceReference != nil:
		return r.fromSource(ctx, definition)
	}
	resource, err := root.Descriptor.FindResource(map[string]string{"name": definition.Reference.ResourceName})
	if err != nil {
		return nil, nil, kit.Stall(operationReconcile, "BlueprintNotFound", "%s.ref.resourceName: %w; correct the name", field, err)
	}
	files, _, err := session.Blueprint(ctx, root.Descriptor, resource)
	if err != nil {
		return nil, nil, componentProblem(field, err)
	}
	return files, nil, nil
}

// fromSource returns a directory of the artifact of a Flux source, and the source.
func (r *run) fromSource(ctx context.Context, definition *v1alpha1.BlueprintDefinition) (fs.FS, *v1alpha1.SourceStatus, error) {
	const field = "spec.config.blueprint"
	options := &r.deployer.options
	if options.Sources == nil || options.Artifacts == nil {
		return nil, nil, kit.Stall(operationReconcile, "NotSupported", "%s.sourceRef: this deployer runs without Flux sources; use ref or inline", field)
	}
	source, err := options.Lookup(ctx, r.item.DeployItem.Namespace, *definition.SourceReference)
	if err != nil {
		return nil, nil, componentProblem(field, err)
	}
	tree, err := options.Artifacts.Open(ctx, fetch.Artifact{
		URL: source.URL, Digest: source.Digest, Revision: source.Revision, Source: source.String(),
	})
	if err != nil {
		return nil, nil, componentProblem(field+".sourceRef", err)
	}
	defer tree.Close()
	files := tree.FS()
	if definition.Path != "" {
		if files, err = tree.Sub(definition.Path); err != nil {
			return nil, nil, kit.Stall(operationReconcile, "BlueprintNotFound", "%s.path: %w", field, err)
		}
	}
	kept, _, err := model.Snapshot(files)
	if err != nil {
		return nil, nil, kit.Stall(operationReconcile, "InvalidBlueprint", "%s: %w", field, err)
	}
	used := components.StatusOf(source)
	return kept, &used, nil
}

// componentProblem says who can end a problem with a component or a source. What is not there may still be published.
func componentProblem(field string, err error) error {
	switch {
	case errors.Is(err, oci.ErrUnauthorized):
		return kit.Coded(kit.Again(operationReconcile, "Unauthorized", "%s: %w", field, err), v1alpha1.ErrorUnauthorized)
	case errors.Is(err, repository.ErrRepositoryMissing):
		return kit.Stall(operationReconcile, "RepositoryContextMissing", "%s: %w", field, err)
	case errors.Is(err, component.ErrNotFound), errors.Is(err, oci.ErrNotFound):
		return kit.Again(operationReconcile, "ComponentNotFound", "%s: %w", field, err)
	case errors.Is(err, fetch.ErrTooLarge), errors.Is(err, fetch.ErrUnsafe):
		return kit.Stall(operationReconcile, "InvalidArtifact", "%s: %w", field, err)
	case errors.Is(err, fetch.ErrGone), repository.KindOf(err) != repository.Stalled:
		return kit.Again(operationReconcile, "DownloadFailed", "%s: %w", field, err)
	}
	return kit.Stall(operationReconcile, "InvalidComponent", "%s: %w", field, err)
}

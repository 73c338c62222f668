// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// limits bound the archive with component descriptors and content: it has to fit into a few Secrets.
var limits = sidecar.Limits{Bytes: 128 << 20, Packed: 16 << 20, Entries: 20_000}

// finder gets content by the rules of the Context of an item.
type finder struct {
	access     components.Access
	components *repository.Repositories
}

// search is one call for one item.
type search struct {
	*finder
	item   *contract.Item
	config *containerv1alpha1.ProviderConfiguration
}

// Find returns the archive with component descriptors and the files of the blueprint, nil where the item names neither, and the Flux sources
// that they come from.
func (f *finder) Find(ctx context.Context, item *contract.Item, config *containerv1alpha1.ProviderConfiguration) ([]byte, []v1alpha1.SourceStatus, error) {
	if config.ComponentDescriptor == nil && config.Blueprint == nil {
		return nil, nil, nil
	}
	return (&search{f, item, config}).pack(ctx)
}

// pack makes the archive.
func (r *search) pack(ctx context.Context) ([]byte, []v1alpha1.SourceStatus, error) {
	packer := sidecar.NewPacker(limits)
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
		if err := packer.AddDirectory(sidecar.ContentDirectory, files); err != nil {
			return nil, nil, protocol.Stall(operationReconcile, "ContentTooLarge", "spec.config.blueprint: %w", err)
		}
	}
	packed, err := packer.Close()
	if err != nil {
		return nil, nil, protocol.Stall(operationReconcile, "ContentTooLarge", "spec.config.componentDescriptor: %w", err)
	}
	if session != nil {
		sources = append(sources, session.SourcesUsed()...)
	}
	return packed, sources, nil
}

// openComponent adds the component and all that it refers to. The session has to be closed; it is nil without component.
func (r *search) openComponent(ctx context.Context, packer *sidecar.Packer) (*repository.Session, *repository.Root, error) {
	const field = "spec.config.componentDescriptor"
	if r.config.ComponentDescriptor == nil {
		return nil, nil, nil
	}
	if r.components == nil {
		return nil, nil, protocol.Stall(operationReconcile, "NotSupported", "%s: this deployer runs without component repositories; leave it out", field)
	}
	scope, err := r.scope(ctx)
	if err != nil {
		return nil, nil, err
	}
	session := r.components.Open(scope)
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
		err = packer.AddFile(sidecar.ComponentDescriptorFile, sidecar.FileMode, list)
	}
	if err != nil {
		session.Close()
		return nil, nil, protocol.Stall(operationReconcile, "ComponentTooLarge", "%s: %w", field, err)
	}
	return session, root, nil
}

// scope is what the item may use of component repositories.
func (r *search) scope(ctx context.Context) (repository.Scope, error) {
	secrets, err := pullSecrets(ctx, r.access.Live, r.item, r.config)
	if err != nil {
		return repository.Scope{}, err
	}
	scope, err := r.access.Scope(ctx, r.item, secrets, operationReconcile, "Context or registryPullSecrets")
	if c := r.item.Context; err == nil && c != nil && c.Overwrites != nil {
		scope.Overwrites, err = c.Overwrites(ctx)
	}
	return scope, err
}

// blueprint returns the files of the blueprint, and the Flux source that holds them, if any.
func (r *search) blueprint(ctx context.Context, session *repository.Session, root *repository.Root) (fs.FS, *v1alpha1.SourceStatus, error) {
	const field = "spec.config.blueprint"
	definition := r.config.Blueprint
	switch {
	case definition.Inline != nil:
		files, err := model.Inline(definition.Inline.Filesystem.RawMessage)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, nil, protocol.Stall(operationReconcile, "InvalidBlueprint", "%s.inline: %w", field, err)
		}
		return folderOf(files, definition.Path)
	case definition.SourceReference != nil:
		return r.fromSource(ctx, definition)
	}
	resource, err := root.Descriptor.FindResource(map[string]string{"name": definition.Reference.ResourceName})
	if err != nil {
		return nil, nil, protocol.Stall(operationReconcile, "BlueprintNotFound", "%s.ref.resourceName: %w; correct the name", field, err)
	}
	files, _, err := session.Blueprint(ctx, root.Descriptor, resource)
	if err != nil {
		return nil, nil, componentProblem(field, err)
	}
	return folderOf(files, definition.Path)
}

// folderOf returns the folder of a sub-installation, which comes from no source of its own.
func folderOf(files fs.FS, folder string) (fs.FS, *v1alpha1.SourceStatus, error) {
	files, err := model.Folder(files, folder)
	if err != nil {
		return nil, nil, protocol.Stall(operationReconcile, "BlueprintNotFound", "spec.config.blueprint.path: %w", err)
	}
	return files, nil, nil
}

// fromSource returns a directory of the artifact of a Flux source, and the source.
func (r *search) fromSource(ctx context.Context, definition *v1alpha1.BlueprintDefinition) (fs.FS, *v1alpha1.SourceStatus, error) {
	const field = "spec.config.blueprint"
	options := &r.access
	if options.Sources == nil || options.Artifacts == nil {
		return nil, nil, protocol.Stall(operationReconcile, "NotSupported", "%s.sourceRef: this deployer runs without Flux sources; use ref or inline", field)
	}
	source, err := options.Lookup(ctx, r.item, *definition.SourceReference)
	if err != nil {
		return nil, nil, componentProblem(field, err)
	}
	tree, err := options.Artifacts.Open(ctx, source.Artifact())
	if err != nil {
		return nil, nil, componentProblem(field+".sourceRef", err)
	}
	defer tree.Close()
	files := tree.FS()
	if definition.Path != "" {
		if files, err = tree.Sub(definition.Path); err != nil {
			return nil, nil, protocol.Stall(operationReconcile, "BlueprintNotFound", "%s.path: %w", field, err)
		}
	}
	kept, _, err := model.Snapshot(files)
	if err != nil {
		return nil, nil, protocol.Stall(operationReconcile, "InvalidBlueprint", "%s: %w", field, err)
	}
	used := source.Status()
	return kept, &used, nil
}

// componentProblem says who can end a problem with a component or a source. What is not there may still be published.
func componentProblem(field string, err error) error {
	switch {
	case errors.Is(err, oci.ErrUnauthorized):
		return protocol.Coded(protocol.Again(operationReconcile, "Unauthorized", "%s: %w", field, err), v1alpha1.ErrorUnauthorized)
	case errors.Is(err, repository.ErrRepositoryMissing):
		return protocol.Stall(operationReconcile, "RepositoryContextMissing", "%s: %w", field, err)
	case errors.Is(err, component.ErrNotFound), errors.Is(err, oci.ErrNotFound):
		return protocol.Again(operationReconcile, "ComponentNotFound", "%s: %w", field, err)
	case errors.Is(err, fetch.ErrTooLarge), errors.Is(err, fetch.ErrUnsafe):
		return protocol.Stall(operationReconcile, "InvalidArtifact", "%s: %w", field, err)
	case errors.Is(err, fetch.ErrGone), fault.KindOf(err) != fault.Stalled:
		return protocol.Again(operationReconcile, "DownloadFailed", "%s: %w", field, err)
	}
	return protocol.Stall(operationReconcile, "InvalidComponent", "%s: %w", field, err)
}

// pullSecrets returns the contents of the Secrets with registry logins by name: those of the Context and those of the item itself.
func pullSecrets(
	ctx context.Context, live client.Reader, item *contract.Item, config *containerv1alpha1.ProviderConfiguration,
) (map[string]map[string][]byte, error) {
	const field = "spec.config.registryPullSecrets"
	secrets := map[string]map[string][]byte{}
	if item.Context != nil {
		maps.Copy(secrets, item.Context.PullSecrets)
	}
	names := make([]string, 0, len(config.RegistryPullSecrets))
	for _, ref := range config.RegistryPullSecrets {
		names = append(names, ref.Name)
	}
	namespace, deleting := item.DeployItem.Namespace, !item.DeployItem.DeletionTimestamp.IsZero()
	unread := func(name string, err error) error {
		if apierrors.IsNotFound(err) {
			return protocol.Again(operationReconcile, "PullSecretNotFound",
				"%s[%d]: Secret %q does not exist in namespace %q; create it, or leave it out", field, slices.Index(names, name), name, namespace)
		}
		return fmt.Errorf("read Secret %q of registryPullSecrets: %w", name, err)
	}
	reading := pullsecrets.Reading{
		Field: field + ", with those of the Context", OnlyWhatFits: deleting, Get: pullsecrets.From(ctx, live, namespace, deleting, unread),
	}
	err := reading.Into(secrets, names)
	if errors.Is(err, pullsecrets.ErrTooMuch) {
		err = protocol.Stall(operationReconcile, "InvalidCredentials", "%w", err)
	}
	return secrets, err
}

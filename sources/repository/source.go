// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
)

// fluxOrigin is the artifact of a Flux source: a CTF, a component archive, or a descriptor alone. What is not in it is
// looked for in the registry that the source pulls from.
type fluxOrigin struct {
	session *Session
	typed   component.Typed
	name    string
	scope   string
	// archive is nil if the artifact is a descriptor alone.
	archive *files
	single  *component.Descriptor
	// behind is where the rest is; nil if nothing says where.
	behind *registryOrigin
}

func (o *fluxOrigin) String() string { return o.name }

// flux opens the artifact of a source.
func (s *Session) flux(ctx context.Context, t component.Typed, spec component.FluxSource) (origin, error) {
	if s.r.options.Source == nil {
		return nil, stalled("repository of type fluxSource", "there are no Flux sources here", "use another type of repository")
	}
	source, err := s.r.options.Source(ctx, s.scope.Namespace, v1alpha1.SourceReference{Kind: spec.SourceRef.Kind, Name: spec.SourceRef.Name, Namespace: spec.SourceRef.Namespace})
	if err == nil && s.scope.RequireVerified {
		err = source.RequireVerified()
	}
	if err != nil {
		return nil, err
	}
	o := &fluxOrigin{session: s, typed: t, name: source.String(), scope: fmt.Sprintf("%s %s %s", source, source.Digest, spec.Path)}
	if o.behind, err = s.behind(ctx, source); err != nil {
		return nil, err
	}
	if err := o.read(ctx, source.Artifact(), spec.Path); err != nil {
		return nil, err
	}
	s.use(source)
	return o, nil
}

// read finds out what the artifact is.
func (o *fluxOrigin) read(ctx context.Context, artifact fetch.Artifact, at string) error {
	store := o.session.r.options.Store
	tree, err := store.Open(ctx, artifact)
	if errors.Is(err, fetch.ErrUnsafe) && at == "" {
		return o.readFile(ctx, artifact, err)
	}
	if err != nil {
		return err
	}
	if err := o.readTree(ctx, tree.FS(), at); err != nil {
		return errors.Join(err, tree.Close())
	}
	o.session.hold(tree)
	return nil
}

// readFile reads an artifact that is the descriptor itself; notTar is why it is not an archive.
func (o *fluxOrigin) readFile(ctx context.Context, artifact fetch.Artifact, notTar error) error {
	raw, err := o.session.r.options.Store.OpenFile(ctx, artifact)
	if err != nil {
		return err
	}
	d, err := component.Decode(raw)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return notTar
	}
	o.single = d
	return nil
}

func (o *fluxOrigin) readTree(ctx context.Context, tree fs.FS, at string) error {
	clean := cmp.Or(strings.TrimPrefix(path.Clean("/"+at), "/"), ".")
	info, err := fs.Stat(tree, clean)
	if err != nil {
		return lacking(o.name, fmt.Sprintf("path %q is not in its artifact", at), "correct the path")
	}
	if !info.IsDir() {
		return o.readDescriptor(ctx, tree, clean)
	}
	sub, err := fs.Sub(tree, clean)
	if err != nil {
		return err
	}
	if _, err := fs.Stat(sub, blobsDirectory); errors.Is(err, fs.ErrNotExist) {
		return o.readDescriptor(ctx, sub, formats.DescriptorFile)
	}
	repository, err := formats.Open(sub)
	if err != nil {
		return refusedIn(ctx, o.name, err)
	}
	o.archive = &files{r: o.session.r, spec: o.typed, name: o.name, repository: repository, scope: o.scope}
	return nil
}

// readDescriptor reads a descriptor that lies alone. If it lies in a component archive, its blobs are beside it.
func (o *fluxOrigin) readDescriptor(ctx context.Context, tree fs.FS, name string) error {
	if dir := path.Dir(name); path.Base(name) == formats.DescriptorFile {
		if _, err := fs.Stat(tree, path.Join(dir, blobsDirectory)); err == nil {
			return o.readTree(ctx, tree, dir)
		}
	}
	raw, err := fs.ReadFile(tree, name)
	if err != nil {
		return lacking(o.name, "its artifact holds no "+name,
			"publish a component descriptor, a component archive or a CTF, and name it with path if it is not at the root")
	}
	d, err := component.Decode(raw)
	if err != nil {
		return refusedIn(ctx, fmt.Sprintf("%s: %s", o.name, name), err)
	}
	o.single = d
	return nil
}

// root returns the component version that the artifact is about.
func (o *fluxOrigin) root(ctx context.Context) (*version, error) {
	if o.single != nil {
		return o.singleVersion(), nil
	}
	keys := o.archive.repository.Keys()
	if len(keys) != 1 {
		return nil, stalled(o.name, fmt.Sprintf("its artifact holds %d component versions: %s", len(keys), shown(keys)),
			"name one with componentDescriptor.ref and a repositoryContext of type fluxSource")
	}
	return o.archive.find(ctx, keys[0])
}

func (o *fluxOrigin) find(ctx context.Context, key component.Key) (*version, error) {
	if o.single != nil && o.single.Key() == key {
		return o.singleVersion(), nil
	}
	var err error = component.ErrNotFound
	if o.archive != nil {
		var v *version
		if v, err = o.archive.find(ctx, key); err == nil {
			return v, nil
		}
	}
	if !missing(err) {
		return nil, err
	}
	return o.findBehind(ctx, key, err)
}

// findBehind looks where the rest of the components is.
func (o *fluxOrigin) findBehind(ctx context.Context, key component.Key, absent error) (*version, error) {
	if o.behind != nil {
		return o.behind.find(ctx, key)
	}
	if o.single == nil {
		return nil, absent
	}
	repository, err := o.session.scope.ownRepository(o.single)
	if err != nil {
		return nil, err
	}
	if repository.IsZero() || repository.Equal(o.typed) {
		return nil, absent
	}
	return o.session.ask(ctx, key, repository)
}

func (o *fluxOrigin) singleVersion() *version {
	v := &version{descriptor: o.single, repository: o.typed, blobs: blobsBehind{o}}
	if o.behind != nil {
		v.registry = o.behind.place
	} else if t, err := o.session.scope.ownRepository(o.single); err == nil {
		v.registry, _ = o.session.registryOf(t)
	}
	return v
}

// blobsBehind are the local blobs of a descriptor that lies alone.
type blobsBehind struct{ *fluxOrigin }

func (b blobsBehind) blob(ctx context.Context, reference string) (*stream, error) {
	v, err := b.findBehind(ctx, b.single.Key(), component.ErrNotFound)
	if err != nil {
		return nil, fmt.Errorf("local blob %q of a descriptor without blobs beside it: %w", reference, err)
	}
	return v.blobs.blob(ctx, reference)
}

func shown(keys []component.Key) string {
	const most = 8
	var names []string
	for i, key := range keys {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, key.String())
	}
	return strings.Join(names, ", ")
}

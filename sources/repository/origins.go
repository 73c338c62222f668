// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
)

// open reads a repository specification and opens what it names.
func (s *Session) openRepository(ctx context.Context, t component.Typed) (origin, error) {
	spec, err := component.ParseRepository(t)
	if err != nil {
		return nil, refused("repository", err)
	}
	switch spec := spec.(type) {
	case component.OCIRegistry:
		return &registryOrigin{place: s.registry(spec.Base()), typed: t, spec: spec}, nil
	case component.Archive:
		return s.local(ctx, t, spec.FilePath, component.Open)
	case component.Local:
		return s.local(ctx, t, spec.FilePath, openDirectory)
	case component.Inline:
		return s.openInline(ctx, t, spec)
	case component.FluxSource:
		return s.flux(ctx, t, spec)
	case component.GitRepository:
		return s.git(ctx, t, spec)
	}
	return nil, stalled("repository of type "+t.Type, "it cannot be used here", "use OCIRegistry")
}

// files is a repository in a file system.
type files struct {
	r          *Repositories
	spec       component.Typed
	name       string
	repository component.Collection
	// scope identifies the file system with its content for ever; empty if nothing of it may be kept.
	scope string
}

func (f *files) String() string { return f.name }

func (f *files) find(ctx context.Context, key component.Key) (*version, error) {
	d, err := f.descriptor(ctx, key)
	if err != nil {
		return nil, err
	}
	return &version{descriptor: d, repository: f.spec, blobs: fileBlobs{f, d}}, nil
}

// descriptor decodes each descriptor of an unchangeable file system once.
func (f *files) descriptor(ctx context.Context, key component.Key) (*component.Descriptor, error) {
	read := func() (*component.Descriptor, error) {
		d, err := f.repository.Component(ctx, key)
		return d, inFiles(err)
	}
	if f.scope == "" {
		return read()
	}
	return f.r.decode(decodedKey{f.scope, key.String()}, read)
}

// passing are errors that say nothing about files: the end of what was read, and of a job or session that somebody else may have waited for.
var passing = []error{io.EOF, fs.ErrClosed, context.Canceled, context.DeadlineExceeded}

// inFiles marks an error about files that lie here: they stay as they are until somebody publishes others.
func inFiles(err error) error {
	if err == nil || missing(err) || slices.ContainsFunc(passing, func(other error) bool { return errors.Is(err, other) }) {
		return err
	}
	return fault.Of(fault.Stalled, err)
}

// localContent marks errors of reading local files as permanent.
type localContent struct{ io.ReadCloser }

func (l localContent) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	return n, inFiles(err)
}

// fileBlobs are the blobs of one component version in a file system.
type fileBlobs struct {
	files *files
	of    *component.Descriptor
}

func (b fileBlobs) blob(ctx context.Context, reference string) (*stream, error) {
	open := func(ctx context.Context) (io.ReadCloser, error) {
		content, _, err := b.files.repository.Blob(ctx, b.of, reference)
		if err != nil {
			return nil, inFiles(err)
		}
		return localContent{content}, nil
	}
	content, mediaType, err := b.files.repository.Blob(ctx, b.of, reference)
	if err != nil {
		return nil, inFiles(err)
	}
	_ = content.Close()
	return &stream{scope: b.files.scope, id: b.of.Key().String() + " " + reference, mediaType: mediaType, digest: component.DigestOf(reference), open: open}, nil
}

// local opens a directory or tar below LocalRoot.
func (s *Session) local(ctx context.Context, t component.Typed, written string, open func(fs.FS) (component.Collection, error)) (origin, error) {
	name := fmt.Sprintf("repository %s %q", t.Type, written)
	if s.r.options.LocalRoot == "" {
		return nil, stalled(name, "repositories in files of the controller are not enabled", "publish the component to a registry, or use fluxSource; the operator may name a directory for them")
	}
	clean := cmp.Or(strings.TrimPrefix(path.Clean("/"+written), "/"), ".")
	root, err := os.OpenRoot(s.r.options.LocalRoot)
	if err != nil {
		return nil, fmt.Errorf("%s: open the directory of local repositories: %w", name, err)
	}
	tree := root.FS()
	info, err := fs.Stat(tree, clean)
	if err != nil {
		return nil, lacking(name, "there is no such file or directory below the directory of local repositories", "correct filePath")
	}
	held := []io.Closer{root}
	content, err := fs.Sub(tree, clean)
	if !info.IsDir() {
		var unpacked *fetch.Tree
		unpacked, err = s.r.options.Store.Extract(ctx, fetch.Content{
			Name: name, Scope: "local " + clean, ID: fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size()),
			Write: copyOf(tree, clean),
		})
		if err == nil {
			content, held = unpacked.FS(), append(held, unpacked)
		}
	}
	if err != nil {
		return nil, err
	}
	repository, err := open(content)
	if err != nil {
		return nil, refusedIn(ctx, name, err)
	}
	s.hold(held...)
	return &files{r: s.r, spec: t, name: name, repository: repository}, nil
}

// copyOf writes a file of a file system.
func copyOf(tree fs.FS, name string) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		f, err := tree.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = io.Copy(w, f)
		return err
	}
}

// blobsDirectory is where a repository of type local keeps its blobs.
const blobsDirectory = "blobs"

func openDirectory(files fs.FS) (component.Collection, error) {
	blobs, err := fs.Sub(files, blobsDirectory)
	if err != nil {
		return nil, err
	}
	return component.OpenDirectory(files, blobs)
}

// openInline opens a repository that is written into a specification.
func (s *Session) openInline(ctx context.Context, t component.Typed, spec component.Inline) (origin, error) {
	const name = "repository of type inline"
	if spec.BlobMode != "" && spec.BlobMode != "filesystem" {
		return nil, stalled(name, fmt.Sprintf("blobFsMode %q is not supported, since it would read files of the controller", spec.BlobMode), "write the blobs into blobFs")
	}
	descriptors, err := inlineDirectory(spec.FileSystem, spec.DescriptorPath)
	if err != nil {
		return nil, refusedIn(ctx, name+": fileSystem", err)
	}
	raw := spec.BlobFileSystem
	if len(raw) == 0 {
		raw = spec.FileSystem
	}
	blobs, err := inlineDirectory(raw, spec.BlobPath)
	if err != nil {
		return nil, refusedIn(ctx, name+": blobFs", err)
	}
	repository, err := component.OpenDirectory(descriptors, blobs)
	if err != nil {
		return nil, refusedIn(ctx, name, err)
	}
	return &files{r: s.r, spec: t, name: name, repository: repository, scope: fmt.Sprintf("inline %x", sha256.Sum256(t.Raw))}, nil
}

func inlineDirectory(raw []byte, dir string) (fs.FS, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	all, err := model.Inline(raw)
	if err != nil {
		return nil, err
	}
	clean := strings.TrimPrefix(path.Clean("/"+dir), "/")
	if clean == "" {
		return all, nil
	}
	return fs.Sub(all, clean)
}

// git opens a directory of a Git repository.
func (s *Session) git(ctx context.Context, t component.Typed, spec component.GitRepository) (origin, error) {
	at := git.Location{URL: spec.URL, Ref: spec.Ref, Commit: spec.Commit}
	name := fmt.Sprintf("Git repository %q", spec.URL)
	commit, err := s.r.git.Resolve(ctx, at)
	if err != nil {
		return nil, guarded(spec.URL, err)
	}
	at.Commit = commit
	scope := "git " + spec.URL
	tree, err := s.r.options.Store.Extract(ctx, fetch.Content{Name: name, Scope: scope, ID: commit + " " + spec.Path, Write: s.r.gitArchive(at, spec.Path)})
	if err != nil {
		return nil, err
	}
	repository, err := component.Open(tree.FS())
	if err != nil {
		return nil, refusedIn(ctx, name, err)
	}
	s.hold(tree)
	return &files{r: s.r, spec: t, name: name, repository: repository, scope: scope + " " + commit + " " + spec.Path}, nil
}

// gitArchive writes the files of a commit as a tar.
func (r *Repositories) gitArchive(at git.Location, folder string) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		_, err := r.git.Archive(ctx, at, folder, w)
		return guarded(at.URL, err)
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// digestCache keeps digests of the used part of artifacts by the digest of the artifact and the path.
type digestCache struct {
	cache[string, string]
}

// componentDigest returns the digest of the file or directory that a component comes from, in sources that many things share. Of others the
// revision counts, so that nothing is downloaded to find out whether something changed.
func (r *Reader) componentDigest(ctx context.Context, namespace string, source flux.Source, at string) (string, error) {
	if !sharedKind(source.Kind) {
		return "", nil
	}
	key := source.Digest + "|" + at
	if known, ok := r.digests.entries().Get(key); ok && source.Digest != "" {
		return known, nil
	}
	tree, err := r.Artifacts.Open(ctx, source.Artifact())
	if err != nil {
		return "", err
	}
	defer tree.Close() // nothing was written
	digest, err := digestOf(tree.FS(), usedPart(tree.FS(), at))
	if errors.Is(err, fs.ErrNotExist) {
		return "", kit.Stall(jobs.Operation, "ComponentNotFound",
			"spec.componentDescriptor.path: %s has no file or directory %q; correct the path", source, at)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", source, err)
	}
	r.digests.entries().Put(key, digest, int64(len(digest)))
	return digest, nil
}

// sharedKind reports whether a source of that kind holds many things, so that most of its revisions concern others.
func sharedKind(kind string) bool { return kind == "GitRepository" || kind == "Bucket" }

// usedPart returns the part of an artifact that a path stands for: with a descriptor in a component archive, its blobs are used too.
func usedPart(files fs.FS, at string) string {
	dir, name := path.Split(path.Clean("/" + at))
	if name != formats.DescriptorFile {
		return at
	}
	if _, err := fs.Stat(files, strings.TrimPrefix(path.Join(dir, blobsDirectory), "/")); err != nil {
		return at
	}
	return dir
}

// blobsDirectory is where a component archive keeps its blobs.
const blobsDirectory = "blobs"

// digestOf returns the digest of a file, or of names and contents of a directory.
func digestOf(files fs.FS, at string) (string, error) {
	sum := sha256.New()
	root := strings.TrimPrefix(path.Clean("/"+at), "/")
	if root == "" {
		root = "."
	}
	err := fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, _ = fmt.Fprintf(sum, "%q\n", strings.TrimPrefix(name, root))
		return digestFile(sum, files, name)
	})
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// digestFile adds content and length of a file.
func digestFile(sum io.Writer, files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	size, err := io.Copy(sum, file)
	_, _ = fmt.Fprintf(sum, "\n%d\n", size)
	return err
}

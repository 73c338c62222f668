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

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// sourceUse is one place of an Installation that names a Flux source.
type sourceUse struct {
	// field of the Installation, for messages.
	field string
	ref   *v1alpha1.SourceReference
	path  string
	// component says that the component comes from there, and else the blueprint.
	component bool
}

// sourceUses returns the Flux sources that an Installation names itself.
func sourceUses(inst *v1alpha1.Installation) []sourceUse {
	var uses []sourceUse
	if ref := inst.Spec.Blueprint.SourceReference; ref != nil {
		uses = append(uses, sourceUse{field: "spec.blueprint.sourceRef", ref: ref, path: inst.Spec.Blueprint.Path})
	}
	if component := inst.Spec.ComponentDescriptor; component != nil && component.SourceReference != nil {
		uses = append(uses, sourceUse{
			field: "spec.componentDescriptor.sourceRef", ref: component.SourceReference, path: component.Path, component: true,
		})
	}
	return uses
}

// resolvedSource is the state of a Flux source with what was found in it.
type resolvedSource struct {
	status v1alpha1.SourceStatus
	// blueprint is nil where the component comes from the source.
	blueprint *Blueprint
}

// resolveSources reads the sources that component and blueprint come from.
func (r *Reader) resolveSources(ctx context.Context, in *Reading) error {
	in.source = nil
	var states []v1alpha1.SourceStatus
	for _, use := range sourceUses(in.inst) {
		source, err := r.lookupSource(ctx, in.inst, use, in.context.requiresVerified())
		if source != nil {
			states = append(states, source.status)
		}
		if err != nil && source != nil {
			in.inst.Status.Sources = states // this state of the source has been tried, so that only another one starts a job
		}
		if err != nil {
			return sourceFailure(use.field, err)
		}
		if !use.component {
			in.source = source
		}
	}
	in.inst.Status.Sources = states
	return nil
}

// lookupSource returns the artifact of a source and the digest of what is used of it. When the artifact cannot be read it returns both the
// state of the source and an error.
func (r *Reader) lookupSource(ctx context.Context, inst *v1alpha1.Installation, use sourceUse, verified bool) (*resolvedSource, error) {
	found, err := flux.Lookup(ctx, r.Reader, inst.Namespace, *use.ref, flux.Policy{
		NoCrossNamespaceRefs: r.NoCrossNamespaceRefs, RequireVerified: verified || r.RequireVerifiedSources,
	})
	if err != nil {
		return nil, err
	}
	source := &resolvedSource{status: found.Status()}
	if use.component {
		source.status.ContentDigest, err = r.componentDigest(ctx, found, use.path)
		return source, err
	}
	key := blueprintKey{"artifact", found.Digest, use.path}
	blueprint, err := r.blueprints.artifact(key, func() (*Blueprint, error) {
		return r.fetchBlueprint(ctx, found, use.path)
	})
	if err != nil {
		return source, err
	}
	source.blueprint, source.status.ContentDigest = blueprint, blueprint.digest
	return source, nil
}

// fetchBlueprint downloads an artifact and loads the blueprint in it.
func (r *Reader) fetchBlueprint(ctx context.Context, source flux.Source, path string) (*Blueprint, error) {
	tree, err := r.Artifacts.Open(ctx, source.Artifact())
	if err != nil {
		return nil, err
	}
	defer tree.Close() // nothing was written
	files, err := tree.Sub(path)
	if err != nil {
		return nil, protocol.Stall(jobs.Operation, "BlueprintNotFound", "spec.blueprint.path: %w", err)
	}
	blueprint, err := blueprintOf(files)
	if err != nil {
		return nil, protocol.Stall(jobs.Operation, "BlueprintTooLarge", "spec.blueprint.sourceRef: %s: %w", source, err)
	}
	return blueprint, nil
}

// sourceFailure says who can end a problem with a source: its next event, a person, or time.
func sourceFailure(field string, err error) error {
	if problem, ok := errors.AsType[*flux.Error](err); ok {
		if problem.Waiting {
			return protocol.Wait(jobs.Operation, string(problem.Reason), "%s: %w", field, err)
		}
		return protocol.Stall(jobs.Operation, string(problem.Reason), "%s: %w", field, err)
	}
	if errors.Is(err, fetch.ErrGone) {
		return protocol.Again(jobs.Operation, "ArtifactGone", "%s: %w", field, err)
	}
	if !errors.As(err, new(*fault.Error)) {
		return err
	}
	return protocol.Stall(jobs.Operation, "ArtifactRefused", "%s: %w", field, err)
}

var errNoBlueprint = fmt.Errorf("spec.blueprint: give exactly one of inline, ref and sourceRef")

// digestCache keeps digests of the used part of artifacts by the digest of the artifact and the path.
type digestCache struct {
	cache[string, string]
}

// componentDigest returns the digest of the file or directory that a component comes from, in sources that many things share. Of others the
// revision counts, so that nothing is downloaded to find out whether something changed.
func (r *Reader) componentDigest(ctx context.Context, source flux.Source, at string) (string, error) {
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
		return "", protocol.Stall(jobs.Operation, "ComponentNotFound",
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
	if name != component.DescriptorFile {
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

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Blob is verified content of a resource. It has to be closed.
type Blob struct {
	io.ReadSeekCloser
	// MediaType as the descriptor or the repository says; may be empty.
	MediaType string
	// Size in bytes.
	Size int64
	// Digest of the content, if it is known; otherwise empty.
	Digest digest.Digest
}

// ReadAll returns the content if it has at most max bytes. It leaves the blob open.
func (b *Blob) ReadAll(max int64) ([]byte, error) {
	if b.Size > max {
		return nil, stalled("content", fmt.Sprintf("it has %d bytes, more than the %d allowed here", b.Size, max), "make it smaller")
	}
	return io.ReadAll(io.LimitReader(b, max))
}

// stream is content whose resource has not been compared yet.
type stream struct {
	// scope and id identify the content for the store, see fetch.Content; an empty scope is never shared.
	scope, id string
	mediaType string
	// digest of the bytes, "" if unknown; verified says that open guarantees it.
	digest   digest.Digest
	verified bool
	// manifest is the digest of the OCI artifact that the content is a layer of; "" if it is no such thing.
	manifest digest.Digest
	// compared says that the digest of the resource is no matter of these bytes any more: it was compared with what they were
	// taken from.
	compared bool
	// mutable says that scope and id alone may stand for other content tomorrow.
	mutable bool
	// size is how many bytes were announced; zero if nobody said it.
	size int64
	open func(ctx context.Context) (io.ReadCloser, error)
}

// Content opens the content of a resource of a component version that the session has looked up. The digest of the resource
// is compared before the call returns. The content of an OCI artifact is its one layer that fits the type of the resource, or
// its first. The caller closes it.
func (s *Session) Content(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*Blob, error) {
	blob, err := s.content(ctx, d, resource)
	if err != nil {
		return nil, about(d, resource, err)
	}
	return blob, nil
}

// stream opens what the access of a resource names.
func (s *Session) stream(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*stream, error) {
	v, err := s.version(d)
	if err != nil {
		return nil, err
	}
	return s.access(ctx, v, resource, resource.Access)
}

func (s *Session) content(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*Blob, error) {
	from, err := s.stream(ctx, d, resource)
	if err != nil {
		return nil, err
	}
	want, err := from.expect(resource)
	if err != nil {
		return nil, err
	}
	opened, err := from.granted(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { closing(opened) }()
	if onDisk, ok := opened.(*oci.Content); ok && (want == "" || from.verified && want == from.digest) {
		opened = nil
		return &Blob{ReadSeekCloser: onDisk, MediaType: from.mediaType, Size: onDisk.Size(), Digest: onDisk.Digest}, nil
	}
	kept, err := s.r.options.Store.Keep(ctx, from.kept(name(d, resource), want))
	if err != nil {
		return nil, err
	}
	return &Blob{ReadSeekCloser: kept, MediaType: from.mediaType, Size: kept.Size, Digest: want}, nil
}

// granted opens content of a registry, which shows that the caller may have it before the store serves it; nil if that is
// known already.
func (f *stream) granted(ctx context.Context) (io.ReadCloser, error) {
	if !f.verified {
		return nil, nil
	}
	return f.open(ctx)
}

func closing(opened io.Closer) {
	if opened != nil {
		_ = opened.Close()
	}
}

// kept is what the store keeps. It opens the content for itself: others may wait for it who stay longer than the caller.
func (f *stream) kept(name string, want digest.Digest) fetch.Content {
	scope, id := f.scope, f.id+" "+want.String()
	if scope == "" || f.mutable && want == "" {
		scope, id = "once", unique()
	}
	return fetch.Content{Name: name, Scope: scope, ID: id, Digest: want, Write: func(ctx context.Context, w io.Writer) error {
		opened, err := f.open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		_, err = io.Copy(w, opened)
		return err
	}}
}

// Files extracts the content of a resource that is a tar or gzipped tar. The file system stays usable as long as something
// refers to it.
func (s *Session) Files(ctx context.Context, d *component.Descriptor, resource *component.Resource) (fs.FS, error) {
	files, err := s.files(ctx, d, resource)
	if err != nil {
		return nil, about(d, resource, err)
	}
	return files, nil
}

func (s *Session) files(ctx context.Context, d *component.Descriptor, resource *component.Resource) (fs.FS, error) {
	from, err := s.stream(ctx, d, resource)
	if err != nil {
		return nil, err
	}
	want, err := from.expect(resource)
	if err != nil {
		return nil, err
	}
	tree, err := s.r.extract(ctx, from, name(d, resource), want)
	if err != nil {
		return nil, err
	}
	return tree.FS(), nil
}

// extract returns the files of content that the caller may have.
func (r *Repositories) extract(ctx context.Context, from *stream, name string, want digest.Digest) (*fetch.Tree, error) {
	opened, err := from.granted(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(opened)
	return r.options.Store.Extract(ctx, from.kept(name, want))
}

func name(d *component.Descriptor, resource *component.Resource) string {
	return fmt.Sprintf("resource %q of component %s", resource.Name, d.Key())
}

func about(d *component.Descriptor, resource *component.Resource, err error) error {
	return fmt.Errorf("%s: %w", name(d, resource), err)
}

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

// ErrDigest is inside the error about content that is not that of the descriptor.
var ErrDigest = errors.New("digest mismatch")

func mismatch(want, got digest.Digest) error {
	return &fault.Error{Kind: fault.Stalled, Subject: "content", Problem: fmt.Sprintf("its digest is %s, but the component descriptor says %s", got, want), Class: ErrDigest,
		Cure: "find out who changed it, and publish the component version anew"}
}

// hashes are the hash algorithms of OCM.
var hashes = map[string]digest.Algorithm{component.HashSHA256: digest.SHA256, component.HashSHA512: digest.SHA512}

// wanted reads the digest of a resource: the digest and what it is of (component.GenericBlobDigest or OCIArtifactDigest). Both are
// empty if the resource has none, or one that says that it is not covered.
func wanted(spec *component.DigestSpec) (want digest.Digest, of string, err error) {
	if spec == nil || spec.HashAlgorithm == component.NoDigest || spec.NormalisationAlgorithm == component.ExcludeFromSignature {
		return "", "", nil
	}
	algorithm, known := hashes[spec.HashAlgorithm]
	if !known {
		return "", "", stalled("digest", fmt.Sprintf("hash algorithm %q is unknown", spec.HashAlgorithm), "use SHA-256 or SHA-512")
	}
	want = digest.NewDigestFromEncoded(algorithm, strings.ToLower(spec.Value))
	if want.Validate() != nil {
		return "", "", stalled("digest", fmt.Sprintf("value %q is not a digest of %s", spec.Value, spec.HashAlgorithm), "publish the component version anew")
	}
	switch spec.NormalisationAlgorithm {
	case component.GenericBlobDigest, component.OCIArtifactDigest:
		return want, spec.NormalisationAlgorithm, nil
	}
	return "", "", stalled("digest", fmt.Sprintf("normalisation algorithm %q is unknown", spec.NormalisationAlgorithm), "use genericBlobDigest/v1 or ociArtifactDigest/v1")
}

// expect compares the digest of an OCI artifact, and returns the digest that the bytes must have; "" if nobody says one.
func (f *stream) expect(resource *component.Resource) (digest.Digest, error) {
	if f.compared {
		return f.digest, nil
	}
	want, of, err := wanted(resource.Digest)
	switch {
	case err != nil:
		return "", err
	case of == component.GenericBlobDigest:
		return f.expectBlob(want)
	case of == component.OCIArtifactDigest:
		return f.digest, f.expectArtifact(want)
	}
	return f.digest, nil
}

func (f *stream) expectBlob(want digest.Digest) (digest.Digest, error) {
	if f.digest != "" && f.digest.Algorithm() == want.Algorithm() && f.digest != want {
		return "", mismatch(want, f.digest)
	}
	return want, nil
}

func (f *stream) expectArtifact(want digest.Digest) error {
	if f.manifest == "" {
		return stalled("digest", "it is one of an OCI artifact, but the content is none", "publish the component version anew")
	}
	if f.manifest != want {
		return mismatch(want, f.manifest)
	}
	return nil
}

// Digest reports whether the content of a resource has a digest: it returns want if so. It is a component.BlobDigester, for
// component.Verify. Of an OCI artifact only the manifest is downloaded where its digest is wanted.
func (s *Session) Digest(ctx context.Context, d *component.Descriptor, resource *component.Resource, want component.DigestSpec) (component.DigestSpec, error) {
	compared := *resource
	compared.Digest = &want
	if want.NormalisationAlgorithm == component.OCIArtifactDigest {
		from, err := s.stream(ctx, d, &compared)
		if err == nil {
			_, err = from.expect(&compared)
		}
		if err != nil {
			return component.DigestSpec{}, about(d, resource, err)
		}
		return want, nil
	}
	blob, err := s.Content(ctx, d, &compared)
	if err != nil {
		return component.DigestSpec{}, err
	}
	return want, blob.Close()
}

// Errors of this package are about a component version, a resource or a repository; fault.KindOf returns who can end them.

func stalled(subject, problem, cure string) error {
	return &fault.Error{Kind: fault.Stalled, Subject: subject, Problem: problem, Cure: cure}
}

// lacking is a stalled failure of what is not there.
func lacking(subject, problem, cure string) error {
	return &fault.Error{Class: component.ErrNotFound, Subject: subject, Problem: problem, Cure: cure}
}

// refused is a stalled failure whose cause says the rest.
func refused(subject string, err error) error {
	return fault.Of(fault.Stalled, fmt.Errorf("%s: %w", subject, err))
}

// refusedIn is refused for what was read in a context. Where that has ended, what was to be read is not to blame.
func refusedIn(ctx context.Context, subject string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", subject, context.Cause(ctx))
	}
	return refused(subject, err)
}

// spoiled is for a component version in a registry that cannot be read.
func spoiled(subject string, err error) error {
	return &fault.Error{Kind: fault.Stalled, Subject: subject, Problem: err.Error(), Cause: err, Cure: "publish the component version anew"}
}

// missing reports whether the repository has no such component version, or hides it.
func missing(err error) bool {
	for _, class := range []error{component.ErrNotFound, oci.ErrNotFound, oci.ErrUnauthorized, git.ErrNotFound} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

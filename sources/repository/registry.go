// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// place is one in a registry with the logins for it. The zero value is none.
type place struct {
	r *Repositories
	// base is host and path, with http:// for one without TLS.
	base   string
	logins oci.Credentials
	// fingerprint of the logins.
	fingerprint [sha256.Size]byte
}

func (r place) isZero() bool { return r.base == "" }

// grantKey says who found which component version.
type grantKey struct {
	fingerprint [sha256.Size]byte
	reference   string
}

// decodedKey names a descriptor by where it lies and its digest, or what else identifies it there.
type decodedKey struct{ scope, id string }

// registryOrigin is a repository of type OCIRegistry.
type registryOrigin struct {
	place
	typed component.Typed
	spec  component.OCIRegistry
}

// registry is a place with the logins of the scope.
func (s *Session) registry(base string) place {
	return place{r: s.r, base: base, logins: s.scope.Rights.logins, fingerprint: s.scope.Rights.fingerprint}
}

// below puts the logins of the version's registry first where a place that the version names lies below that registry.
func (v *version) below(at place) place {
	if v.registry.isZero() || v.registry.fingerprint == at.fingerprint {
		return at
	}
	if base := strings.TrimSuffix(withoutScheme(v.registry.base), "/"); strings.HasPrefix(withoutScheme(at.base), base+"/") {
		at.logins = oci.Join(v.registry.logins, at.logins)
	}
	return at
}

func withoutScheme(reference string) string {
	if _, rest, ok := strings.Cut(reference, "://"); ok {
		return rest
	}
	return reference
}

// registryOf returns the registry that a repository specification names, zero if it names none.
func (s *Session) registryOf(t component.Typed) (place, error) {
	if t.IsZero() {
		return place{}, nil
	}
	spec, err := component.ParseRepository(t)
	if err != nil {
		return place{}, refused("repository", err)
	}
	if found, ok := spec.(component.OCIRegistry); ok {
		return s.registry(found.Base()), nil
	}
	return place{}, nil
}

func (o *registryOrigin) String() string { return "OCI registry " + o.base }

// find asks the registry once for all concurrent callers with the same logins, unless these found the version a short while ago.
func (o *registryOrigin) find(ctx context.Context, key component.Key) (*version, error) {
	reference := o.spec.Reference(key.Name, key.Version)
	grant := grantKey{o.fingerprint, reference}
	if v := o.r.granted(grant); v != nil {
		return v, nil
	}
	done := o.r.flights.DoChan(fmt.Sprintf("%x %s", grant.fingerprint, grant.reference), func() (found any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.r.options.Timeout)
		defer cancel()
		err = fault.Survived(ctx, func() error {
			found, err = o.load(ctx, grant)
			return err
		})
		return found, err
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("stopped waiting for the registry: %w", context.Cause(ctx))
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*version), nil
	}
}

// granted returns what the logins found within the time to remember.
func (r *Repositories) granted(key grantKey) *version {
	v, ok := r.versions.Get(key)
	if !ok || r.options.Clock().UnixNano()-v.found > int64(remember) {
		return nil
	}
	return v
}

// grantWeight is what a version counts beside its manifest and its descriptor.
const grantWeight = 1 << 10

// staleFor is for how long a registry that cannot be reached is not asked again for a version that is known from before.
const staleFor = 10 * time.Second

// load asks the registry.
func (o *registryOrigin) load(ctx context.Context, grant grantKey) (*version, error) {
	if v := o.r.granted(grant); v != nil {
		return v, nil
	}
	asked := o.r.options.Clock().UnixNano()
	m, err := o.r.options.OCI.ManifestFor(ctx, grant.reference, oci.PullOptions{Credentials: o.logins, First: true})
	if err != nil {
		return nil, err
	}
	blobs, err := newManifestBlobs(m, grant.reference, o.r.options.MaxContent)
	if err != nil {
		return nil, spoiled("its manifest", err)
	}
	d, err := o.descriptor(ctx, blobs)
	if err != nil {
		return nil, err
	}
	v := &version{descriptor: d, repository: o.typed, blobs: blobs, registry: o.place, found: asked}
	if m.Stale {
		v.found -= int64(remember - staleFor)
	}
	o.r.versions.Put(grant, v, grantWeight+memory.Size(m.Manifest)+memory.Size(blobs.layout)+d.Weight())
	return v, nil
}

// descriptor decodes the descriptor layer, once for all who may read it in that repository.
func (o *registryOrigin) descriptor(ctx context.Context, b *manifestBlobs) (*component.Descriptor, error) {
	layer, err := b.layout.Descriptor(nil)
	if err != nil {
		config, configErr := b.manifest.Blob(ctx, b.layout.Config.Digest, maxConfig)
		if configErr != nil {
			return nil, configErr
		}
		if layer, err = b.layout.Descriptor(config); err != nil {
			return nil, spoiled("its manifest", err)
		}
	}
	return o.r.decode(decodedKey{b.scope, layer.Digest.String()}, func() (*component.Descriptor, error) {
		content, err := b.manifest.Open(ctx, layer.Digest, maxDescriptor)
		if err != nil {
			return nil, err
		}
		defer func() { _ = content.Close() }()
		d, err := component.DecodeLayer(content)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, spoiled("its descriptor", err)
		}
		return d, nil
	})
}

// maxConfig is how many bytes the config of a component version may have, which names one layer.
const maxConfig = 1 << 20

// decode returns a descriptor that was decoded before, or else decodes it and keeps it.
func (r *Repositories) decode(key decodedKey, decode func() (*component.Descriptor, error)) (*component.Descriptor, error) {
	if d, ok := r.decoded.Get(key); ok {
		return d, nil
	}
	d, err := decode()
	if err == nil {
		r.decoded.Put(key, d, d.Weight())
	}
	return d, err
}

// manifestBlobs are the layers of the manifest of a component version.
type manifestBlobs struct {
	manifest *oci.Manifest
	layout   *component.Manifest
	scope    string
	// most is how many bytes one of them may have.
	most int64
}

// newManifestBlobs takes a manifest over. Its text, which can be a thousand times what is needed of it, goes.
func newManifestBlobs(m *oci.Manifest, reference string, most int64) (*manifestBlobs, error) {
	layout, err := component.DecodeManifest(m.Raw)
	if err != nil {
		return nil, err
	}
	m.Raw = nil
	return &manifestBlobs{manifest: m, layout: layout, scope: repositoryOf(reference), most: most}, nil
}

func (b *manifestBlobs) blob(_ context.Context, reference string) (*stream, error) {
	layers, err := b.layout.Blob(reference)
	if err != nil {
		return nil, err
	}
	if len(layers) == 1 {
		return b.layer(layers[0]), nil
	}
	return b.parts(reference, layers)
}

// parts is a blob that lies in several layers. Each is checked on its own, so the whole has no digest that is known before.
func (b *manifestBlobs) parts(reference string, layers []ocispec.Descriptor) (*stream, error) {
	size := int64(0)
	for _, layer := range layers {
		if layer.Size > b.most-size {
			return nil, &fault.Error{Class: oci.ErrTooLarge, Subject: "content", Cure: "make it smaller or raise the limit of the controller",
				Problem: fmt.Sprintf("its parts have more than the %d bytes allowed together", b.most)}
		}
		size += layer.Size
	}
	return &stream{scope: b.scope, id: reference, mediaType: layers[0].MediaType, verified: true, size: size,
		open: func(ctx context.Context) (io.ReadCloser, error) {
			openers := make([]component.Opener, len(layers))
			for i, layer := range layers {
				openers[i] = func() (io.ReadCloser, error) { return b.manifest.Open(ctx, layer.Digest, b.most) }
			}
			return component.Concatenate(openers)
		}}, nil
}

// beside returns the reference of another manifest in the index that the component version is in; empty if there is no index.
func (b *manifestBlobs) beside(reference string) string {
	if d := component.DigestOf(reference); d != "" && b.manifest.Own != b.manifest.Digest {
		return b.scope + "@" + d.String()
	}
	return ""
}

// layer is a layer or the config.
func (b *manifestBlobs) layer(d ocispec.Descriptor) *stream {
	return &stream{scope: b.scope, id: d.Digest.String(), mediaType: d.MediaType, digest: d.Digest, verified: true, size: d.Size,
		open: func(ctx context.Context) (io.ReadCloser, error) { return b.manifest.Open(ctx, d.Digest, b.most) }}
}

// repositoryOf takes tag and digest off a reference.
func repositoryOf(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	slash := strings.LastIndex(reference, "/")
	if colon := strings.LastIndex(reference, ":"); colon > slash {
		return reference[:colon]
	}
	return reference
}

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

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
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
		return o.readDescriptor(ctx, sub, component.DescriptorFile)
	}
	repository, err := component.Open(sub)
	if err != nil {
		return refusedIn(ctx, o.name, err)
	}
	o.archive = &files{r: o.session.r, spec: o.typed, name: o.name, repository: repository, scope: o.scope}
	return nil
}

// readDescriptor reads a descriptor that lies alone. If it lies in a component archive, its blobs are beside it.
func (o *fluxOrigin) readDescriptor(ctx context.Context, tree fs.FS, name string) error {
	if dir := path.Dir(name); path.Base(name) == component.DescriptorFile {
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

// authorityKey is the key of the certificate authorities in the Secret that spec.certSecretRef names.
const authorityKey = "ca.crt"

// behind is the registry from which an OCIRepository pulls a component version; nil if the source is something else.
func (s *Session) behind(ctx context.Context, source flux.Source) (*registryOrigin, error) {
	from, ok := source.Object.(*sourcev1.OCIRepository)
	if !ok {
		return nil, nil
	}
	url := strings.TrimPrefix(from.Spec.URL, "oci://")
	base, _, ok := strings.Cut(url, "/component-descriptors/")
	if !ok {
		return nil, nil
	}
	host, _, _ := strings.Cut(base, "/")
	if from.Spec.Insecure {
		base = "http://" + base
	}
	t, err := component.NewTyped(map[string]any{"type": "OCIRegistry", "baseUrl": base})
	if err != nil {
		return nil, err
	}
	spec := component.OCIRegistry{BaseURL: base}
	o := &registryOrigin{place: s.registry(spec.Base()), typed: t, spec: spec}
	rights, err := puller{options: &s.r.options, from: from, host: host}.rights(ctx, s.scope.Rights)
	if err != nil {
		return nil, err
	}
	o.logins, o.fingerprint = rights.logins, rights.fingerprint
	return o, nil
}

// puller is an OCIRepository that pulls from a host.
type puller struct {
	options *Options
	from    *sourcev1.OCIRepository
	host    string
}

// rights are those with which it pulls: its pull secrets, or else the identity of its cloud, or else those of the Context; and its certificate
// authorities. They serve below the base only, which is what the source itself pulls from.
func (p puller) rights(ctx context.Context, fallback Rights) (rights Rights, err error) {
	secrets, err := p.pullSecrets(ctx)
	switch {
	case err != nil:
	case len(secrets) > 0:
		rights, err = p.secretRights(ctx, secrets)
	case oci.KnownCloud(p.from.Spec.Provider) && p.options.Identity != nil:
		rights, err = p.cloudRights(ctx)
	default:
		rights = fallback
	}
	if err != nil {
		return Rights{}, err
	}
	return p.trust(ctx, rights)
}

// namedSecret is the name of a Secret with the field of the OCIRepository that leads to it.
type namedSecret struct{ field, name string }

// pullSecrets are those that the OCIRepository names, and those of its ServiceAccount unless that logs in at a cloud itself.
func (p puller) pullSecrets(ctx context.Context) ([]namedSecret, error) {
	var all []namedSecret
	if p.from.Spec.SecretRef != nil && p.options.Secret != nil {
		all = append(all, namedSecret{"secretRef", p.from.Spec.SecretRef.Name})
	}
	account := p.from.Spec.ServiceAccountName
	if account == "" || oci.KnownCloud(p.from.Spec.Provider) || p.options.PullSecrets == nil {
		return all, nil
	}
	names, err := p.options.PullSecrets(ctx, p.from.Namespace, account)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.field("serviceAccountName"), err)
	}
	for _, name := range names {
		all = append(all, namedSecret{"serviceAccountName", name})
	}
	return all, nil
}

// secretRights joins the rights of Secrets, of which there is one at least; the first are more important.
func (p puller) secretRights(ctx context.Context, secrets []namedSecret) (Rights, error) {
	names, fields := make([]string, 0, len(secrets)), map[string]string{}
	for _, secret := range secrets {
		names = append(names, secret.name)
		if fields[secret.name] == "" {
			fields[secret.name] = p.field(secret.field)
		}
	}
	var all Rights
	read := pullsecrets.Reading{Field: p.field(secrets[len(secrets)-1].field), Get: func(name string) (map[string][]byte, error) {
		data, err := p.options.Secret(ctx, p.from.Namespace, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[name], err)
		}
		found, err := ParseRights(map[string]map[string][]byte{name: data}, nil)
		if err != nil {
			return nil, refused(fields[name], err)
		}
		all = all.and(found)
		return data, nil
	}}
	return all, read.Into(map[string]map[string][]byte{}, names)
}

// cloudRights are those of the identity of the OCIRepository at its cloud.
func (p puller) cloudRights(ctx context.Context) (Rights, error) {
	identity, err := p.options.Identity(ctx, oci.IdentityRequest{
		Field: p.field("provider"), Provider: p.from.Spec.Provider, Namespace: p.from.Namespace, ServiceAccount: p.from.Spec.ServiceAccountName,
	})
	if err != nil {
		return Rights{}, err
	}
	if !identity.Fits(p.host) {
		return Rights{}, stalled(p.field("provider"), fmt.Sprintf("%s is not a registry of %s", p.host, p.from.Spec.Provider), "correct spec.provider or spec.url")
	}
	return Rights{}.WithIdentity(identity), nil
}

// trust adds the certificate authorities of the OCIRepository.
func (p puller) trust(ctx context.Context, rights Rights) (Rights, error) {
	if p.from.Spec.CertSecretRef == nil || p.options.Secret == nil {
		return rights, nil
	}
	field := p.field("certSecretRef")
	data, err := p.options.Secret(ctx, p.from.Namespace, p.from.Spec.CertSecretRef.Name)
	if err != nil {
		return Rights{}, fmt.Errorf("%s: %w", field, err)
	}
	if len(data[authorityKey]) == 0 {
		return rights, nil
	}
	rights, err = rights.withAuthority(p.host, data[authorityKey])
	if err != nil {
		return Rights{}, refused(fmt.Sprintf("%s: Secret %s: key %s", field, p.from.Spec.CertSecretRef.Name, authorityKey), err)
	}
	return rights, nil
}

func (p puller) field(name string) string {
	return fmt.Sprintf("%s of OCIRepository %s/%s", name, p.from.Namespace, p.from.Name)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Reader looks component versions up in one place, with the same code as the controller. It has to be closed.
type Reader struct {
	registry  publishing.Registry
	place     *Place
	workspace *publishing.Workspace
	session   *repository.Session
}

// NewReader opens a place for reading.
func NewReader(r publishing.Registry, place *Place) (*Reader, error) {
	workspace, err := publishing.NewWorkspace()
	if err != nil {
		return nil, err
	}
	session, err := openSession(r, place, workspace)
	if err != nil {
		return nil, errors.Join(err, workspace.Close())
	}
	return &Reader{registry: r, place: place, workspace: workspace, session: session}, nil
}

// anySize leaves the limit of content to the client of registries: its digest is compared wherever it fits on the disk.
const anySize = math.MaxInt64

func openSession(r publishing.Registry, place *Place, workspace *publishing.Workspace) (*repository.Session, error) {
	store, err := fetch.New(fetch.Options{Dir: workspace.Dir("store")})
	if err != nil {
		return nil, err
	}
	repositories, err := repository.New(repository.Options{OCI: r.Client, Store: store, LocalRoot: place.Root, MaxContent: anySize})
	if err != nil {
		return nil, err
	}
	scope := repository.Scope{Namespace: "default", Repository: &v1alpha1.AnyJSON{RawMessage: place.Spec.Raw}, Partial: place.partial}
	if len(r.DockerConfig) > 0 {
		secrets := map[string]map[string][]byte{"registry-config": {".dockerconfigjson": r.DockerConfig}}
		if scope.Rights, err = repository.ParseRights(secrets, nil); err != nil {
			return nil, err
		}
	}
	return repositories.Open(scope), nil
}

// Close removes what the reader kept.
func (r *Reader) Close() error {
	r.session.Close()
	return r.workspace.Close()
}

// Get returns a component version; without a version, the highest one, pre-releases only if there is nothing else.
func (r *Reader) Get(ctx context.Context, key component.Key) (*component.Descriptor, error) {
	root, err := r.root(ctx, key)
	if err != nil {
		return nil, err
	}
	return root.Descriptor, nil
}

// Component returns a component version, found as by Get, as an Installation has it. It can be read until the reader is closed.
func (r *Reader) Component(ctx context.Context, key component.Key) (*repository.Component, error) {
	root, err := r.root(ctx, key)
	if err != nil {
		return nil, err
	}
	closed, err := r.Closure(ctx, root.Descriptor)
	if err != nil {
		return nil, err
	}
	return &repository.Component{Root: root, Closed: closed, Session: r.session, Standard: r.place.Spec}, nil
}

func (r *Reader) root(ctx context.Context, key component.Key) (*repository.Root, error) {
	if key.Version == "" {
		version, err := r.latest(ctx, key.Name)
		if err != nil {
			return nil, err
		}
		key.Version = version
	}
	return r.session.Root(ctx, v1alpha1.ComponentDescriptorDefinition{
		Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: key.Name, Version: key.Version},
	})
}

// Closure returns a component version with all that it refers to.
func (r *Reader) Closure(ctx context.Context, root *component.Descriptor) (*component.Closed, error) {
	return r.session.Closure(ctx, root)
}

func (r *Reader) latest(ctx context.Context, name string) (string, error) {
	if r.place.registry == nil {
		return r.only(name)
	}
	tags, err := r.registry.Client.Tags(ctx, r.place.registry.Repository(name), r.registry.Credentials)
	if err != nil {
		return "", err
	}
	version := highest(tags)
	if version == "" {
		return "", fmt.Errorf("component %s: none of its %d tags is a version; write NAME:VERSION", name, len(tags))
	}
	return version, nil
}

// highest returns the highest version that is no pre-release, or else the highest one. A tag has .build- in place of +.
func highest(tags []string) string {
	var found *semver.Version
	for _, tag := range tags {
		v, err := semver.NewVersion(strings.Replace(tag, ".build-", "+", 1))
		if err != nil {
			continue
		}
		if found == nil || stable(v) && !stable(found) || stable(v) == stable(found) && oci.IsHigher(v, found) {
			found = v
		}
	}
	if found == nil {
		return ""
	}
	return found.Original()
}

func stable(v *semver.Version) bool { return v.Prerelease() == "" }

// only returns the version of a component that a directory has just once.
func (r *Reader) only(name string) (string, error) {
	spec, err := component.ParseRepository(r.place.Spec)
	if err != nil {
		return "", err
	}
	archive, _ := spec.(component.Archive)
	root, err := os.OpenRoot(filepath.Join(r.place.Root, archive.FilePath))
	if err != nil {
		return "", fmt.Errorf("component %s: name its version; the directory cannot be listed: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	collection, err := component.Open(root.FS())
	if err != nil {
		return "", err
	}
	var versions []string
	for _, key := range collection.Keys() {
		if key.Name == name {
			versions = append(versions, key.Version)
		}
	}
	if len(versions) != 1 {
		return "", fmt.Errorf("component %s has %d versions here %v; write NAME:VERSION", name, len(versions), versions)
	}
	return versions[0], nil
}

// Sign signs component versions and replaces their descriptors by the signed ones. A signature covers all that a version refers to: other
// versions of the list, and else what place holds; place may be nil.
func Sign(ctx context.Context, r publishing.Registry, place *Place, versions []component.Version, options component.SignOptions) error {
	made := map[component.Key]*component.Descriptor{}
	for i := range versions {
		made[versions[i].Descriptor.Key()] = versions[i].Descriptor
	}
	others := component.Resolver(nowhere)
	if place != nil {
		reader, err := NewReader(r, place)
		if err != nil {
			return err
		}
		defer func() { _ = reader.Close() }()
		others = func(ctx context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
			return reader.Get(ctx, key)
		}
	}
	resolver := component.Resolver(func(ctx context.Context, key component.Key, hint component.Hint) (*component.Descriptor, error) {
		if found := made[key]; found != nil {
			return found, nil
		}
		return others(ctx, key, hint)
	})
	for i := range versions {
		closed, err := component.Closure(ctx, versions[i].Descriptor, resolver, component.Limits{})
		if err != nil {
			return err
		}
		if versions[i].Descriptor, err = component.Sign(closed, options); err != nil {
			return err
		}
		made[versions[i].Descriptor.Key()] = versions[i].Descriptor
	}
	return nil
}

// nowhere finds nothing.
func nowhere(_ context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
	return nil, fmt.Errorf("component %s: %w: a signature covers it, so give the --repository that holds it, or make it in the same constructor",
		key, component.ErrNotFound)
}

// Verified is a component version whose signature is valid.
type Verified struct {
	// Component and Version of it.
	Component string `json:"component"`
	Version   string `json:"version"`
	// Signature is the name of the signature.
	Signature string `json:"signature"`
	// Digest that was signed.
	Digest component.DigestSpec `json:"digest"`
	// Algorithm of the signature.
	Algorithm string `json:"algorithm"`
	// Issuer is who signed, as the certificate says; empty without a certificate.
	Issuer string `json:"issuer,omitempty"`
}

// Verify checks a signature of a component version, with all components behind it and the content of their resources, as a controller does.
func (r *Reader) Verify(ctx context.Context, key component.Key, signature string, keys component.Keys) (*Verified, error) {
	root, err := r.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	closed, err := r.Closure(ctx, root)
	if err != nil {
		return nil, err
	}
	verified, err := component.Verify(ctx, closed, signature, keys, r.session.Digest)
	if err != nil {
		return nil, err
	}
	out := &Verified{Component: root.Name, Version: root.Version, Signature: signature}
	for _, s := range verified.Root.Signatures {
		if s.Name == signature {
			out.Digest, out.Algorithm, out.Issuer = s.Digest, s.Signature.Algorithm, s.Signature.Issuer
		}
	}
	return out, nil
}

// Node is one component version of a tree.
type Node struct {
	// Component and Version of it.
	Component string `json:"component"`
	Version   string `json:"version"`
	// Reference is the name under which its parent refers to it; empty for the root.
	Reference string `json:"reference,omitempty"`
	// Resources of the component.
	Resources []Leaf `json:"resources,omitempty"`
	// References are the components that it refers to.
	References []*Node `json:"references,omitempty"`
	// Seen tells that the component was shown before, with all below it.
	Seen bool `json:"seen,omitempty"`
}

// Leaf is a resource of a component version.
type Leaf struct {
	// Name, Version and Type of the resource.
	Name    string `json:"name"`
	Version string `json:"version"`
	Type    string `json:"type"`
	// Access is the type of its access, with the place where it is one.
	Access string `json:"access"`
}

// Tree arranges a closure as a tree; a component that several refer to is shown in full once.
func Tree(closed *component.Closed) (*Node, error) {
	return node(closed, closed.Root, "", map[component.Key]bool{})
}

func node(closed *component.Closed, d *component.Descriptor, name string, seen map[component.Key]bool) (*Node, error) {
	n := &Node{Component: d.Name, Version: d.Version, Reference: name, Seen: seen[d.Key()]}
	if n.Seen {
		return n, nil
	}
	seen[d.Key()] = true
	for i := range d.Resources {
		n.Resources = append(n.Resources, leaf(&d.Resources[i]))
	}
	for i := range d.References {
		next, err := closed.Follow(&d.References[i])
		if err != nil {
			return nil, err
		}
		below, err := node(closed, next, d.References[i].Name, seen)
		if err != nil {
			return nil, err
		}
		n.References = append(n.References, below)
	}
	return n, nil
}

func leaf(r *component.Resource) Leaf {
	l := Leaf{Name: r.Name, Version: r.Version, Type: r.Type, Access: r.Access.Type}
	access, err := component.ParseAccess(r.Access)
	if err != nil {
		return l
	}
	if place := placeOf(access); place != "" {
		l.Access += " " + place
	}
	return l
}

func placeOf(access component.Access) string {
	switch t := access.(type) {
	case component.OCIArtifact:
		return t.ImageReference
	case component.RelativeOCIReference:
		return t.Reference
	case component.LocalBlob:
		return t.ReferenceName
	case component.HelmChart:
		return strings.TrimSuffix(t.Repository, "/") + " " + t.Chart
	case component.Web:
		return t.URL
	case component.GitHub:
		return t.RepoURL
	case component.Git:
		return t.Repository
	}
	return ""
}

// Text draws the tree with lines, resources before references.
func (n *Node) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s:%s\n", n.Component, n.Version)
	n.draw(&out, "")
	return out.String()
}

func (n *Node) draw(out *strings.Builder, indent string) {
	name, kind, version := 0, 0, 0
	for _, r := range n.Resources {
		name, kind, version = max(name, len(r.Name)), max(kind, len(r.Type)), max(version, len(r.Version))
	}
	rest := len(n.Resources) + len(n.References)
	for _, r := range n.Resources {
		rest--
		line := fmt.Sprintf("%-*s  %-*s  %-*s  %s", name, r.Name, kind, r.Type, version, r.Version, r.Access)
		fmt.Fprintf(out, "%s%s%s\n", indent, branch(rest), strings.TrimRight(line, " "))
	}
	for _, r := range n.References {
		rest--
		note := ""
		if r.Seen {
			note = "  (shown above)"
		}
		fmt.Fprintf(out, "%s%s%s → %s:%s%s\n", indent, branch(rest), r.Reference, r.Component, r.Version, note)
		r.draw(out, indent+stem(rest))
	}
}

func branch(rest int) string {
	if rest == 0 {
		return "└── "
	}
	return "├── "
}

func stem(rest int) string {
	if rest == 0 {
		return "    "
	}
	return "│   "
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package repository finds component versions and the content of their resources, for one Installation at a time.
//
// A Scope says what the Installation may use; everything in it was read with that Installation's rights. A Session looks
// up descriptors in the repositories of the Scope and opens content, which is verified by the digests of the descriptor
// before the caller sees its first byte.
//
// What was found is kept: content on disk, decoded descriptors in memory. It is served again only to a Scope whose own
// logins found it in the same repository. Component versions never change by the rules of OCM, so a registry is asked once
// for a version and a set of logins within three minutes; a version that somebody replaced all the same is seen after
// that time.
package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Scope is what one Installation may use. Everything in it was read with that Installation's rights.
type Scope struct {
	// Namespace of the Installation; Flux sources without one are looked up there.
	Namespace string
	// Repository is the repositoryContext of the Context; nil means that it has none.
	Repository *v1alpha1.AnyJSON
	// Rights of the Context.
	Rights Rights
	// Overwrites of the Context.
	Overwrites []v1alpha1.ComponentVersionOverwrite
	// RequireVerified refuses Flux sources that Flux has not verified.
	RequireVerified bool
	// Partial leaves out of closures what is not found.
	Partial bool
}

// Session looks up component versions and content for one Scope. It remembers where each component version was found, and opens each repository
// once. It is safe for concurrent use and has to be closed.
type Session struct {
	r          *Repositories
	scope      *Scope
	overwrites *component.Overwrites

	mu sync.Mutex
	// start is the repository where components without another one are looked for: that of the root.
	start component.Typed
	// found are the versions that the session knows, embedded those that are written inside the Installation.
	found, embedded map[component.Key]*version
	origins         map[string]*opening
	sources         []v1alpha1.SourceStatus
	// open is what is kept open until the session ends.
	open []io.Closer
}

// Open starts a session.
func (r *Repositories) Open(s Scope) *Session {
	return &Session{
		r: r, scope: &s, overwrites: component.NewOverwrites(s.Overwrites), origins: map[string]*opening{},
		found: map[component.Key]*version{}, embedded: map[component.Key]*version{},
	}
}

// Close gives back what the session holds. File systems and blobs that it returned stay usable.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.open {
		_ = held.Close()
	}
	s.open = nil
}

// hold keeps trees and directories open until the session ends. Those of a repository are held when it is open: one that cannot be opened may be
// tried any number of times.
func (s *Session) hold(open ...io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, open...)
}

// use records a source.
func (s *Session) use(source flux.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := v1alpha1.SourceStatus{Kind: source.Kind, Namespace: source.Namespace, Name: source.Name, Revision: source.Revision, Digest: source.Digest}
	if slices.Contains(s.sources, used) {
		return
	}
	s.sources = append(s.sources, used)
	slices.SortFunc(s.sources, func(a, b v1alpha1.SourceStatus) int {
		return strings.Compare(flux.Key(a.Kind, a.Namespace, a.Name), flux.Key(b.Kind, b.Namespace, b.Name))
	})
}

// SourcesUsed returns the Flux sources whose artifacts were used so far, by kind, namespace and name.
func (s *Session) SourcesUsed() []v1alpha1.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sources)
}

// sessionWeight is what a session counts beside the component versions that it knows: it keeps files open.
const sessionWeight = 64 << 10

// Weight returns about how many bytes the session has in memory, with descriptors that it shares with others.
func (s *Session) Weight() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	weight := int64(sessionWeight)
	for _, v := range s.found {
		weight += v.descriptor.Weight()
	}
	return weight
}

// Closure returns root with everything it refers to, overwrites applied. Component versions are looked up in parallel.
func (s *Session) Closure(ctx context.Context, root *component.Descriptor) (*component.Closed, error) {
	resolver := s.overwrites.Wrap(s.startingAt(), s.resolve)
	closed, err := component.Closure(ctx, root, resolver, component.Limits{Partial: s.scope.Partial})
	var found *lookupError
	if err == nil || errors.As(err, &found) || ctx.Err() != nil {
		return closed, err
	}
	return nil, refused("component "+root.Key().String(), err)
}

// lookupError marks errors of resolve among those of the closure, which only a person can end.
type lookupError struct{ error }

func (e *lookupError) Unwrap() error { return e.error }

// resolve finds a component version that another one refers to.
func (s *Session) resolve(ctx context.Context, key component.Key, hint component.Hint) (*component.Descriptor, error) {
	v, err := s.inside(key, hint)
	if v == nil && err == nil {
		repository := hint.Repository
		if repository.IsZero() {
			repository = s.startingAt()
		}
		v, err = s.lookup(ctx, key, repository)
	}
	if err != nil {
		return nil, &lookupError{err}
	}
	return s.remember(v), nil
}

func (s *Session) startingAt() component.Typed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start
}

// inside returns a version that is embedded in an inline descriptor; nil if there is none, or an overwrite names another repository.
func (s *Session) inside(key component.Key, hint component.Hint) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !hint.Repository.IsZero() {
		return nil, nil
	}
	if v := s.embedded[key]; v != nil || hint.From == nil || hint.Reference == nil || key != hint.Reference.Key() {
		return v, nil
	}
	parent := s.embedded[hint.From.Key()]
	if parent == nil {
		return nil, nil
	}
	d, err := hint.Reference.Embedded()
	if err != nil {
		return nil, refused("componentDescriptor.inline", err)
	}
	if d == nil {
		return nil, nil
	}
	v := &version{descriptor: d, repository: parent.repository, blobs: parent.blobs, registry: parent.registry}
	s.embedded[key] = v
	return v, nil
}

// remember keeps a version for its resources, and returns its descriptor.
func (s *Session) remember(v *version) *component.Descriptor {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[v.descriptor.Key()] = v
	return v.descriptor
}

// version returns what the session knows of a descriptor.
func (s *Session) version(d *component.Descriptor) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.found[d.Key()]; v != nil {
		return v, nil
	}
	return nil, stalled("component "+d.Key().String(), "this session has not looked it up", "resolve it with Root or Closure first")
}

// RepositoryOf returns the repository in which Root or Closure found a component version: after overwrites, and the one of a resolver of
// the OCM configuration if that had it. Of a component that is written inline it is the one of its local blobs. It is zero if the session
// has not found the version, or no repository is known.
func (s *Session) RepositoryOf(key component.Key) component.Typed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.found[key]; v != nil {
		return v.repository
	}
	return component.Typed{}
}

// remember is for how long a component version that was found is known to a Scope with the same logins.
const remember = 3 * time.Minute

// maxDescriptor limits the bytes of a descriptor.
const maxDescriptor = 4 << 20

// Defaults of Options.
const (
	DefaultTimeout     = time.Minute
	DefaultMaxDownload = 64 << 20
)

// Options configure Repositories. Numbers that are zero take their default.
type Options struct {
	// OCI talks to registries. Required.
	OCI *oci.Client
	// Store keeps content on disk. Required.
	Store *fetch.Store
	// Source looks a Flux source up for an object in a namespace, as flux.Lookup does; nil means that there are none.
	Source func(ctx context.Context, namespace string, ref v1alpha1.SourceReference) (flux.Source, error)
	// Secret reads the data of a pull secret that an OCIRepository names; nil means that only the logins of a Scope are used.
	Secret func(ctx context.Context, namespace, name string) (map[string][]byte, error)
	// PullSecrets returns the names of the pull secrets of a ServiceAccount that an OCIRepository names; nil means that it has none.
	PullSecrets func(ctx context.Context, namespace, name string) ([]string, error)
	// Identity finds the identity with which an OCIRepository logs in at a cloud, as oci.Identities.Find does; nil means that there are none.
	Identity func(context.Context, oci.IdentityRequest) (*oci.CloudIdentity, error)
	// LocalRoot is the directory below which repositories of types local, CommonTransportFormat and ComponentArchive lie;
	// empty refuses these types, and no path leads out of it.
	LocalRoot string
	// PublicOnly refuses resources and repositories at loopback, link-local and private addresses (web, helm, git), which protects the
	// neighbours of the process from those who write Installations. Registries have an option of their own.
	PublicOnly bool
	// AllowRequests lets accesses of type wget choose method, header and body of the request.
	AllowRequests bool
	// AllowHTTP lets Git repositories be reached without TLS.
	AllowHTTP bool
	// Transport carries the requests to web, Helm and Git servers, and takes over what PublicOnly decides; nil means one of
	// the package's own, which takes the proxy of the environment.
	Transport http.RoundTripper
	// Memory is the size in bytes of each of the two caches in memory, of component versions and of descriptors; zero means memory.DefaultSize.
	Memory int64
	// Timeout limits one request to a registry or server with all its retries.
	Timeout time.Duration
	// MaxDownload limits the bytes of a file from a web or Helm server.
	MaxDownload int64
	// MaxContent limits the bytes of content from a registry, which is refused before it is downloaded; zero means what the Store accepts.
	MaxContent int64
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
}

// Repositories open sessions that share caches. They are safe for concurrent use.
type Repositories struct {
	options  Options
	git      *git.Client
	http     *http.Client
	versions *memory.Cache[grantKey, *version]
	decoded  *memory.Cache[decodedKey, *component.Descriptor]
	flights  singleflight.Group
}

// New makes Repositories. It fails if a required option is missing or LocalRoot cannot be used.
func New(o Options) (*Repositories, error) {
	if o.OCI == nil || o.Store == nil {
		return nil, errors.New("component repositories need Options.OCI and Options.Store")
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.MaxDownload = cmp.Or(max(o.MaxDownload, 0), DefaultMaxDownload)
	o.MaxContent = cmp.Or(max(o.MaxContent, 0), o.Store.MaxDownload())
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Transport == nil {
		o.Transport = egress.New(egress.Policy{PublicOnly: o.PublicOnly, Redirects: egress.MostRedirects})
	}
	return &Repositories{
		options:  o,
		git:      git.New(git.Options{Dir: o.Store.Temporary(), AllowHTTP: o.AllowHTTP, Transport: o.Transport, Timeout: o.Timeout, MaxPack: o.MaxDownload}),
		http:     &http.Client{Transport: o.Transport},
		versions: memory.NewCache[grantKey, *version](o.Memory, nil),
		decoded:  memory.NewCache[decodedKey, *component.Descriptor](o.Memory, nil),
	}, nil
}

// SecretReader returns the function for Options.Secret on the landscaper cluster. The reader has no cache.
func SecretReader(live client.Reader) func(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	return func(ctx context.Context, namespace, name string) (map[string][]byte, error) {
		secret := &corev1.Secret{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
			return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
		}
		return secret.Data, nil
	}
}

// AccountReader returns the function for Options.PullSecrets on the landscaper cluster. The reader has no cache.
func AccountReader(live client.Reader) func(ctx context.Context, namespace, name string) ([]string, error) {
	return func(ctx context.Context, namespace, name string) ([]string, error) {
		account := &corev1.ServiceAccount{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, account); err != nil {
			return nil, fmt.Errorf("read ServiceAccount %s/%s: %w", namespace, name, err)
		}
		var names []string
		for _, secret := range account.ImagePullSecrets {
			names = append(names, secret.Name)
		}
		return names, nil
	}
}

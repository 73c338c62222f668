// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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

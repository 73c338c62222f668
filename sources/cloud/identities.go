// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud logs in at the registries of AWS, Azure and Google as a ServiceAccount, or as this process.
//
// A ServiceAccount logs in by a token that Kubernetes issues for it and that the cloud accepts, as its annotations say: what Flux calls
// object-level workload identity. It works in a process that has called auth.EnableObjectLevelWorkloadIdentity. The identity of the process
// itself serves nobody unless Options say so, since everybody who writes objects could use it.
package cloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/aws"
	"github.com/fluxcd/pkg/auth/azure"
	"github.com/fluxcd/pkg/auth/gcp"
	"github.com/fluxcd/pkg/cache"
	"github.com/go-logr/logr"
	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// provider is a cloud: its name, and the annotations by which a ServiceAccount names a party of it.
type provider struct {
	auth.ArtifactRegistryCredentialsProvider
	annotations []string
}

var providers = map[string]provider{
	aws.ProviderName:   {aws.Provider{}, []string{"eks.amazonaws.com/role-arn"}},
	azure.ProviderName: {azure.Provider{}, []string{"azure.workload.identity/tenant-id", "azure.workload.identity/client-id"}},
	gcp.ProviderName:   {gcp.Provider{}, []string{"iam.gke.io/gcp-service-account", "gcp.auth.fluxcd.io/workload-identity-provider"}},
}

// Known reports whether a name is that of a cloud: aws, azure or gcp.
func Known(name string) bool {
	_, ok := providers[name]
	return ok
}

const (
	// DefaultTimeout limits one login.
	DefaultTimeout = 20 * time.Second
	// rememberedIdentities is for how many identities tokens are kept, and tokensOfIdentity how many of each: two for each region or registry.
	rememberedIdentities = 512
	tokensOfIdentity     = 32
)

// Options say which identities there are.
type Options struct {
	// Client reads ServiceAccounts, live, and requests their tokens. Required.
	Client client.Client
	// OwnIdentity lets every request that names no ServiceAccount use the identity of this process.
	OwnIdentity bool
	// DefaultServiceAccount is used, in the namespace of the request, where the request names none; empty means none. It wins over
	// OwnIdentity.
	DefaultServiceAccount string
	// Timeout limits one login; zero means DefaultTimeout.
	Timeout time.Duration
}

// Identities finds identities. It is safe for concurrent use.
type Identities struct {
	options Options
	// tokens are kept apart by identity: the library lets all who use one cache wait while it obtains a token.
	tokens *lru.Cache[string, *cache.TokenCache]
}

// New makes Identities. It fails without a client.
func New(o Options) (*Identities, error) {
	if o.Client == nil {
		return nil, errors.New("identities of clouds need Options.Client")
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	tokens, err := lru.New[string, *cache.TokenCache](rememberedIdentities)
	if err != nil {
		return nil, err
	}
	return &Identities{options: o, tokens: tokens}, nil
}

// Request says who wants to log in.
type Request struct {
	// Field is the object and field that ask, for messages.
	Field string
	// Provider is the name of the cloud, see Known.
	Provider string
	// Namespace is that of the object that asks.
	Namespace string
	// ServiceAccount is one of that namespace; empty means that of this process, where that is allowed.
	ServiceAccount string
}

func (r Request) refused(problem, cure string) error {
	return &fault.Error{Kind: fault.Stalled, Class: ErrIdentity, Subject: r.Field, Problem: problem, Cure: cure}
}

// retried is for what is missing and announces itself by no event.
func (r Request) retried(cause error, problem, cure string) error {
	return &fault.Error{Class: ErrIdentity, Subject: r.Field, Problem: problem, Cure: cure, Cause: cause}
}

// Find returns the identity that a request asks for, if it may be used. No cloud is asked yet. The error is a *fault.Error of the class ErrIdentity.
func (i *Identities) Find(ctx context.Context, r Request) (*Identity, error) {
	cloud, ok := providers[r.Provider]
	if !ok {
		return nil, r.refused(fmt.Sprintf("provider %q is unknown", r.Provider), "use aws, azure or gcp")
	}
	r.ServiceAccount = cmp.Or(r.ServiceAccount, i.options.DefaultServiceAccount)
	found := &Identity{provider: cloud, timeout: i.options.Timeout}
	var err error
	switch {
	case r.ServiceAccount != "":
		found.account, err = i.account(ctx, r)
	case !i.options.OwnIdentity:
		err = r.refused("it names no ServiceAccount, and the identity of this process is for nobody",
			"set serviceAccountName, or let the operator start this process with --registry-controller-identity")
	}
	if err != nil {
		return nil, err
	}
	if err := found.name(r, cloud); err != nil {
		return nil, err
	}
	tokens, err := i.tokensOf(found.Fingerprint())
	if err != nil {
		return nil, err
	}
	found.use(i.options.Client, tokens)
	return found, nil
}

// account reads the ServiceAccount of a request.
func (i *Identities) account(ctx context.Context, r Request) (*corev1.ServiceAccount, error) {
	if !auth.IsObjectLevelWorkloadIdentityEnabled() {
		return nil, r.refused(fmt.Sprintf("ServiceAccount %s/%s may not log in at %s", r.Namespace, r.ServiceAccount, r.Provider),
			"let the operator start this process with --feature-gates="+auth.FeatureGateObjectLevelWorkloadIdentity+"=true")
	}
	account := &corev1.ServiceAccount{}
	key := client.ObjectKey{Namespace: r.Namespace, Name: r.ServiceAccount}
	err := i.options.Client.Get(ctx, key, account)
	switch {
	case apierrors.IsNotFound(err):
		return nil, r.retried(err, fmt.Sprintf("ServiceAccount %s not found", key), "create it or correct the name")
	case err != nil:
		return nil, r.retried(err, fmt.Sprintf("read ServiceAccount %s: %s", key, err), "let this process read ServiceAccounts, as flux/install/registry-identities does")
	}
	return account, nil
}

// name reads the annotations that tell the cloud who it is.
func (i *Identity) name(r Request, cloud provider) error {
	if i.account == nil {
		return nil
	}
	if _, err := cloud.GetIdentity(*i.account); err != nil {
		return r.retried(err, fmt.Sprintf("ServiceAccount %s/%s: %s", i.account.Namespace, i.account.Name, err), "correct its annotations")
	}
	for _, annotation := range cloud.annotations {
		i.party = append(i.party, i.account.Annotations[annotation])
	}
	return nil
}

func (i *Identities) tokensOf(fingerprint string) (*cache.TokenCache, error) {
	made, err := cache.NewTokenCache(tokensOfIdentity)
	if err != nil {
		return nil, err
	}
	if found, had, _ := i.tokens.PeekOrAdd(fingerprint, made); had {
		i.tokens.Get(fingerprint)
		return found, nil
	}
	return made, nil
}

// Identity is a party that a cloud may know. It is safe for concurrent use.
type Identity struct {
	provider auth.ArtifactRegistryCredentialsProvider
	// account is nil for the identity of this process.
	account *corev1.ServiceAccount
	// party is what the cloud is told, from the annotations of the account.
	party   []string
	options []auth.Option
	timeout time.Duration
}

// Fits reports whether a host, given with its port, if any, is a registry of the cloud.
func (i *Identity) Fits(host string) bool {
	_, err := i.provider.ParseArtifactRepository(host)
	return err == nil
}

// Login returns a user and a password for a registry that fits. They are kept for as long as they are good, at most an hour. The error
// contains no token.
func (i *Identity) Login(ctx context.Context, host string) (user, password string, err error) {
	ctx, cancel := context.WithTimeout(ctx, i.timeout)
	defer cancel()
	// The cache of the library writes answers of clouds to the logger as they are.
	quiet := logr.NewContext(ctx, logr.Discard())
	found, err := auth.GetArtifactRegistryCredentials(quiet, i.provider, host, i.options...)
	if err != nil {
		return "", "", shown(err)
	}
	login, err := found.Authorization()
	if err != nil {
		return "", "", shown(err)
	}
	return login.Username, login.Password, nil
}

// Fingerprint is equal for the same party: a ServiceAccount that was made anew, or that names another party of the cloud, is another one.
func (i *Identity) Fingerprint() string {
	text := fmt.Sprintf("%q", i.provider.GetName())
	if i.account != nil {
		text += fmt.Sprintf(" %q %q %q %q", i.account.Namespace, i.account.Name, i.account.UID, i.party)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// String names the identity in messages.
func (i *Identity) String() string {
	if i.account == nil {
		return fmt.Sprintf("the identity of this process at %s", i.provider.GetName())
	}
	return fmt.Sprintf("ServiceAccount %s/%s at %s", i.account.Namespace, i.account.Name, i.provider.GetName())
}

// use sets how the identity obtains logins. The library writes down nothing but tokens, under keys that are hashes.
func (i *Identity) use(reader client.Client, tokens *cache.TokenCache) {
	i.options = []auth.Option{auth.WithCache(*tokens, cache.InvolvedObject{})}
	if i.account != nil {
		i.options = append(i.options, auth.WithClient(pinned{reader, i.account}),
			auth.WithServiceAccountNamespace(i.account.Namespace), auth.WithServiceAccountName(i.account.Name))
	}
}

// pinned reads the ServiceAccount as it was when the identity was found, so that the fingerprint and the login are those of one party.
type pinned struct {
	client.Client
	account *corev1.ServiceAccount
}

// Get implements client.Client.
func (p pinned) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	account, ok := object.(*corev1.ServiceAccount)
	if !ok || key != client.ObjectKeyFromObject(p.account) {
		return p.Client.Get(ctx, key, object, options...)
	}
	p.account.DeepCopyInto(account)
	return nil
}

// ErrIdentity is the class of a *fault.Error about an identity that cannot be used, whose subject is Request.Field.
var ErrIdentity = errors.New("no identity")

// loginError is the failure of a cloud, in words that a person may see. The library writes whole answers, and may repeat tokens.
type loginError struct {
	text  string
	cause error
}

func (e *loginError) Error() string { return e.text }

// Unwrap returns what a caller may tell network failures by.
func (e *loginError) Unwrap() error { return e.cause }

// secrets are what tokens look like: those of Kubernetes and Azure, and those of Google.
var secrets = regexp.MustCompile(`eyJ[\w-]+(\.[\w-]*)*|ya29\.[\w.-]+`)

func shown(err error) error {
	text := secrets.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "<token>")
	return &loginError{foreign.Beginning(text, 600), err}
}

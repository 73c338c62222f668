// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
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
	remote "oras.land/oras-go/v2/registry/remote/auth"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Identity logs in at some registries with a login that it obtains when one is needed and that changes with time, as the
// identities of clouds do. Its methods are called concurrently.
type Identity interface {
	// Fits reports whether the identity can log in at a host, given with its port, if any.
	Fits(host string) bool
	// Login returns a user and a password for a host. Its error names the identity and repeats no secret.
	Login(ctx context.Context, host string) (user, password string, err error)
	// Fingerprint is equal for the same party, whatever it logs in with at the moment.
	Fingerprint() string
	// String names the party in messages.
	String() string
}

// FromIdentity returns the login of an identity. It is used at the hosts that fit where no other login does, and over TLS only.
func FromIdentity(identity Identity) Credentials {
	return Credentials{entries: []entry{{scheme: "https", Login: Login{by: &remembering{Identity: identity}}}}}
}

// FromAuthority returns no login, but certificate authorities (PEM) to trust for a host, given with its port, if any. It fails if there is
// no certificate.
func FromAuthority(host string, authorities []byte) (Credentials, error) {
	if err := checkAuthorities(authorities); err != nil {
		return Credentials{}, fmt.Errorf("it %w", err)
	}
	return Credentials{entries: []entry{{host: CanonicalHost(host), Login: Login{ca: authorities}}}}, nil
}

func checkAuthorities(blocks []byte) error {
	if !x509.NewCertPool().AppendCertsFromPEM(blocks) {
		return errors.New("holds no certificate; give PEM blocks of type CERTIFICATE")
	}
	if err := egress.CheckCertificates(blocks); err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	return nil
}

// remembering keeps the last password of an identity, so that messages can hide it.
type remembering struct {
	Identity
	last atomic.Pointer[string]
}

func (k *remembering) password() string {
	if last := k.last.Load(); last != nil {
		return *last
	}
	return ""
}

// IdentityError is the failure of an identity to obtain a login.
type IdentityError struct{ error }

// Unwrap returns the reason.
func (e *IdentityError) Unwrap() error { return e.error }

// Credential is what the registry client calls when a registry demands a login.
func (l Login) Credential(host string) remote.CredentialFunc {
	if l.by == nil {
		return remote.StaticCredential(host, l.auth)
	}
	return func(ctx context.Context, asked string) (remote.Credential, error) {
		if asked != host {
			return remote.EmptyCredential, nil
		}
		user, password, err := l.by.Login(ctx, host)
		if err != nil {
			return remote.EmptyCredential, &IdentityError{fmt.Errorf("log in as %s: %w", l.by, err)}
		}
		l.by.last.Store(&password)
		return remote.Credential{Username: user, Password: password}, nil
	}
}

// Anonymous reports whether there is nothing to log in with.
func (l Login) Anonymous() bool { return l.by == nil && l.auth == remote.EmptyCredential }

// WithoutLogin keeps the certificate authorities alone.
func (l Login) WithoutLogin() Login { return Login{ca: l.ca} }

// loginAge is for how long what an identity logged in with is used again. Some clouds answer 403 to a login that has ended, by which nobody
// can tell that another would do, so it is shorter than what is left of any login when an identity gives it.
const loginAge = 5 * time.Minute

// Session names what is kept for a login between requests: for an identity it ends with time.
func (l Login) Session(now time.Time) string {
	if l.by == nil {
		return l.Fingerprint()
	}
	return l.Fingerprint() + strconv.FormatInt(now.UnixNano()/int64(loginAge), 10)
}

// Identity returns what logs in, nil where somebody wrote a login down or there is none.
func (l Login) Identity() Identity {
	if l.by == nil {
		return nil
	}
	return l.by.Identity
}

// Authorities are the certificate authorities to trust, PEM-encoded.
func (l Login) Authorities() []byte { return l.ca }

// Trusting returns the login with other certificate authorities.
func (l Login) Trusting(authorities []byte) Login {
	l.ca = authorities
	return l
}

// Secrets are the parts of the login that no message may repeat, also as the header of a request has them.
func (l Login) Secrets() []string {
	secrets := []string{l.auth.Password, l.auth.RefreshToken, l.auth.AccessToken}
	if l.auth.Password != "" {
		secrets = append(secrets, sent(l.auth.Username, l.auth.Password))
	}
	if l.by != nil {
		secrets = append(secrets, l.by.password())
	}
	return secrets
}

// sent is a login as the header of a request has it.
func sent(user, password string) string {
	return strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(user+":"+password)), "=")
}

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

// KnownCloud reports whether a name is that of a cloud: aws, azure or gcp.
func KnownCloud(name string) bool {
	_, ok := providers[name]
	return ok
}

const (
	// DefaultIdentityTimeout limits one login.
	DefaultIdentityTimeout = 20 * time.Second
	// rememberedIdentities is for how many identities tokens are kept, and tokensOfIdentity how many of each: two for each region or registry.
	rememberedIdentities = 512
	tokensOfIdentity     = 32
)

// IdentityOptions say which identities there are.
type IdentityOptions struct {
	// Client reads ServiceAccounts, live, and requests their tokens. Required.
	Client client.Client
	// OwnIdentity lets every request that names no ServiceAccount use the identity of this process.
	OwnIdentity bool
	// DefaultServiceAccount is used, in the namespace of the request, where the request names none; empty means none. It wins over
	// OwnIdentity.
	DefaultServiceAccount string
	// Timeout limits one login; zero means DefaultIdentityTimeout.
	Timeout time.Duration
}

// Identities finds identities. It is safe for concurrent use.
type Identities struct {
	options IdentityOptions
	// tokens are kept apart by identity: the library lets all who use one cache wait while it obtains a token.
	tokens *lru.Cache[string, *cache.TokenCache]
}

// NewIdentities makes Identities. It fails without a client.
func NewIdentities(o IdentityOptions) (*Identities, error) {
	if o.Client == nil {
		return nil, errors.New("identities of clouds need IdentityOptions.Client")
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultIdentityTimeout)
	tokens, err := lru.New[string, *cache.TokenCache](rememberedIdentities)
	if err != nil {
		return nil, err
	}
	return &Identities{options: o, tokens: tokens}, nil
}

// IdentityRequest says who wants to log in.
type IdentityRequest struct {
	// Field is the object and field that ask, for messages.
	Field string
	// Provider is the name of the cloud, see KnownCloud.
	Provider string
	// Namespace is that of the object that asks.
	Namespace string
	// ServiceAccount is one of that namespace; empty means that of this process, where that is allowed.
	ServiceAccount string
}

func (r IdentityRequest) refused(problem, cure string) error {
	return &fault.Error{Kind: fault.Stalled, Class: ErrIdentity, Subject: r.Field, Problem: problem, Cure: cure}
}

// retried is for what is missing and announces itself by no event.
func (r IdentityRequest) retried(cause error, problem, cure string) error {
	return &fault.Error{Class: ErrIdentity, Subject: r.Field, Problem: problem, Cure: cure, Cause: cause}
}

// Find returns the identity that a request asks for, if it may be used. No cloud is asked yet. The error is a *fault.Error of the class ErrIdentity.
func (i *Identities) Find(ctx context.Context, r IdentityRequest) (*CloudIdentity, error) {
	cloud, ok := providers[r.Provider]
	if !ok {
		return nil, r.refused(fmt.Sprintf("provider %q is unknown", r.Provider), "use aws, azure or gcp")
	}
	r.ServiceAccount = cmp.Or(r.ServiceAccount, i.options.DefaultServiceAccount)
	found := &CloudIdentity{provider: cloud, timeout: i.options.Timeout}
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
func (i *Identities) account(ctx context.Context, r IdentityRequest) (*corev1.ServiceAccount, error) {
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
func (i *CloudIdentity) name(r IdentityRequest, cloud provider) error {
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

// CloudIdentity is a party that a cloud may know. It is safe for concurrent use.
type CloudIdentity struct {
	provider auth.ArtifactRegistryCredentialsProvider
	// account is nil for the identity of this process.
	account *corev1.ServiceAccount
	// party is what the cloud is told, from the annotations of the account.
	party   []string
	options []auth.Option
	timeout time.Duration
}

// Fits reports whether a host, given with its port, if any, is a registry of the cloud.
func (i *CloudIdentity) Fits(host string) bool {
	_, err := i.provider.ParseArtifactRepository(host)
	return err == nil
}

// Login returns a user and a password for a registry that fits. They are kept for as long as they are good, at most an hour. The error
// contains no token.
func (i *CloudIdentity) Login(ctx context.Context, host string) (user, password string, err error) {
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
func (i *CloudIdentity) Fingerprint() string {
	text := fmt.Sprintf("%q", i.provider.GetName())
	if i.account != nil {
		text += fmt.Sprintf(" %q %q %q %q", i.account.Namespace, i.account.Name, i.account.UID, i.party)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// String names the identity in messages.
func (i *CloudIdentity) String() string {
	if i.account == nil {
		return fmt.Sprintf("the identity of this process at %s", i.provider.GetName())
	}
	return fmt.Sprintf("ServiceAccount %s/%s at %s", i.account.Namespace, i.account.Name, i.provider.GetName())
}

// use sets how the identity obtains logins. The library writes down nothing but tokens, under keys that are hashes.
func (i *CloudIdentity) use(reader client.Client, tokens *cache.TokenCache) {
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

// ErrIdentity is the class of a *fault.Error about an identity that cannot be used, whose subject is IdentityRequest.Field.
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

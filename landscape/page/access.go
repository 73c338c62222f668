// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// Access lets others than the user of this machine look. Either everyone sees what the server may list, or a proxy in front of the server says who
// looks, in the headers that Kubernetes knows from a front proxy, and each viewer sees what the API server lets that viewer list.
type Access struct {
	// Hosts are the names that requests may be for, without ports, so that no page of others reads this one through the browser of a viewer.
	Hosts []string
	// EveryoneSeesAll asks nobody who they are.
	EveryoneSeesAll bool
	// ClientCAs have issued the certificate by which the proxy proves itself; nil where it needs none. Names are the common names that it may
	// have, by default any.
	ClientCAs *x509.CertPool
	Names     []string
	// Secret proves the proxy, too, as the header X-Remote-Secret; empty where it needs none.
	Secret string
	// GroupHeaders have the groups of the viewer, and GroupSeparator divides those of one header; empty where a header has one group.
	GroupHeaders   []string
	GroupSeparator string
	// Certificate is that of the server; nil serves without TLS.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Client asks the API server what viewers may list. Its rights need to be no more than to create SubjectAccessReviews.
	Client client.Client

	decisions *cache.LRUExpireCache
	resources map[string]schema.GroupResource // by kind
}

// Headers that a proxy sets, in place of those that it gets.
const (
	userHeader   = "X-Remote-User"
	secretHeader = "X-Remote-Secret"
)

// shortestSecret is what nobody guesses, in characters.
const shortestSecret = 32

// Check refuses what would show more than is meant at an address, and says what to do.
func (a *Access) Check(address net.Addr) error {
	proven := a.ClientCAs != nil || a.Secret != ""
	switch {
	case len(a.Hosts) == 0:
		return errors.New("name the hosts that browsers, or the proxy, call the page by: --allowed-hosts")
	case a.EveryoneSeesAll && proven:
		return errors.New("--everyone-sees-all asks nobody who they are; remove it, or --requestheader-client-ca-file and --requestheader-secret-file")
	case a.EveryoneSeesAll:
		return nil
	case !proven:
		return errors.New("nobody says who looks at the page: put an authenticating proxy in front of it that proves itself by a client certificate " +
			"(--requestheader-client-ca-file) or a shared secret (--requestheader-secret-file), or show all that the process may list to everybody who " +
			"reaches it (--everyone-sees-all)")
	case a.Secret != "" && len(a.Secret) < shortestSecret:
		return fmt.Errorf("the secret of --requestheader-secret-file has %d characters; write at least %d there that nobody guesses", len(a.Secret), shortestSecret)
	case a.Certificate == nil && a.ClientCAs != nil:
		return errors.New("the proxy can show a certificate over TLS only: give --tls-cert-file and --tls-private-key-file")
	case a.Certificate == nil && !isLoopback(address):
		return errors.New("the secret of the proxy would cross the network in plain text: give --tls-cert-file and --tls-private-key-file, or let " +
			"--listen-addr be a loopback address, for a proxy in the same Pod")
	}
	return nil
}

func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// prepare makes ready to ask what viewers may list.
func (a *Access) prepare() error {
	a.decisions, a.resources = cache.NewLRUExpireCache(keptDecisions), map[string]schema.GroupResource{"Event": {Resource: "events"}}
	for _, kind := range landscape.Kinds {
		gvk, err := a.Client.GroupVersionKindFor(kind.New())
		if err != nil {
			return err
		}
		a.resources[kind.Name] = schema.GroupResource{Group: gvk.Group, Resource: kind.Plural}
	}
	return nil
}

// showsAll reports whether it makes no difference who looks.
func (a *Access) showsAll() bool { return a == nil || a.EveryoneSeesAll }

// listener is the one that the server serves: over TLS where it has a certificate.
func (a *Access) listener(plain net.Listener) net.Listener {
	if a.Certificate == nil {
		return plain
	}
	config := &tls.Config{GetCertificate: a.Certificate, MinVersion: tls.VersionTLS12}
	if a.ClientCAs != nil {
		config.ClientCAs, config.ClientAuth = a.ClientCAs, tls.RequireAndVerifyClientCert
	}
	return tls.NewListener(plain, config)
}

// allows reports whether a request may be for a host.
func (a *Access) allows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.ContainsFunc(a.Hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

// viewer is who looks, as the API server knows people.
type viewer struct {
	user   string
	groups []string
}

// errNoProxy is for whoever sends requests past the proxy.
var errNoProxy = errors.New("this page is served to its proxy only; open the address of that")

// viewer returns whom the proxy names, nil where everyone sees all.
func (a *Access) viewer(r *http.Request) (*viewer, error) {
	if a.EveryoneSeesAll {
		return nil, nil
	}
	if a.ClientCAs != nil {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			return nil, errNoProxy
		}
		if name := r.TLS.VerifiedChains[0][0].Subject.CommonName; len(a.Names) > 0 && !slices.Contains(a.Names, name) {
			return nil, errNoProxy
		}
	}
	if secrets := r.Header.Values(secretHeader); a.Secret != "" && (len(secrets) != 1 || subtle.ConstantTimeCompare([]byte(secrets[0]), []byte(a.Secret)) != 1) {
		return nil, errNoProxy
	}
	users := r.Header.Values(userHeader)
	if len(users) != 1 || users[0] == "" { // of two, one is the browser's
		return nil, errors.New("the proxy has to name one viewer, with " + userHeader + " in place of what the browser sends")
	}
	v := &viewer{user: users[0]}
	for _, header := range a.GroupHeaders {
		for _, value := range r.Header.Values(header) {
			groups := []string{value}
			if a.GroupSeparator != "" {
				groups = strings.Split(value, a.GroupSeparator)
			}
			v.groups = append(v.groups, slices.DeleteFunc(groups, func(group string) bool { return group == "" })...)
		}
	}
	if v.user != "system:anonymous" {
		v.groups = append(v.groups, "system:authenticated") // as the API server does
	}
	return v, nil
}

// Times for which an answer of the API server is good, as for its own answers of a webhook.
const (
	allowedFor = 5 * time.Minute
	deniedFor  = 30 * time.Second
)

// keptDecisions are those of some hundred viewers of a hundred namespaces, in some 20 MiB.
const keptDecisions = 100_000

// scope is a kind in a namespace, or in all where that is empty.
type scope struct{ kind, namespace string }

// decision is a scope for a viewer.
type decision struct {
	user, groups string
	scope
}

// may asks whether a viewer may list a kind in a namespace.
func (a *Access) may(ctx context.Context, v *viewer, what scope) (bool, error) {
	if known, ok := a.decisions.Get(about(v, what)); ok {
		return known.(bool), nil
	}
	resource := a.resources[what.kind]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: v.user, Groups: v.groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: resource.Group, Resource: resource.Resource, Namespace: what.namespace},
	}}
	if err := a.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("cannot ask what %s may see: %w", v.user, err)
	}
	good := deniedFor
	if review.Status.Allowed {
		good = allowedFor
	}
	a.decisions.Add(about(v, what), review.Status.Allowed, good)
	return review.Status.Allowed, nil
}

func about(v *viewer, what scope) decision {
	return decision{v.user, strings.Join(v.groups, "\x00"), what}
}

// rights are what a viewer may list.
type rights map[scope]bool

func (r rights) may(kind, namespace string) bool {
	return r[scope{kind, ""}] || r[scope{kind, namespace}]
}

// key is the same for viewers who may list the same.
func (r rights) key() string {
	var scopes []string
	for what, allowed := range r {
		if allowed {
			scopes = append(scopes, what.kind+"/"+what.namespace)
		}
	}
	slices.Sort(scopes)
	return strings.Join(scopes, " ")
}

// rightsOf asks what a viewer may list where there is something. Who may not list the Installations of a namespace sees nothing of this project there: a
// namespace that a viewer may not see costs one question. Leases count only together, because a missing one would be taken for a dead deployer.
func (a *Access) rightsOf(ctx context.Context, v *viewer, there []scope) (rights, error) {
	found := rights{}
	var questions []scope
	for _, kind := range landscape.Kinds {
		questions = append(questions, scope{kind.Name, ""})
	}
	if err := a.ask(ctx, v, questions, found); err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	questions = nil
	for _, what := range there {
		switch {
		case a.resources[what.kind].Group != v1alpha1.GroupName:
			if what.kind != "Lease" && !found.may(what.kind, "") {
				questions = append(questions, what)
			}
		case !ours[what.namespace]:
			ours[what.namespace] = true
			questions = append(questions, scope{"Installation", what.namespace})
		}
	}
	if err := a.ask(ctx, v, questions, found); err != nil {
		return nil, err
	}
	questions = nil
	for namespace := range ours {
		for _, kind := range landscape.Kinds { // also those that have nothing there: what is missing is known to whoever may list it
			if a.resources[kind.Name].Group == v1alpha1.GroupName && kind.Namespaced() && !found.may(kind.Name, "") && found.may("Installation", namespace) {
				questions = append(questions, scope{kind.Name, namespace})
			}
		}
	}
	return found, a.ask(ctx, v, questions, found)
}

// ask adds the answers to questions, some of which it asks at once.
func (a *Access) ask(ctx context.Context, v *viewer, questions []scope, found rights) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(10)
	var mu sync.Mutex
	for _, what := range questions {
		group.Go(func() error {
			allowed, err := a.may(ctx, v, what)
			mu.Lock()
			defer mu.Unlock()
			found[what] = allowed
			return err
		})
	}
	return group.Wait()
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

const (
	// defaultMaxClusters bounds what is kept of opened clusters.
	defaultMaxClusters = 512
	// connectionMemory is how many bytes an opened cluster takes at least, connectionGrowth how many more for each byte of the content of its Target, of which
	// it has copies, and clusterMemory how many most of them take together with the parsed content.
	connectionMemory = 48 << 10
	connectionGrowth = 4
	clusterMemory    = 96 << 10
	// parsedShare is by how much less parsed contents take than the clients that are made from them, parsedGrowth how many bytes one takes for each of its bytes.
	parsedShare, parsedGrowth = 4, 3
)

// Options of Clients.
type Options struct {
	// Landscaper is the connection to the landscaper cluster: there tokens for oidcConfig and selfConfig are requested, and it is
	// the cluster that selfConfig means. Nil refuses Targets of both forms.
	Landscaper *rest.Config
	// MaxClusters is about how many opened clusters are kept; 0 means 512. Where there are more, the namespace that has most of them gives up those that
	// it has not used for the longest time.
	MaxClusters int
	// AllowInsecureTLS accepts insecure-skip-tls-verify and http servers.
	AllowInsecureTLS bool
	// PublicOnly refuses servers whose address is not public, except the landscaper cluster itself for selfConfig.
	PublicOnly bool
	// LegacyTokens requests tokens for oidcConfig and selfConfig as Gardener Landscaper does: of ServiceAccounts that do not allow it, for
	// every audience, and for as long as the Target says.
	LegacyTokens bool
	// Accounts are acted as where nobody names a ServiceAccount.
	Accounts Accounts
	// Host is the cluster of the environment whose deployer this is. Nil refuses Targets that refer to it.
	Host *Host
	// UserAgent of the requests to targets; empty means flux-landscaper.
	UserAgent string
}

// Clients opens Targets and keeps the opened clusters by digest of their content. It is safe for concurrent use.
type Clients struct {
	options    Options
	landscaper client.Client
	self       *rest.Config
	isOwn      func(ctx context.Context, token string) (bool, error)
	policy     egress.Policy
	// parsed are contents that were read before, so that the one of a Target is not read anew for each of its items. They must not be changed.
	parsed *memory.Cache[digest, *content]

	mu     sync.Mutex
	opened *memory.Cache[digest, *connection]
}

// digest identifies the content of a Target, credentials included.
type digest [sha256.Size]byte

// New returns an empty cache. It fails when the connection to the landscaper cluster is unusable.
func New(options Options) (*Clients, error) {
	options.MaxClusters = cmp.Or(max(options.MaxClusters, 0), defaultMaxClusters)
	options.UserAgent = cmp.Or(options.UserAgent, "flux-landscaper")
	size := int64(options.MaxClusters) * clusterMemory
	c := &Clients{
		options: options, policy: policyOfTargets, parsed: memory.NewCache[digest, *content](size/parsedShare, nil),
		opened: memory.NewCache[digest](size, func(unused *connection) { utilnet.CloseIdleConnectionsFor(unused.http.Transport) }),
	}
	if options.Landscaper == nil {
		return c, nil
	}
	var err error
	if c.landscaper, err = client.New(options.Landscaper, client.Options{}); err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	// Address and trust of the deployer's own connection, without its credentials.
	own := rest.CopyConfig(options.Landscaper)
	if err := rest.LoadTLSFiles(own); err != nil {
		return nil, fmt.Errorf("read the certificates of the landscaper cluster: %w", err)
	}
	c.self = &rest.Config{
		Host: own.Host, Proxy: own.Proxy, TLSClientConfig: rest.TLSClientConfig{Insecure: own.Insecure, ServerName: own.ServerName, CAData: own.CAData},
	}
	c.isOwn, err = accepts(c.self)
	return c, err
}

// Open returns the cluster that a Target describes, as the actor reaches it. The Target is read from cache (live when the cache does not have
// it), its Secret live. Nothing is sent to the cluster itself. Errors are of type *Error where a person can cure them.
func (c *Clients) Open(ctx context.Context, cache, live client.Reader, namespace, name string, actor Actor) (*Cluster, error) {
	target, err := Get(ctx, cache, live, namespace, name)
	if err != nil {
		return nil, err
	}
	connection, err := c.connectionOf(ctx, live, target, actor)
	if err != nil {
		return nil, err
	}
	return connection.named(ctx, target)
}

// OpenKubeconfig returns the cluster that a tenant's kubeconfig describes, with the care of Open and the rights of the kubeconfig. An error names
// the field of the kubeconfig and the cure, and holds nothing of its content.
func (c *Clients) OpenKubeconfig(namespace string, raw []byte) (*Cluster, error) {
	parsed, err := parseContent(raw)
	if err != nil {
		return nil, err
	}
	connection, err := c.connection(namespace, "", parsed, raw)
	if err != nil {
		return nil, err
	}
	cluster := connection.cluster
	return &cluster, nil
}

// connectionOf returns the opened cluster of a Target.
func (c *Clients) connectionOf(ctx context.Context, live client.Reader, target *v1alpha1.Target, actor Actor) (*connection, error) {
	connection, err := c.connectAs(ctx, live, target, actor)
	return connection, located(target, err)
}

func (c *Clients) connectAs(ctx context.Context, live client.Reader, target *v1alpha1.Target, actor Actor) (*connection, error) {
	raw, err := clusterContent(ctx, live, target)
	if err == nil && c.options.Host != nil {
		raw, err = c.options.Host.resolve(ctx, target, raw)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := c.parse(raw)
	if err != nil {
		return nil, err
	}
	account, err := c.options.Accounts.of(parsed, target, actor)
	if err != nil {
		return nil, err
	}
	return c.connection(target.Namespace, account, parsed, raw)
}

// parse is parseContent, and keeps the result by the digest of all of the content, credentials included. It must not be changed.
func (c *Clients) parse(raw []byte) (*content, error) {
	key := digest(sha256.Sum256(raw))
	if known, ok := c.parsed.Get(key); ok {
		return known, nil
	}
	parsed, err := parseContent(raw)
	if err == nil {
		c.parsed.Put(key, parsed, parsedGrowth*int64(len(raw)))
	}
	return parsed, err
}

// connection returns the opened cluster for a content and a ServiceAccount to act as, and opens it if it is new.
func (c *Clients) connection(namespace, account string, parsed *content, raw []byte) (*connection, error) {
	key := digestOf(namespace, account, parsed, raw)
	if known, ok := c.opened.Get(key); ok {
		return known, nil
	}
	opened, err := c.connect(namespace, account, parsed) // not under the lock: the keys of a tenant take as long as they are large
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.opened.Get(key); ok {
		return other, nil
	}
	c.opened.Put(key, opened, connectionMemory+connectionGrowth*int64(len(raw)))
	return opened, nil
}

// digestOf includes who acts, and the namespace where content or actor mean a ServiceAccount of that namespace. Nobody gets a connection of
// somebody else.
func digestOf(namespace, account string, parsed *content, raw []byte) digest {
	hash := sha256.New()
	if parsed.kubeconfig == nil || account != "" {
		fmt.Fprintf(hash, "%q/%q ", namespace, account) // raw begins with none of both
	}
	hash.Write(raw)
	return digest(hash.Sum(nil))
}

// errNoTokens refuses Targets for which tokens have to be requested, in a process that requests none.
var errNoTokens = refuse("oidcConfig and selfConfig", "are not supported by this deployer", "use a kubeconfig")

func (c *Clients) connect(namespace, account string, parsed *content) (*connection, error) {
	policy := tlsPolicy{allowInsecure: c.options.AllowInsecureTLS}
	if parsed.kubeconfig != nil {
		config, kubeconfig, err := policy.sanitise(parsed.kubeconfig)
		if err == nil && account != "" {
			kubeconfig, err = writeKubeconfig(impersonate(config, namespace, account))
		}
		if err != nil {
			return nil, err
		}
		return c.dial(config, kubeconfig, nil, c.toTenants())
	}
	if c.landscaper == nil {
		return nil, errNoTokens
	}
	if parsed.oidc != nil {
		return c.connectOIDC(policy, namespace, account, parsed.oidc)
	}
	return c.connectSelf(namespace, account, parsed.self)
}

// connectSelf connects with tokens of the ServiceAccount that the content names, which impersonates another one; without it with tokens of the
// one to act as.
func (c *Clients) connectSelf(namespace, account string, self *selfConfig) (*connection, error) {
	base := serviceAccount{Name: cmp.Or(self.ServiceAccount.Name, account)}
	if base.Name == "" {
		return nil, refuse("selfConfig.serviceAccount.name", "is missing", "name a ServiceAccount in the namespace of the Target there or in spec.serviceAccountName")
	}
	source := c.tokens(namespace, base, nil, self.ExpirationSeconds)
	if !c.options.LegacyTokens {
		source.form = "selfConfig"
	}
	config := rest.CopyConfig(c.self)
	if account != base.Name {
		config = impersonate(config, namespace, account)
	}
	return c.dial(config, nil, source, anywhere())
}

func (c *Clients) connectOIDC(policy tlsPolicy, namespace, account string, oidc *oidcConfig) (*connection, error) {
	server, err := policy.serverURL(oidc.Server)
	if err != nil {
		return nil, err
	}
	if len(oidc.Audience) == 0 && !c.options.LegacyTokens {
		return nil, refuse("oidcConfig.audience", "is missing", "set it to an audience that only the server of the Target accepts")
	}
	source := c.tokens(namespace, oidc.ServiceAccount, oidc.Audience, oidc.ExpirationSeconds)
	if !c.options.LegacyTokens {
		source.form, source.isOwn = "oidcConfig", c.isOwn
	}
	config := &rest.Config{Host: server, TLSClientConfig: rest.TLSClientConfig{CAData: oidc.CAData}}
	return c.dial(impersonate(config, namespace, account), nil, source, c.toTenants())
}

func (c *Clients) tokens(namespace string, account serviceAccount, audience []string, expiration *int64) *tokens {
	t := &tokens{landscaper: c.landscaper, namespace: namespace, serviceAccount: account.Name, audience: audience, expiration: legacyExpiration}
	if expiration != nil && *expiration > 0 {
		t.expiration = *expiration
	}
	if !c.options.LegacyTokens {
		t.expiration = min(t.expiration, maxExpiration)
	}
	return t
}

// named returns the cluster under the name of the Target it was opened from, with a kubeconfig whose token is fresh.
func (c *connection) named(ctx context.Context, target *v1alpha1.Target) (*Cluster, error) {
	cluster := c.cluster
	cluster.Name = target.Name
	if c.tokens == nil {
		return &cluster, nil
	}
	token, err := c.tokens.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("open Target %q: %w", v1alpha1.OriginalName(target), err)
	}
	config := rest.CopyConfig(cluster.Config)
	config.BearerToken = token
	cluster.Kubeconfig, err = writeKubeconfig(config)
	return &cluster, err
}

// toTenants opens connections whose address a tenant chose.
func (c *Clients) toTenants() egress.Dial { return egress.Dialing(c.options.PublicOnly, dialTimeout) }

// maxLeading is how many connections one search returns.
const maxLeading = 5

// Leading returns clusters behind the Targets of a namespace that lead to an address, see Identity. They come in order of the names of their
// Targets, one for each content, and only a few: Targets of one content are as good as one. Nothing is sent to any cluster. Whether the one
// behind an address still is the one that a caller knows is left to the caller. Targets that cannot be opened lead nowhere; the error says that
// the landscaper cluster did not answer, and that nothing was found without it.
func (c *Clients) Leading(ctx context.Context, cache, live client.Reader, namespace, address string, actor Actor) ([]*Cluster, error) {
	targets := &v1alpha1.TargetList{}
	if err := cache.List(ctx, targets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Targets of namespace %s: %w", namespace, err)
	}
	slices.SortFunc(targets.Items, func(a, b v1alpha1.Target) int { return cmp.Compare(a.Name, b.Name) })
	var found []*Cluster
	var problem error
	// Targets often share their content.
	secrets, seen := map[reading]bool{}, map[*connection]bool{}
	for i := 0; i < len(targets.Items) && len(found) < maxLeading; i++ {
		target := &targets.Items[i]
		if target.Spec.Type != v1alpha1.KubernetesClusterTargetType {
			continue
		}
		if ref := target.Spec.SecretRef; ref != nil && target.Spec.Configuration == nil {
			once := reading{secret: *ref, account: target.Spec.ServiceAccountName}
			if secrets[once] {
				continue
			}
			secrets[once] = true
		}
		opened, err := c.connectionOf(ctx, live, target, actor)
		if err == nil && !seen[opened] && opened.cluster.Address() == address {
			seen[opened] = true
			var cluster *Cluster
			if cluster, err = opened.named(ctx, target); err == nil {
				found = append(found, cluster)
			}
		}
		if err != nil && !errors.As(err, new(*Error)) {
			problem = err
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, problem
}

// reading is a Secret with who it is read for.
type reading struct {
	secret  v1alpha1.LocalSecretReference
	account string
}

// Actor is who works on a cluster, as far as the object that asks for it says so.
type Actor struct {
	// ServiceAccount names a ServiceAccount of the namespace; empty leaves it to the Target.
	ServiceAccount string
}

// ActorOf returns who carries a DeployItem out.
func ActorOf(item *v1alpha1.DeployItem) Actor {
	return Actor{ServiceAccount: item.Spec.ServiceAccountName}
}

// Accounts name the ServiceAccount, in the namespace of a Target, that is acted as where neither the Target nor an actor names one. Both may be
// empty.
type Accounts struct {
	// Kubeconfig is impersonated with the credentials of a kubeconfig or oidcConfig.
	Kubeconfig string
	// Self stands in a selfConfig that names no ServiceAccount.
	Self string
}

// of returns the ServiceAccount that an actor acts as; empty where nobody names one. What the actor says goes before what the Target says, and
// that before the default. A selfConfig that names a ServiceAccount has no default: it acts as one of the namespace already.
func (a Accounts) of(parsed *content, target *v1alpha1.Target, actor Actor) (string, error) {
	account := cmp.Or(actor.ServiceAccount, target.Spec.ServiceAccountName)
	switch {
	case account != "" && !validation.IsServiceAccountName(account):
		field := "spec.serviceAccountName"
		if actor.ServiceAccount != "" {
			field += " of the DeployItem"
		}
		return "", refuse(field, fmt.Sprintf("%q is not a valid name of a ServiceAccount", account), "give the name alone: it is one of the same namespace")
	case account != "":
		return account, nil
	case parsed.self == nil:
		return a.Kubeconfig, nil
	case parsed.self.ServiceAccount.Name == "":
		return a.Self, nil
	}
	return "", nil
}

// Impersonated reports whether an actor acts on the cluster of a Target in the name of a ServiceAccount, and not as the content alone says. An error
// says that the content cannot be read.
func (a Accounts) Impersonated(target *v1alpha1.Target, content []byte, actor Actor) (bool, error) {
	if target.Spec.Type != v1alpha1.KubernetesClusterTargetType || len(content) == 0 {
		return cmp.Or(actor.ServiceAccount, target.Spec.ServiceAccountName) != "", nil
	}
	parsed, err := parseContent(content)
	if err != nil {
		return false, located(target, err)
	}
	account, err := a.of(parsed, target, actor)
	if err != nil {
		return false, located(target, err)
	}
	return account != "", nil
}

// impersonate makes the requests of a configuration those of a ServiceAccount; an empty name changes nothing. API servers know its groups.
func impersonate(config *rest.Config, namespace, account string) *rest.Config {
	if account != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account)}
	}
	return config
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine runs Helm. It is the only package of this module that may import helm.sh/helm: everything it takes and gives is
// of types of this module, so that another version of Helm means another engine and nothing else. What depends on the content of charts runs in child
// processes, which load, render and post-render them; they know no cluster and ask their parent for what templates look up.
//
// Every operation is bound to its context down to the single request: once the context has ended, nothing that Helm left running
// in the background can reach the API server any more. A release is therefore never changed by two jobs at a time, and a release
// that such an end left pending can be taken over safely. It promises nothing to others.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	discovered "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// Storage drivers that Options.Driver names.
const (
	// DriverSecret keeps releases in Secrets of the release's namespace, as Helm does by default.
	DriverSecret = "secret"
	// DriverConfigMap keeps releases in ConfigMaps.
	DriverConfigMap = "configmap"
)

// FieldManager is the manager of the fields that Helm writes, the same as that of Helm's command line.
const FieldManager = "helm"

// Without this Helm names the binary that it runs in as the manager of the fields, and Helm's own command line would then fight with us.
func init() { kube.ManagedFieldsManager = FieldManager }

// Options configure an Engine.
type Options struct {
	// Driver is where releases are kept; empty means DriverSecret. The plurals secrets and configmaps mean the same as the singulars.
	Driver string
	// Children limit the child processes that work on charts; zero fields mean the defaults.
	Children confined.Limits
}

// Engine runs Helm on clusters. It is safe for concurrent use.
type Engine struct {
	driver   string
	children *confined.Pool[task, product]
	charts   *memory.Cache[string, *Chart]
	// large has a slot for each call that has something large in memory.
	large *semaphore.Weighted
}

// New returns an Engine, or an error for an unknown storage driver.
func New(options Options) (*Engine, error) {
	e := &Engine{
		children: shared, charts: memory.NewCache[string, *Chart](cacheSize, nil), large: semaphore.NewWeighted(largeCharts),
	}
	if own := options.Children; own != (confined.Limits{}) {
		own.Memory = cmp.Or(own.Memory, ChildMemory)
		e.children = confined.NewPool(program, own)
	}
	switch options.Driver {
	case "", DriverSecret, "secrets":
		e.driver = DriverSecret
	case DriverConfigMap, "configmaps":
		e.driver = DriverConfigMap
	case "memory":
		return nil, fmt.Errorf("helm storage driver memory is withdrawn, because it loses releases with the process; use %s or %s", DriverSecret, DriverConfigMap)
	default:
		return nil, fmt.Errorf("helm storage driver %q is unknown; use %s or %s", options.Driver, DriverSecret, DriverConfigMap)
	}
	return e, nil
}

// recordKind is the kind of the objects that keep releases.
func (e *Engine) recordKind() string {
	if e.driver == DriverConfigMap {
		return "ConfigMap"
	}
	return "Secret"
}

// Request is what the operations work on.
type Request struct {
	// Cluster, Namespace and Name identify the release.
	Cluster         *target.Cluster
	Namespace, Name string
	// Owner is the tenant.
	Owner string
	// Chart and Values make up the release. Values are not changed.
	Chart  *Chart
	Values map[string]any
	// Secrets are texts that no error shows, beside those below keys of Values that sound like secrets.
	Secrets []string
	// Labels are kept with the release, see Release.Labels.
	Labels map[string]string
	// MaxHistory is how many revisions Upgrade leaves recorded, 0 meaning 1000; nil means 10.
	MaxHistory *int
	// PostRenderers change the objects of the release, one after the other, before Metadata is set on them.
	PostRenderers []helmv1alpha1.PostRenderer
	Metadata      *helmv1alpha1.CommonMetadata
	// From is the revision that Upgrade follows; it fails when there is a newer one. 0 means the newest.
	From int
	// CreateNamespace makes Install create the namespace when it is missing.
	CreateNamespace bool
	// Rendered is called before Upgrade changes anything, with the manifest of the new revision; it may be nil.
	Rendered func(manifest string)
	// Replace lets Install take the name of a release that was uninstalled but whose history was kept.
	Replace bool

	Flags
}

// Flags are the settings of one operation. Retries and Remediation are for the caller.
type Flags struct {
	helmv1alpha1.ReleaseSettings
	// Reserve keeps a fifth of the time for undoing what fails, as Atomic does.
	Reserve bool
	// UntilGone makes an uninstall leave a release on record while objects of it are still there; see Release.Leaving.
	UntilGone bool
	// OnlyMarked lets an uninstall delete only objects that carry the marks of the release, and run no hooks: anybody may have written its records.
	OnlyMarked bool
}

const (
	minimumTimeout  = time.Second
	maxReserve      = 2 * time.Second
	unlimitedBudget = 24 * time.Hour
)

// budget returns how long hooks and waiting may take: the timeout, but never longer than the context. Atomic and Reserve keep a
// fifth for undoing.
func (f Flags) budget(ctx context.Context) time.Duration {
	left := unlimitedBudget
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
		// So Helm can still say what it was waiting for.
		left -= min(left/10, maxReserve)
		if f.Atomic || f.Reserve {
			left = left * 4 / 5
		}
	}
	if f.Timeout != nil && f.Timeout.Duration > 0 {
		left = min(left, f.Timeout.Duration)
	}
	return max(left, minimumTimeout)
}

// checksFields lets Helm check objects against the schemas of the cluster. Its own check downloads the OpenAPI document only to learn that the server checks
// fields by itself.
func (f Flags) checksFields() bool {
	return f.DisableOpenAPIValidation != nil && !*f.DisableOpenAPIValidation
}

// maxHistory is how many revisions an operation leaves recorded. They are all read whenever somebody works on the release.
func (r Request) maxHistory() int {
	const usual, most = 10, 1000
	switch {
	case r.MaxHistory == nil:
		return usual
	case *r.MaxHistory == 0 || *r.MaxHistory > most:
		return most
	}
	return *r.MaxHistory
}

// secretTexts are those that no error about a request may show.
func (r Request) secretTexts() []string { return append(sensitive(r.Values), r.Secrets...) }

// operation is one use of Helm.
type operation struct {
	*action.Configuration
	*Engine
	kube    *kubeClient
	records *records
	journal *journal
}

// begin prepares Helm for a release. Once ctx has ended, the operation cannot reach the cluster any more.
func (e *Engine) begin(ctx context.Context, request Request) (*operation, error) {
	op := &operation{Configuration: &action.Configuration{}, Engine: e, journal: &journal{}}
	g := newGetter(ctx, request.Cluster, request.Namespace)
	if err := op.Init(g, request.Namespace, e.driver, op.journal.log); err != nil {
		return nil, fmt.Errorf("helm storage driver %q: %w", e.driver, err)
	}
	op.records = &records{Driver: op.Releases.Driver, kind: e.recordKind(), journal: op.journal}
	op.Releases.Driver = op.records
	client, _ := op.KubeClient.(*kube.Client) // Init has made it
	op.kube = &kubeClient{Client: client, ctx: ctx, request: request, journal: op.journal}
	op.KubeClient = op.kube
	return op, nil
}

// run carries out one operation on a release.
func (e *Engine) run(ctx context.Context, request Request, verb string, work func(*operation) (*release.Release, error)) (*Release, error) {
	op, err := e.begin(ctx, request)
	if err != nil {
		return nil, err
	}
	op.journal.withhold(request.secretTexts(), textsIn(nil, request.Values, shortestText, true))
	done, err := untilEnd(ctx, func() (*release.Release, error) {
		done, err := work(op)
		if err != nil {
			return done, err
		}
		return done, op.records.recover()
	})
	if err != nil {
		return nil, explain(verb, request, op.journal, err)
	}
	return fromHelm(done), nil
}

// untilEnd returns what work returns, or the context's error when that comes first. In this case work goes on without a way to the
// cluster and soon ends. A panic of work is an error.
func untilEnd(ctx context.Context, work func() (*release.Release, error)) (*release.Release, error) {
	type result struct {
		release *release.Release
		err     error
	}
	results := make(chan result, 1)
	go func() {
		var done result
		done.err = fault.Survived(ctx, func() (err error) {
			done.release, err = work()
			return err
		})
		results <- done
	}()
	select {
	case r := <-results:
		if ctx.Err() != nil && r.err != nil {
			return nil, context.Cause(ctx)
		}
		return r.release, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// getter hands a cluster to Helm, for one operation. Nothing is read from files or the environment.
type getter struct {
	config    *rest.Config
	mapper    meta.RESTMapper
	namespace string
	discover  func() (discovery.CachedDiscoveryInterface, error)
}

func newGetter(ctx context.Context, cluster *target.Cluster, namespace string) *getter {
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	config.RateLimiter = nil
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bound{operation: ctx, next: next} })
	return &getter{
		config: config, mapper: cluster.MapperFor(ctx), namespace: namespace,
		discover: sync.OnceValues(func() (discovery.CachedDiscoveryInterface, error) {
			client, err := cluster.DiscoveryFor(ctx)
			if err != nil {
				return nil, err
			}
			return discovered.NewMemCacheClient(client), nil
		}),
	}
}

// ToRESTConfig returns the way to the cluster.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns what asks for the kinds of the cluster.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.discover() }

// ToRESTMapper returns the mapper that all operations on the cluster share.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader returns a configuration that holds the namespace only.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// bound is a round tripper whose requests end with an operation. Helm's actions keep going in the background after their context has
// ended; with bound they can no longer do anything there.
type bound struct {
	operation context.Context
	next      http.RoundTripper
}

// RoundTrip sends the request unless the operation has ended, and aborts it when the operation ends before the body is read.
func (b *bound) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.operation.Err() != nil {
		return nil, context.Cause(b.operation)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	stop := context.AfterFunc(b.operation, func() { cancel(context.Cause(b.operation)) })
	release := sync.OnceFunc(func() { stop(); cancel(nil) })
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &boundBody{ReadCloser: response.Body, release: release}
	return response, nil
}

// boundBody gives back the resources of a bound request when it is closed.
type boundBody struct {
	io.ReadCloser
	release func()
}

// Close closes the body.
func (b *boundBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// EnsureNamespace creates a namespace that does not exist, labelled as Helm does it. Whoever may not create namespaces may still use one
// that exists.
func (e *Engine) EnsureNamespace(ctx context.Context, cluster *target.Cluster, name string) error {
	err := cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	if err == nil || apierrors.IsAlreadyExists(err) ||
		apierrors.IsForbidden(err) && cluster.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}) == nil {
		return nil
	}
	return fmt.Errorf("namespace %s cannot be created: %w", name, err)
}

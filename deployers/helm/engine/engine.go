// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/secrecy"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

// Storage drivers that Options.Driver names.
const (
	// DriverSecret keeps releases in Secrets of the release's namespace, as Helm does by default.
	DriverSecret = "secret"
	// DriverConfigMap keeps releases in ConfigMaps.
	DriverConfigMap = "configmap"

	// The plurals, which Helm takes too.
	driverSecrets    = "secrets"
	driverConfigMaps = "configmaps"
)

const (
	maxHistory      = 10
	cacheSize       = 32 << 20
	largestKept     = cacheSize - 1<<10
	maxClusters     = 128
	minimumTimeout  = time.Second
	maxReserve      = 2 * time.Second
	unlimitedBudget = 24 * time.Hour
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
	options  Options
	children *rendering.Pool
	charts   *memory.Cache[string, *Chart]
	clusters *lru.Cache[string, *clusterState]
	locks    *locks
	// large has a slot for each call that has something large in memory.
	large *semaphore.Weighted
}

// New returns an Engine, or an error for an unknown storage driver.
func New(options Options) (*Engine, error) {
	clusters, err := lru.New[string, *clusterState](maxClusters)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		options:  options,
		children: rendering.PoolOf(options.Children),
		charts:   memory.NewCache[string, *Chart](cacheSize, nil),
		clusters: clusters,
		locks:    newLocks(),
		large:    semaphore.NewWeighted(largeCharts),
	}
	switch options.Driver {
	case "", DriverSecret, driverSecrets:
		e.options.Driver = DriverSecret
	case DriverConfigMap, driverConfigMaps:
		e.options.Driver = DriverConfigMap
	case "memory":
		return nil, fmt.Errorf("helm storage driver memory is withdrawn, because it loses releases with the process; use %s or %s", DriverSecret, DriverConfigMap)
	default:
		return nil, fmt.Errorf("helm storage driver %q is unknown; use %s or %s", options.Driver, DriverSecret, DriverConfigMap)
	}
	return e, nil
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
	// MaxHistory is how many revisions Upgrade leaves recorded, 0 meaning as many as are read; nil means 10.
	MaxHistory *int
	// Metadata is set on the objects of the release.
	Metadata rendering.Metadata
	// Kustomizations change the objects before that, one after the other.
	Kustomizations []rendering.Kustomization
	// From is the revision that Upgrade follows; it fails when there is a newer one. 0 means the newest.
	From int
	// CreateNamespace makes Install create the namespace when it is missing.
	CreateNamespace bool
	// Replace lets Install take the name of a release that was uninstalled but whose history was kept.
	Replace bool

	Flags
}

// Flags are the settings of one operation.
type Flags struct {
	// Atomic undoes a failed install or upgrade. It implies Wait.
	Atomic bool
	// Force replaces objects that cannot be patched.
	Force bool
	// SkipSchemaValidation ignores the chart's values.schema.json.
	SkipSchemaValidation bool
	// TakeOwnership adopts objects that exist and belong to nobody or to another release.
	TakeOwnership bool
	// Wait makes the operation last until the objects are ready, or gone.
	Wait bool
	// WaitForJobs makes what waits wait for Jobs to complete, too.
	WaitForJobs bool
	// Timeout limits hooks and waiting; zero means the time that the context has left.
	Timeout time.Duration
	// DisableHooks runs no hooks.
	DisableHooks bool
	// CleanupOnFail lets a failed upgrade delete what it has created.
	CleanupOnFail bool
	// KeepHistory leaves the revisions of an uninstalled release recorded.
	KeepHistory bool
	// DeletionPropagation of uninstalled objects: background, foreground or orphan; empty means background.
	DeletionPropagation string
	// CRDs says what happens to the definitions of the chart; empty means CRDsCreate for Install and CRDsSkip for Upgrade.
	CRDs CRDPolicy
	// CheckFields lets Helm check the objects against the schemas of the cluster.
	CheckFields bool
	// Recreate restarts the Pods that a rollback has changed.
	Recreate bool
	// Reserve keeps a fifth of the time for undoing what fails, as Atomic does.
	Reserve bool
	// UntilGone makes an uninstall leave a release on record while objects of it are still there; see Release.Leaving.
	UntilGone bool
	// OnlyMarked lets an uninstall delete only objects that carry the marks of the release, and run no hooks: anybody may have written its records.
	OnlyMarked bool
}

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
	if f.Timeout > 0 {
		left = min(left, f.Timeout)
	}
	return max(left, minimumTimeout)
}

// Install installs a release that does not exist yet and returns it. When ctx ends first, the release stays pending and nothing
// goes on in the background.
func (e *Engine) Install(ctx context.Context, request Request) (*Release, error) {
	return e.run(ctx, request, "install", func(op *operation) (*release.Release, error) {
		if request.CreateNamespace {
			if err := e.EnsureNamespace(ctx, request.Cluster, request.Namespace); err != nil {
				return nil, err
			}
		}
		rendered, err := op.prepare(ctx, request, firstInstall(request), cmp.Or(request.CRDs, CRDsCreate))
		if err != nil {
			return nil, err
		}
		install := action.NewInstall(op.Configuration)
		install.SkipCRDs = true // they exist by now
		install.DisableHooks, install.WaitForJobs = request.DisableHooks, request.WaitForJobs
		install.PostRenderer = rendered
		install.ReleaseName, install.Namespace = request.Name, request.Namespace
		install.Labels = request.Labels
		install.Replace = request.Replace
		install.Atomic, install.Wait, install.Force = request.Atomic, request.Wait, request.Force
		install.TakeOwnership = request.TakeOwnership
		install.Timeout = request.budget(ctx)
		// Helm's own check downloads the OpenAPI document only to learn that the server checks fields by itself.
		install.DisableOpenAPIValidation = !request.CheckFields
		made, err := install.RunWithContext(context.WithoutCancel(ctx), rendered.Stub(), map[string]any{})
		return made, op.explainUnserved(err, rendered.Manifest, request.Name, 0)
	})
}

// Upgrade makes the next revision of a release and returns it. When ctx ends first, the release stays pending and nothing goes
// on in the background.
func (e *Engine) Upgrade(ctx context.Context, request Request) (*Release, error) {
	return e.run(ctx, request, "upgrade", func(op *operation) (*release.Release, error) {
		from, err := op.lastRevision(request)
		if err != nil {
			return nil, err
		}
		options := chartutil.ReleaseOptions{Name: request.Name, Namespace: request.Namespace, Revision: from + 1, IsUpgrade: true}
		rendered, err := op.prepare(ctx, request, options, cmp.Or(request.CRDs, CRDsSkip))
		if err != nil {
			return nil, err
		}
		upgrade := action.NewUpgrade(op.Configuration)
		upgrade.Namespace = request.Namespace
		upgrade.Labels = request.Labels
		upgrade.MaxHistory = request.maxHistory()
		// The values of the item are all there is: without this, empty values would mean those of the last revision.
		upgrade.ResetValues = true
		upgrade.Atomic, upgrade.Wait, upgrade.Force = request.Atomic, request.Wait, request.Force
		upgrade.TakeOwnership = request.TakeOwnership
		upgrade.Timeout = request.budget(ctx)
		upgrade.DisableOpenAPIValidation = !request.CheckFields
		upgrade.DisableHooks, upgrade.WaitForJobs, upgrade.CleanupOnFail = request.DisableHooks, request.WaitForJobs, request.CleanupOnFail
		upgrade.PostRenderer = rendered
		op.passUnserved(true)
		if client, ok := op.KubeClient.(*sparing); ok {
			client.wanted = rendered.Manifest
		}
		made, err := upgrade.RunWithContext(context.WithoutCancel(ctx), request.Name, rendered.Stub(), map[string]any{})
		return made, op.explainUnserved(err, rendered.Manifest, request.Name, from)
	})
}

// lastRevision returns the revision that an upgrade follows.
func (o *operation) lastRevision(request Request) (int, error) {
	if request.From > 0 {
		return request.From, nil
	}
	last, err := o.Releases.Last(request.Name)
	if err != nil {
		return 0, err
	}
	return last.Version, nil
}

// Uninstall removes the objects of a release and, unless flags say otherwise, its history. A release that does not exist any more is no error.
// Of flags, Wait, UntilGone, Timeout, DisableHooks, KeepHistory and DeletionPropagation count. With UntilGone it returns the release as long as that is
// leaving; once its objects are gone another call ends the uninstall, with the hooks that follow it.
func (e *Engine) Uninstall(ctx context.Context, cluster *target.Cluster, namespace, name string, flags Flags) (*Release, error) {
	request := Request{Cluster: cluster, Namespace: namespace, Name: name, Flags: flags}
	last, err := e.run(ctx, request, "uninstall", func(op *operation) (*release.Release, error) {
		if flags.KeepHistory {
			if isDone, err := op.isUninstalled(name, flags); isDone || err != nil {
				return nil, err
			}
		}
		op.passUnserved(false)
		uninstall := action.NewUninstall(op.Configuration) // IgnoreNotFound would take every failure to read the release for its absence
		uninstall.Wait, uninstall.DisableHooks, uninstall.KeepHistory = flags.Wait, flags.DisableHooks || flags.OnlyMarked, flags.KeepHistory
		uninstall.DeletionPropagation = cmp.Or(flags.DeletionPropagation, "background")
		uninstall.Timeout = flags.budget(ctx)
		op.pause(uninstall, flags)
		done, err := uninstall.Run(name)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			if isDone, unread := op.isUninstalled(name, flags); isDone || unread != nil {
				return nil, unread
			}
		}
		if err != nil || !isLeaving(done.Release) {
			return nil, err
		}
		return done.Release, nil
	})
	return last, err
}

// leaving is how the description of a release begins whose objects are deleted and not gone.
const leaving = "Deletion waits for the objects to go"

func isLeaving(rel *release.Release) bool {
	return rel.Info != nil && rel.Info.Status == release.StatusUninstalled && rel.Info.Description == leaving
}

// pause makes an uninstall end before the hooks that follow it, where objects are still there, and go on there where an earlier one has ended so. Helm
// itself would hold a worker as long as it waits, ask every two seconds, and not say for what.
func (o *operation) pause(uninstall *action.Uninstall, flags Flags) {
	client, ok := o.KubeClient.(*sparing)
	if !ok {
		return
	}
	own := *uninstall
	if flags.UntilGone {
		client.leaves = func() { uninstall.DisableHooks, uninstall.KeepHistory, uninstall.Description = true, true, leaving }
	}
	o.Releases.Driver = resumed{Driver: o.Releases.Driver, resume: func() {
		uninstall.DisableHooks = true // those that go before it have run
		client.left = func() { uninstall.DisableHooks = own.DisableHooks }
	}}
}

// resumed is a storage in which a release that is leaving counts as one that is being uninstalled.
type resumed struct {
	driver.Driver
	// resume is called when there is one.
	resume func()
}

// Query returns releases.
func (r resumed) Query(labels map[string]string) ([]*release.Release, error) {
	found, err := r.Driver.Query(labels)
	for _, rel := range found {
		if isLeaving(rel) {
			rel.Info.Status = release.StatusUninstalling
			r.resume()
		}
	}
	return found, err
}

// isUninstalled reports whether there is no release, or it is as an uninstall that keeps the history leaves it; for Helm, a second one is an error.
func (o *operation) isUninstalled(name string, flags Flags) (bool, error) {
	last, err := o.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return true, nil
	}
	return flags.KeepHistory && err == nil && last.Info != nil && last.Info.Status == release.StatusUninstalled && !isLeaving(last), err
}

// run carries out one operation on a release; two on the same release never overlap.
func (e *Engine) run(ctx context.Context, request Request, verb string,
	work func(*operation) (*release.Release, error),
) (*Release, error) {
	unlock, err := e.locks.lock(ctx, lockKey{request.Cluster.Connection(), request.Namespace, request.Name})
	if err != nil {
		return nil, fmt.Errorf("helm %s of release %s/%s: another operation on it is running: %w", verb, request.Namespace, request.Name, err)
	}
	defer unlock()
	op, err := e.begin(ctx, request.Cluster, request.Namespace)
	if err != nil {
		return nil, err
	}
	op.spareOthers(ctx, request)
	op.journal.Withhold(secretsOf(request))
	op.pods.withhold(secrecy.TextsOf(request.Values))
	if request.Chart != nil {
		op.useCapabilities(request)
	}
	records := &records.Recovering{Driver: op.Releases.Driver}
	op.Releases.Driver = records
	done, err := untilEnd(ctx, func() (*release.Release, error) {
		done, err := work(op)
		if err != nil {
			return done, err
		}
		return done, records.Recover()
	})
	if err != nil {
		return nil, explain(verb, request, op, err)
	}
	op.state.learn(op.Capabilities)
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
		done.err = rescue.Survived(ctx, func() (err error) {
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

// explain words an error of Helm for a person.
func explain(verb string, request Request, op *operation, err error) error {
	secrets := append(secretsOf(request), op.journal.Withheld()...)
	told := secrecy.Withhold(op.journal.String(), secrets)
	if target.AboutSecret(err) {
		told = "" // Helm logs the answer of the API server, too
	}
	return &Error{
		Verb: verb, Release: request.Namespace + "/" + request.Name, Cause: secrecy.Withheld{Err: err, Secrets: secrets}, Log: told, Pods: op.pods.logs(),
	}
}

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
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
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
	children *pool
	charts   *memory.Cache[string, *Chart]
	// large has a slot for each call that has something large in memory.
	large *semaphore.Weighted
}

// New returns an Engine, or an error for an unknown storage driver.
func New(options Options) (*Engine, error) {
	e := &Engine{
		children: poolOf(options.Children), charts: memory.NewCache[string, *Chart](cacheSize, nil), large: semaphore.NewWeighted(largeCharts),
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

// Error is a failed operation.
type Error struct {
	// Verb is the operation: install, upgrade, rollback, test, uninstall or render.
	Verb string
	// Release is namespace/name.
	Release string
	// Cause is Helm's error.
	Cause error
	// Log holds the last lines that Helm logged.
	Log string
	// Pods is what the Pods of a hook that failed wrote last, by the name of the hook.
	Pods map[string]string
}

// explain words an error of Helm for a person.
func explain(verb string, request Request, told *journal, err error) error {
	told.withhold(request.secretTexts(), nil)
	told.mu.Lock()
	defer told.mu.Unlock()
	problem := &Error{
		Verb: verb, Release: request.Namespace + "/" + request.Name, Cause: Redacted{Err: err, Secrets: told.secrets}, Pods: maps.Clone(told.pods),
	}
	if !target.AboutSecret(err) { // else Helm has logged the answer of the API server, too
		lines := slices.Clone(told.lines)
		for i, line := range lines {
			lines[i] = foreign.Beginning(redact(line, told.secrets), maxLogLine) // half a secret would not be found
		}
		problem.Log = strings.Join(lines, "; ")
	}
	return problem
}

// Error names the release, the cause, what the Pods of a hook wrote and what Helm logged last. The Pods of a test are left out: see Pods.
func (e *Error) Error() string {
	text := fmt.Sprintf("helm %s of release %s failed: %s", e.Verb, e.Release, e.Cause)
	if e.Verb != verbTest {
		for _, hook := range slices.Sorted(maps.Keys(e.Pods)) {
			text += " (last log lines of hook " + hook + ": " + e.Pods[hook] + ")"
		}
	}
	if e.Log != "" {
		text += " (last log lines of helm: " + e.Log + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

const keptLogLines, maxLogLine = 10, 300

// journal is what one operation has told. Its last lines explain errors that Helm itself words as "failed to delete release". It is safe for concurrent use:
// an operation that its context has ended may still be at work.
type journal struct {
	mu sync.Mutex
	// secrets are shown by nothing. Programs may print any value, whatever its key sounds like, so their logs do not show what was given either.
	secrets, given []string
	lines          []string
	// pods is what the Pods of hooks that failed wrote last, by the name of the hook.
	pods map[string]string
	// unreadable says that Helm has passed over a record that it could not read.
	unreadable bool
}

func (j *journal) withhold(secrets, given []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.secrets, j.given = slices.Concat(j.secrets, secrets), slices.Concat(j.given, given)
}

// log is Helm's log function.
func (j *journal) log(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if strings.Contains(format, "failed to decode release") {
		j.unreadable = true
		return // it may print the record
	}
	j.lines = append(j.lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
	j.lines = j.lines[max(0, len(j.lines)-keptLogLines):]
}

func (j *journal) takeUnreadable() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.unreadable
	j.unreadable = false
	return was
}

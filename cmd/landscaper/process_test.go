// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// kubeconfigFor returns the path of a kubeconfig that leads to a server.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(someKubeconfig, "https://127.0.0.1:1", server, 1)), 0o600))
	return path
}

// refusing is an API server that knows nothing. It hands out the paths that it is asked for, as long as somebody takes them.
func refusing(t *testing.T) (server string, asked chan string) {
	t.Helper()
	asked = make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default:
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(api.Close)
	return api.URL, asked
}

// managerAt returns the manager of a process at a server that it asks for Installations alone.
func (p *parsed) managerAt(server string, lock *memoryLock) ctrl.Manager {
	p.process.kubeconfig = kubeconfigFor(p.t, server)
	config, err := p.process.restConfig()
	require.NoError(p.t, err)
	options := p.manager()
	options.Metrics.BindAddress, options.HealthProbeBindAddress = "0", "0"
	options.Controller.SkipNameValidation = ptr(true)
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(v1alpha1.GroupVersion.WithKind("Installation"), meta.RESTScopeNamespace)
		return mapper, nil
	}
	mgr, err := ctrl.NewManager(config, options)
	require.NoError(p.t, err)
	return mgr
}

// offline returns the manager of a process that reaches no API server and elects no leader.
func (p *parsed) offline() ctrl.Manager {
	p.process.leader.Enable = false
	return p.managerAt("https://127.0.0.1:1", nil)
}

func TestOnlyWatchedNamespacesAreAskedFor(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "own")
	const all, one = "/apis/landscaper.gardener.cloud/v1alpha1/installations", "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/%s/installations"
	for name, c := range map[string]struct{ argument, wants string }{
		"all":           {"--concurrent=1", all},
		"its own":       {"--watch-all-namespaces=false", fmt.Sprintf(one, "own")},
		"another alone": {"--watch-namespaces=other", fmt.Sprintf(one, "other")},
	} {
		t.Run(name, func(t *testing.T) {
			server, asked := refusing(t)
			p, _ := parse(t, "manifest", c.argument)
			cache := p.managerAt(server, nil).GetCache()
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { _ = cache.Start(ctx) })
			all.Go(func() { _, _ = cache.GetInformer(ctx, &v1alpha1.Installation{}) })
			assert.Equal(t, c.wants, <-asked)
			stop()
			all.Wait()
		})
	}
}

func TestCachesThatDoNotFillEndTheProcess(t *testing.T) {
	server, _ := refusing(t)
	p, _ := parse(t, "manifest", "--cache-sync-timeout=1ms")
	mgr := p.managerAt(server, nil)
	nothing := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Installation{}).Complete(nothing))
	began := time.Now()
	require.ErrorContains(t, mgr.Start(t.Context()), "timed out waiting for")
	assert.Less(t, time.Since(began), 2*time.Minute, "which is the default")
}

func TestWhatDoesNotEndIsLeftAfterTheGrace(t *testing.T) {
	p, _ := parse(t, "manifest", "--graceful-shutdown-timeout=1ms")
	mgr := p.offline()
	ctx, stop := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	require.NoError(t, mgr.Add(manager.RunnableFunc(func(context.Context) error {
		stop()
		<-release
		return nil
	})))
	assert.ErrorContains(t, mgr.Start(ctx), "grace period of 1ms")
}

func TestRequestsOfAProcessAreLimited(t *testing.T) {
	p, _ := parse(t, "manifest", "--kube-api-qps=0.001", "--kube-api-burst=7")
	p.process.kubeconfig = kubeconfigFor(t, "https://127.0.0.1:1")
	config, err := p.process.restConfig()
	require.NoError(t, err)
	clients, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	limit := clients.CoreV1().RESTClient().GetRateLimiter()
	assert.InDelta(t, 0.001, limit.QPS(), 1e-6)
	for range 7 {
		assert.True(t, limit.TryAccept())
	}
	assert.False(t, limit.TryAccept())
}

func TestRequestsGoWhereTheKubeconfigLeads(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfigFor(t, "https://127.0.0.1:1"))
	for name, command := range map[string][]string{
		"controller": {"controller", "--landscaper-kubeconfig="}, "webhooks": {"webhooks", "--kubeconfig="},
	} {
		t.Run(name, func(t *testing.T) {
			server, asked := refusing(t)
			p, _ := parse(t, command[0], command[1]+kubeconfigFor(t, server))
			config, err := p.process.restConfig()
			require.NoError(t, err)
			clients, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			_, err = clients.Discovery().ServerVersion()
			require.Error(t, err)
			assert.Equal(t, "/version", <-asked)
		})
	}
}

func TestTheLogIsAsTheFlagsSay(t *testing.T) {
	const child = "LANDSCAPER_TEST_LOG_FLAGS"
	if arguments, isChild := os.LookupEnv(child); isChild {
		p, _ := parse(t, "manifest", strings.Fields(arguments)...)
		logger.SetLogger(logger.NewLogger(p.process.logging))
		ctrl.Log.Info("hello")
		ctrl.Log.V(1).Info("a detail")
		return
	}
	for name, c := range map[string]struct {
		arguments      string
		json, detailed bool
	}{
		"default":  {"", true, false},
		"console":  {"--log-encoding=console", false, false},
		"detailed": {"--log-level=debug", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			log := &strings.Builder{}
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheLogIsAsTheFlagsSay$")
			process.Env, process.Stderr = append(os.Environ(), child+"="+c.arguments), log
			require.NoError(t, process.Run())
			assert.Contains(t, log.String(), "hello")
			assert.Equal(t, c.json, strings.HasPrefix(log.String(), "{"))
			assert.Equal(t, c.detailed, strings.Contains(log.String(), "a detail"))
		})
	}
}

// memoryLock is the Lease of a leader election, in memory.
type memoryLock struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	isFixed bool
	looks   int
	looked  chan int
}

var _ resourcelock.Interface = &memoryLock{}

func newLock() *memoryLock { return &memoryLock{looked: make(chan int, 1000)} }

func (l *memoryLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	select {
	case l.looked <- l.looks:
	default:
	}
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lock")
	}
	found := *l.record
	return &found, fmt.Appendf(nil, "%v", found), nil
}

func (l *memoryLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *memoryLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isFixed {
		return errors.New("nobody can write the Lease")
	}
	l.record = &record
	return nil
}

func (l *memoryLock) fix() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isFixed = true
}

func (l *memoryLock) RecordEvent(string) {}
func (l *memoryLock) Identity() string   { return "me" }
func (l *memoryLock) Describe() string   { return "a Lease in memory" }

// lead runs a process until it leads and the function returns, and returns how it ended.
func lead(t *testing.T, lock *memoryLock, then func(stop func()), args ...string) error {
	t.Helper()
	p, _ := parse(t, "manifest", append(args, "--enable-leader-election")...)
	mgr := p.managerAt("https://127.0.0.1:1", lock)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	require.NoError(t, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		then(stop)
		<-ctx.Done()
		return nil
	})))
	return mgr.Start(ctx)
}

func TestTheLeaseIsHeldAsTheFlagsSay(t *testing.T) {
	for name, c := range map[string]struct {
		arguments []string
		seconds   int
		holder    string
	}{
		"default":            {nil, 35, ""},
		"longer":             {[]string{"--leader-election-lease-duration=40s"}, 40, ""},
		"kept after the end": {[]string{"--leader-election-release-on-cancel=false"}, 35, "me"},
	} {
		t.Run(name, func(t *testing.T) {
			lock, seconds := newLock(), 0
			require.NoError(t, lead(t, lock, func(stop func()) {
				found, _, _ := lock.Get(t.Context())
				seconds = found.LeaseDurationSeconds
				stop()
			}, c.arguments...))
			assert.Equal(t, c.seconds, seconds)
			assert.Equal(t, c.holder, lock.record.HolderIdentity)
		})
	}
}

func TestALeaderThatCannotRenewEnds(t *testing.T) {
	lock, began := newLock(), time.Time{}
	err := lead(t, lock, func(func()) {
		began = time.Now()
		lock.fix()
	}, "--leader-election-renew-deadline=200ms", "--leader-election-retry-period=10ms")
	require.ErrorContains(t, err, "leader election lost")
	assert.Less(t, time.Since(began), 25*time.Second, "well before the 30 seconds of the default")
}

func TestTheLeaseOfAnotherIsLookedAtEachPeriod(t *testing.T) {
	lock := newLock()
	lock.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 1000}
	ctx, stop := context.WithCancel(t.Context())
	p, _ := parse(t, "manifest", "--enable-leader-election", "--leader-election-retry-period=10ms")
	mgr, ended := p.managerAt("https://127.0.0.1:1", lock), make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	began := time.Now()
	for range 20 {
		<-lock.looked
	}
	assert.Less(t, time.Since(began), 60*time.Second, "20 looks take 95 seconds with the default")
	stop()
	require.NoError(t, <-ended)
}

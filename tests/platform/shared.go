// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	startTimeout  = 30 * time.Minute // includes a cold build of all binaries
	failureLines  = 30
	namespaceSize = 40 // of 63, the rest is for the random end
)

// shared is the one platform of a test binary.
var shared struct {
	options  Options
	once     sync.Once
	platform *Platform
	err      error
}

// Main runs the tests of a package with one platform, which the first Shared starts, stops it afterwards and returns the
// exit code: func TestMain(m *testing.M) { os.Exit(platform.Main(m, platform.Options{…})) }. It silences the logger of
// controller-runtime unless ctrl.SetLogger was called before.
func Main(m *testing.M, options Options) int {
	log.SetLogger(logr.Discard())
	shared.options = options
	code := m.Run()
	if shared.platform == nil {
		return code
	}
	if shared.options.AfterTests != nil {
		for _, failure := range shared.options.AfterTests() {
			fmt.Fprintln(os.Stderr, "FAIL:", failure)
			code = max(code, 1)
		}
	}
	for _, report := range programs.Raced.Reports() {
		fmt.Fprintln(os.Stderr, "platform: a process reported a data race in", report)
		code = max(code, 1)
	}
	if err := shared.platform.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		return max(code, 1)
	}
	return code
}

// Shared returns the platform that Main manages and starts it on the first call. If the test fails, the ends of all logs
// are printed with it.
func Shared(t testing.TB) *Platform {
	t.Helper()
	needNode(t, shared.options)
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		shared.platform, shared.err = Start(ctx, shared.options)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	programs.FailOnRace(t)
	shared.platform.LogOnFailure(t)
	return shared.platform
}

// New starts a platform for one test alone and stops it when the test ends, for tests that kill parts of it.
func New(t testing.TB, options Options) *Platform {
	t.Helper()
	needNode(t, options)
	p, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("cannot stop the platform: %v", err)
		}
	})
	programs.FailOnRace(t)
	p.LogOnFailure(t)
	return p
}

// LogOnFailure prints the ends of all logs of the platform when the test has failed.
func (p *Platform) LogOnFailure(t testing.TB) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, c := range p.Clusters() {
			for _, process := range c.started.All() {
				t.Logf("last lines of %s in cluster %s:\n%s", process.Name(), c.Name, process.LogTail(failureLines))
			}
		}
	})
}

// Namespace creates a namespace for one test. It stays until the platform ends: kube-controller-manager asks for each kind of the cluster several times
// to empty a namespace, which took most of the time of API servers while tests ran.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix(t.Name())}}
	if err := c.client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("cannot create a namespace: %v", err)
	}
	return namespace.Name
}

// namespacePrefix turns a test's name into the beginning of a DNS label.
func namespacePrefix(test string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, strings.TrimPrefix(test, "Test"))
	label = strings.Trim(label[:min(len(label), namespaceSize)], "-")
	return "t-" + label + "-"
}

// Run starts a manager and returns the function that stops it, which the end of the test calls, too. The test fails where the manager does.
func Run(ctx context.Context, t *testing.T, mgr manager.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager failed: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Edit changes the newest version of an object, whatever else happens to it.
func Edit[O client.Object](ctx context.Context, c client.Client, object O, change func(O)) error {
	return edit(ctx, c, object, change, func() error { return c.Update(ctx, object) })
}

// EditStatus is Edit for the status.
func EditStatus[O client.Object](ctx context.Context, c client.Client, object O, change func(O)) error {
	return edit(ctx, c, object, change, func() error { return c.Status().Update(ctx, object) })
}

func edit[O client.Object](ctx context.Context, c client.Client, object O, change func(O), write func() error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return write()
	})
}

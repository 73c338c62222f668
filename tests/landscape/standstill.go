// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const (
	// quietTime is how long nothing may change before a namespace counts as standing still. A loop without back-off writes hundreds of times in it.
	quietTime = 3 * time.Second
	// standstillPatience is how long work that a test has left behind may go on.
	standstillPatience = 90 * time.Second
	// remembered is how many changes a message shows.
	remembered = 30
)

// observedKinds are what our processes write, events included, and what most tests deploy.
var observedKinds = []schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind("Installation"), v1alpha1.GroupVersion.WithKind("Execution"), v1alpha1.GroupVersion.WithKind("DeployItem"),
	v1alpha1.GroupVersion.WithKind("DataObject"), v1alpha1.GroupVersion.WithKind("Target"), v1alpha1.GroupVersion.WithKind("Context"),
	v1alpha1.GroupVersion.WithKind("TargetSync"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Event"),
}

// Standstill knows when something last changed in each namespace. It checks where a test has ended, in whatever state, that resource versions
// stand still: a failure that is shown once and then waits writes nothing.
type Standstill struct {
	mu      sync.Mutex
	changes map[string][]change
	broken  []string
	pending sync.WaitGroup
}

// change is one new version of an object.
type change struct {
	at   time.Time
	text string
}

// WatchStandstill begins to watch a cluster. The watches end with ctx.
func WatchStandstill(ctx context.Context, c *platform.Cluster) (*Standstill, error) {
	s := &Standstill{changes: map[string][]change{}}
	for _, kind := range observedKinds {
		if err := s.follow(ctx, c, kind); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Standstill) follow(ctx context.Context, c *platform.Cluster, kind schema.GroupVersionKind) error {
	watcher, err := follow(ctx, c.Client(), func() client.ObjectList { return metadataList(kind) })
	if err != nil {
		return err
	}
	go func() {
		for event := range watcher.ResultChan() {
			if object, ok := event.Object.(*metav1.PartialObjectMetadata); ok {
				s.see(kind.Kind, event.Type, object)
			}
		}
	}()
	return nil
}

// follow watches all objects of a kind from now on, also through restarts of the API server.
func follow(ctx context.Context, c client.WithWatch, newList func() client.ObjectList) (*watchtools.RetryWatcher, error) {
	list := newList()
	if err := c.List(ctx, list, client.Limit(1)); err != nil {
		return nil, err
	}
	from := watchFunc(func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return c.Watch(ctx, newList(), &client.ListOptions{Raw: &options})
	})
	return watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), from)
}

func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// watchFunc begins watches.
type watchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)

// WatchWithContext calls the function.
func (f watchFunc) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

func (s *Standstill) see(kind string, what watch.EventType, object *metav1.PartialObjectMetadata) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	text := fmt.Sprintf("%s %s %s %s, version %s", now.Format(time.StampMilli), what, kind, object.Name, object.ResourceVersion)
	all := append(s.changes[object.Namespace], change{at: now, text: text})
	s.changes[object.Namespace] = all[max(0, len(all)-remembered):]
}

// last returns when something last changed in a namespace, and describes the last changes.
func (s *Standstill) last(namespace string) (time.Time, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.changes[namespace]
	if len(all) == 0 {
		return time.Time{}, ""
	}
	var texts []string
	for _, one := range all {
		texts = append(texts, one.text)
	}
	return all[len(all)-1].at, strings.Join(texts, "\n")
}

// Await waits until nothing has changed in a namespace for a while. It returns the last changes when they do not end before ctx does.
func (s *Standstill) Await(ctx context.Context, namespace string, quiet time.Duration) error {
	begun := time.Now()
	for {
		last, texts := s.last(namespace)
		if last.Before(begun) {
			last = begun
		}
		left := quiet - time.Since(last)
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return fmt.Errorf("resource versions do not stand still:\n%s", texts)
		}
	}
}

// leave checks in the background that the namespace of a test that has ended comes to a standstill. The namespace stays, see Cluster.Namespace.
func (s *Standstill) leave(test, namespace string) {
	s.pending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), standstillPatience)
		defer cancel()
		if err := s.Await(ctx, namespace, quietTime); err != nil {
			s.mu.Lock()
			s.broken = append(s.broken, fmt.Sprintf("after the end of %s in %s %v", test, namespace, err))
			s.mu.Unlock()
		}
	})
}

// removeNamespace asks for the deletion of a namespace. A failure hurts nobody: the platform ends with the tests.
func (l *Landscape) removeNamespace(name string) {
	_ = l.Client().Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// verdict waits for all namespaces and returns where something still changes.
func (s *Standstill) verdict() []string {
	s.pending.Wait()
	return slices.Clone(s.broken)
}

// RequireStandstill waits until nothing changes any more in the namespace of the scene, and fails the test if that never happens.
func (s *Scene) RequireStandstill() {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, standstillPatience)
	defer cancel()
	if err := s.Standstill.Await(ctx, s.Namespace, quietTime); err != nil {
		s.T.Fatal(err)
	}
}

// NeverStands excludes the namespace of the scene from the check for a standstill, for tests in which a clock goes on starting jobs.
func (s *Scene) NeverStands() { s.restless = true }

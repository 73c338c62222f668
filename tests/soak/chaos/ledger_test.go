// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Kinds in the ledger.
const (
	installationKind = "Installation"
	executionKind    = "Execution"
	deployItemKind   = "DeployItem"
	dataObjectKind   = "DataObject"
	targetKind       = "Target"
	configMapKind    = "ConfigMap"
)

// ledger knows every object of the units that ever existed, by watches that miss nothing. It says more than the audit log: a request
// that died with its client may have been carried out although no success was answered.
type ledger struct {
	mu      sync.Mutex
	born    map[string]map[string][]string // kind → name → UIDs
	alive   map[string]bool                // UIDs
	news    chan struct{}                  // closed and replaced at every change
	changed func(kind string)
}

// keepLedger begins to note objects in the namespaces of the stage.
func (s *stage) keepLedger(ctx context.Context) *ledger {
	s.t.Helper()
	l := &ledger{born: map[string]map[string][]string{}, alive: map[string]bool{}, news: make(chan struct{})}
	for _, kind := range []string{installationKind, executionKind, deployItemKind, dataObjectKind, targetKind} {
		l.follow(ctx, s, v1alpha1.GroupVersion.WithKind(kind), s.units.Namespace)
	}
	l.follow(ctx, s, corev1.SchemeGroupVersion.WithKind(configMapKind), s.units.Deployed)
	return l
}

func (l *ledger) follow(ctx context.Context, s *stage, kind schema.GroupVersionKind, namespace string) {
	s.t.Helper()
	newList := func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return list
	}
	list := newList()
	require.NoError(s.t, s.harness.List(ctx, list, client.InNamespace(namespace)))
	from := watchFunc(func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return s.harness.Watch(ctx, newList(), &client.ListOptions{Namespace: namespace, Raw: &options})
	})
	watcher, err := watchtools.NewRetryWatcherWithContext(context.WithoutCancel(ctx), list.ResourceVersion, from)
	require.NoError(s.t, err)
	s.t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			if object, ok := event.Object.(*metav1.PartialObjectMetadata); ok {
				l.note(kind.Kind, object, event.Type)
			}
		}
	}()
}

type watchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)

// WatchWithContext calls the function.
func (f watchFunc) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

func (l *ledger) note(kind string, object *metav1.PartialObjectMetadata, change watch.EventType) {
	if slices.Contains(shared, object.Name) {
		return
	}
	l.mu.Lock()
	uid := string(object.UID)
	if l.born[kind] == nil {
		l.born[kind] = map[string][]string{}
	}
	if !slices.Contains(l.born[kind][object.Name], uid) {
		l.born[kind][object.Name] = append(l.born[kind][object.Name], uid)
	}
	l.alive[uid] = true
	if change == watch.Deleted {
		delete(l.alive, uid)
	}
	close(l.news)
	l.news = make(chan struct{})
	changed := l.changed
	l.mu.Unlock()
	if changed != nil {
		changed(kind)
	}
}

// awaitNone waits until none of the noted objects exists any more.
func (l *ledger) awaitNone(ctx context.Context) error {
	for {
		l.mu.Lock()
		left, news := len(l.alive), l.news
		l.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("%d objects of the units still exist: %w", left, ctx.Err())
		}
	}
}

// listen lets changed be called after every change from now on, one call at a time per kind.
func (l *ledger) listen(changed func(kind string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}

// births returns how many objects of each name have existed.
func (l *ledger) births(kind string) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	births := map[string]int{}
	for name, uids := range l.born[kind] {
		births[name] = len(uids)
	}
	return births
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"regexp"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

const (
	// shortestPause and longestPause bound the time between two attempts to watch a source. The longest is also how often a source is
	// synced that allows no watch.
	shortestPause = time.Second
	longestPause  = 5 * time.Minute
)

// sources watches the source cluster of each TargetSync. It is safe for concurrent use.
type sources struct {
	// woken takes the TargetSyncs whose source has or may have changed.
	woken chan event.GenericEvent

	mu   sync.Mutex
	open map[types.NamespacedName]*watched
	done bool
}

// watched is the watch of one TargetSync.
type watched struct {
	config  *rest.Config
	stream  target.Stream
	pattern string
	cancel  context.CancelFunc
}

// follow keeps one watch open for a TargetSync: on the objects of stream whose names match pattern.
func (s *sources) follow(key types.NamespacedName, cluster *target.Cluster, stream target.Stream, pattern *regexp.Regexp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.open[key]
	if s.done || present != nil && present.config == cluster.Config && present.stream == stream && present.pattern == pattern.String() {
		return
	}
	if present != nil {
		present.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	if s.open == nil {
		s.open = map[types.NamespacedName]*watched{}
	}
	s.open[key] = &watched{config: cluster.Config, stream: stream, pattern: pattern.String(), cancel: cancel}
	go s.watch(ctx, key, cluster, stream, pattern)
}

// leave ends the watch of a TargetSync.
func (s *sources) leave(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if present := s.open[key]; present != nil {
		present.cancel()
		delete(s.open, key)
	}
}

// watch opens the watch again whenever it breaks. The TargetSync is synced when it is open, for what went unnoticed before, and when it
// cannot be opened.
func (s *sources) watch(ctx context.Context, key types.NamespacedName, cluster *target.Cluster, stream target.Stream, pattern *regexp.Regexp) {
	wake := func() { s.wake(ctx, key) }
	pause := shortestPause
	for ctx.Err() == nil {
		began := time.Now()
		err := rescue.Survived(ctx, func() error {
			return cluster.Follow(ctx, stream, wake, func(object metav1.Object) {
				if pattern.MatchString(object.GetName()) {
					wake()
				}
			})
		})
		if time.Since(began) > longestPause {
			pause = shortestPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
		if err != nil {
			wake()
		}
	}
}

func (s *sources) wake(ctx context.Context, key types.NamespacedName) {
	sync := &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	select {
	case s.woken <- event.GenericEvent{Object: sync}:
	case <-ctx.Done():
	}
}

// Start ends all watches with ctx, as a runnable of the manager.
func (s *sources) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	for _, present := range s.open {
		present.cancel()
	}
	return nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// bucket is a repository in the artifact of a Bucket.
func bucket(t testing.TB, name string) component.Typed {
	repository, err := component.NewTyped(map[string]any{"type": "fluxSource", "sourceRef": map[string]any{"kind": "Bucket", "name": name}})
	require.NoError(t, err)
	return repository
}

func TestARepositoryThatFailedToOpenIsOpenedAgain(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "shop", tarOf(t, func(s component.Sink) error {
		return component.WriteCTF(s, []component.Version{shop(t)}, component.SchemaV2)
	}))
	down := true
	r := repositories(t, func(o *Options) {
		o.Source = func(ctx context.Context, namespace string, ref v1alpha1.SourceReference) (flux.Source, error) {
			if down {
				return flux.Source{}, errors.New("connection refused")
			}
			return offered.source(ctx, namespace, ref)
		}
	})
	written := shop(t).Descriptor
	written.RepositoryContexts = []component.Typed{bucket(t, "shop")}
	s := session(t, r, Scope{Namespace: "ns"})
	found, err := s.Root(t.Context(), inlineDefinition(t, written))
	require.NoError(t, err)
	_, err = s.Content(t.Context(), found.Descriptor, find(t, found.Descriptor, "text"))
	require.ErrorContains(t, err, "connection refused")
	down = false
	assert.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
}

func TestACallerWhoLeavesDoesNotFailAnotherWhoWaitsForTheSameRepository(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "shop", tarOf(t, func(s component.Sink) error {
		return component.WriteCTF(s, []component.Version{shop(t)}, component.SchemaV2)
	}))
	var asked atomic.Int32
	r := repositories(t, func(o *Options) {
		o.Source = func(ctx context.Context, namespace string, ref v1alpha1.SourceReference) (flux.Source, error) {
			if asked.Add(1) == 1 {
				<-ctx.Done()
				return flux.Source{}, ctx.Err()
			}
			return offered.source(ctx, namespace, ref)
		}
	})
	s := session(t, r, Scope{Namespace: "ns"})
	leaving, leave := context.WithCancel(t.Context())
	left, stayed := make(chan error, 1), make(chan error, 1)
	look := func(ctx context.Context, result chan<- error) {
		_, err := s.origin(ctx, bucket(t, "shop"))
		result <- err
	}
	go look(leaving, left)
	require.Eventually(t, func() bool { return asked.Load() == 1 }, time.Minute, time.Millisecond)
	go look(t.Context(), stayed)
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	require.NoError(t, <-stayed)
}

// file is content whose reader fails when it is closed meanwhile, as a file does.
type file struct {
	io.Reader
	reading func()
	closed  atomic.Bool
}

func (f *file) Read(p []byte) (int, error) {
	f.reading()
	if f.closed.Load() {
		return 0, os.ErrClosed
	}
	return f.Reader.Read(p)
}

func (f *file) Close() error {
	f.closed.Store(true)
	return nil
}

func TestACallerWhoLeavesDoesNotFailAnotherWhoWaitsForTheSameContent(t *testing.T) {
	r := repositories(t, nil)
	archive := packed(t, false, map[string]string{"blueprint.yaml": "kind: Blueprint"})
	synctest.Test(t, func(t *testing.T) {
		hurry := make(chan struct{})
		from := &stream{scope: "registry.example.com/c", id: "layer", verified: true, open: func(context.Context) (io.ReadCloser, error) {
			return &file{Reader: bytes.NewReader(archive), reading: func() { <-hurry }}, nil
		}}
		leaving, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error, 1), make(chan error, 1)
		read := func(ctx context.Context, result chan<- error) {
			tree, err := r.extract(ctx, from, "layer", "")
			if err == nil {
				err = tree.Close()
			}
			result <- err
		}
		go read(leaving, left)
		synctest.Wait()
		go read(t.Context(), stayed)
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		close(hurry)
		require.NoError(t, <-stayed)
	})
}

func TestContentOfAnArtifactSetMayBeReadAnyNumberOfTimes(t *testing.T) {
	set, _ := artifactSet(t, component.NewContent("text/plain", []byte("text")))
	s := arrange(t, registry.Start(t, registry.Options{}), resource("set", "plainText", localBlob(set.MediaType, read(t, set)), nil), nil, set)
	for range 20 {
		got, err := s.content(t, "set")
		require.NoError(t, err)
		require.Equal(t, "text", got)
	}
	assert.Empty(t, s.session.open)
}

func TestARepositoryThatFailsToOpenHoldsNothing(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "empty", tarOf(t, func(component.Sink) error { return nil }))
	s := session(t, repositories(t, func(o *Options) { o.Source = offered.source }), Scope{Namespace: "ns"})
	for range 3 {
		_, err := s.origin(t.Context(), bucket(t, "empty"))
		require.Error(t, err)
	}
	assert.Empty(t, s.open)
}

func TestContentOfASessionThatHasEndedIsNotAtFault(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "shop", tarOf(t, func(s component.Sink) error {
		return component.WriteCTF(s, []component.Version{shop(t)}, component.SchemaV2)
	}))
	s := session(t, repositories(t, func(o *Options) { o.Source = offered.source }), Scope{Namespace: "ns"})
	found, err := s.Root(t.Context(), fromSource("shop", ""))
	require.NoError(t, err)
	s.Close()
	_, err = s.Content(t.Context(), found.Descriptor, find(t, found.Descriptor, "text"))
	require.ErrorIs(t, err, fs.ErrClosed)
	assert.Equal(t, fault.Retry, fault.KindOf(err))
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Stream names what Follow watches.
type Stream struct {
	// Kind of the objects.
	Kind schema.GroupVersionKind
	// Namespace of the objects; empty for all namespaces, and ignored where the kind is cluster-scoped.
	Namespace string
	// Name of the one object to watch; empty for all.
	Name string
	// Selector selects by labels; empty for all objects.
	Selector string
}

// Handler takes the metadata of objects. Its functions are called one after the other, and keep nothing of what they get.
type Handler struct {
	// Begin says that a list begins, also one in place of another that did not come to its end. Opened is about the last. Listed gets each object that is
	// there when the watch opens. Both may be nil: without Listed nothing is listed.
	Begin  func()
	Listed func(object *metav1.PartialObjectMetadata)
	// Opened says that no change goes unnoticed any more.
	Opened func()
	// Changed gets each object that is added, changed or deleted after that.
	Changed func(object *metav1.PartialObjectMetadata, isDeleted bool)
}

// metadataPages is how many answers of a list are read.
const metadataPages = 2000

// Follow watches the metadata of objects until the watch breaks or ctx ends; bookmarks are left out. A watch that the server ends goes on in a new one;
// where that cannot be opened, or the server wants it to be opened much later, Follow returns, so that the caller paces the attempts. The error says why
// the objects could not be listed or watched.
func (c *Cluster) Follow(ctx context.Context, stream Stream, handler Handler) error {
	mapping, err := c.MapperFor(ctx).RESTMapping(stream.Kind.GroupKind(), stream.Kind.Version)
	if err != nil {
		return err
	}
	client := c.metadata
	if client == nil {
		if client, err = metadata.NewForConfig(c.Config); err != nil {
			return err
		}
	}
	resource := metadata.ResourceInterface(client.Resource(mapping.Resource))
	if mapping.Scope.Name() != meta.RESTScopeNameRoot {
		resource = client.Resource(mapping.Resource).Namespace(stream.Namespace)
	}
	selected := metav1.ListOptions{LabelSelector: stream.Selector}
	if stream.Name != "" {
		selected.FieldSelector = fields.OneTermEqualSelector("metadata.name", stream.Name).String()
	}
	version, err := handler.list(ctx, resource, selected)
	if err != nil {
		return err
	}
	open := func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
		from.LabelSelector, from.FieldSelector = selected.LabelSelector, selected.FieldSelector
		return resource.Watch(ctx, from)
	}
	return watchFrom(ctx, version, open, handler.Opened, func(event watch.Event) {
		if object, isObject := event.Object.(*metav1.PartialObjectMetadata); isObject {
			handler.Changed(object, event.Type == watch.Deleted)
		}
	})
}

// list hands over all objects, page by page, and returns the version of the list.
func (h Handler) list(ctx context.Context, resource metadata.ResourceInterface, selected metav1.ListOptions) (version string, err error) {
	if h.Listed == nil {
		selected.Limit = 1
		list, err := resource.List(ctx, selected)
		if err != nil {
			return "", err
		}
		return list.ResourceVersion, nil
	}
	err = Pages(metadataPages, func(limit int64, next string) (string, error) {
		if next == "" && h.Begin != nil {
			h.Begin()
		}
		selected.Limit, selected.Continue = limit, next
		list, err := resource.List(ctx, selected)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			h.Listed(&list.Items[i])
		}
		version = list.ResourceVersion
		return list.Continue, nil
	})
	return version, err
}

// maxPause is how long a watch may be left unopened after the server has ended it, as it is allowed to ask for.
const maxPause = 10 * time.Second

var errPaused = fmt.Errorf("the server wants its watch to be opened again later than in %s", maxPause)

// paused is a watch after whose end the time until the next one is measured.
type paused struct {
	watch.Interface
	pause *time.Timer
}

// Stop ends the watch.
func (p paused) Stop() {
	p.Interface.Stop()
	p.pause.Reset(maxPause)
}

// openWatch opens a watch that ends with ctx.
type openWatch func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error)

// watchFrom hands over what happens after a version, bookmarks left out, until the watch breaks, cannot be opened again, or ctx ends. It calls
// opened before the first event.
func watchFrom(ctx context.Context, version string, open openWatch, opened func(), handle func(watch.Event)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	pause := time.AfterFunc(maxPause, func() { giveUp(errPaused) })
	defer pause.Stop()
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{
		WatchFuncWithContext: func(_ context.Context, from metav1.ListOptions) (watch.Interface, error) {
			pause.Stop()
			events, err := open(ctx, from)
			if err != nil {
				giveUp(err) // the library would ask again every second, for ever
				return nil, err
			}
			return paused{Interface: events, pause: pause}, nil // the library waits as long as the server says
		},
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	opened()
	for event := range watcher.ResultChan() {
		switch event.Type {
		case watch.Error:
			return nil
		case watch.Bookmark:
		default:
			handle(event)
		}
	}
	return context.Cause(ctx)
}

// page is how many objects one answer lists.
const page = 500

// beginnings is how often a list begins that does not come to its end.
const beginnings = 4

// ErrTooManyPages says that a list has no end.
var ErrTooManyPages = errors.New("the cluster has more objects with these labels than are looked through; delete those that nobody needs, or take the labels off")

// Pages calls read for one page of a list after the other, with its limit and the token that the page before came with, until read returns no
// token; most is how many answers are read. An answer that is too large is asked for again in smaller pages: whoever may write objects that the
// list selects, too, may not keep it from coming to its end. A list of which a token has expired begins anew, a few times: read gets no token then, and
// has to forget the pages before.
func Pages(most int, read func(limit int64, next string) (following string, err error)) error {
	limit, next, begun := int64(page), "", 1
	for range most {
		following, err := read(limit, next)
		switch {
		case errors.Is(err, egress.ErrLarge) && limit > 1:
			limit = max(limit/8, 1)
		case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && next != "" && begun < beginnings:
			next, begun = "", begun+1
		case err != nil:
			return err
		case following == "":
			return nil
		default:
			next, limit = following, min(2*limit, page)
		}
	}
	return ErrTooManyPages
}

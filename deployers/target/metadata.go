// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// metadataPages is how many answers of a list are read.
const metadataPages = 2000

// MetadataStream names what FollowMetadata watches.
type MetadataStream struct {
	// Kind of the objects.
	Kind schema.GroupVersionKind
	// Namespace of the objects; empty for all namespaces, and where the kind is cluster-scoped.
	Namespace string
	// Selector selects by labels; empty for all objects.
	Selector string
}

// MetadataHandler takes the metadata of objects. Its functions are called one after the other, and keep nothing of what they get.
type MetadataHandler struct {
	// Begin says that a list begins, also one in place of another that did not come to its end. Opened is about the last. May be nil.
	Begin func()
	// Present gets each object that is there when the watch opens, and each that is added or changed after that.
	Present func(object *metav1.PartialObjectMetadata)
	// Opened says that all have been listed, and that no change goes unnoticed any more.
	Opened func()
	// Deleted gets each object that is not there any more.
	Deleted func(object *metav1.PartialObjectMetadata)
}

// FollowMetadata lists and then watches the metadata of objects until the watch breaks or ctx ends. A watch that the server ends goes on in a
// new one; where that cannot be opened FollowMetadata returns at once, so that the caller paces the attempts. The error says why the objects
// could not be listed or watched.
func (c *Cluster) FollowMetadata(ctx context.Context, stream MetadataStream, handler MetadataHandler) error {
	resource, err := c.metadataOf(ctx, stream)
	if err != nil {
		return err
	}
	version, err := listMetadata(ctx, resource, stream.Selector, handler)
	if err != nil {
		return err
	}
	open := func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
		from.LabelSelector = stream.Selector
		return resource.Watch(ctx, from)
	}
	return watchFrom(ctx, version, open, handler.Opened, func(event watch.Event) {
		object, isObject := event.Object.(*metav1.PartialObjectMetadata)
		switch {
		case !isObject:
		case event.Type == watch.Deleted:
			handler.Deleted(object)
		default:
			handler.Present(object)
		}
	})
}

// listMetadata hands over all objects, page by page, and returns the version of the list.
func listMetadata(ctx context.Context, resource metadata.ResourceInterface, selector string, handler MetadataHandler) (string, error) {
	version := ""
	err := Pages(metadataPages, func(limit int64, next string) (string, error) {
		if next == "" && handler.Begin != nil {
			handler.Begin()
		}
		list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: limit, Continue: next})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			handler.Present(&list.Items[i])
		}
		version = list.ResourceVersion
		return list.Continue, nil
	})
	return version, err
}

func (c *Cluster) metadataOf(ctx context.Context, stream MetadataStream) (metadata.ResourceInterface, error) {
	resource, isNamespaced, err := c.resourceOf(ctx, stream.Kind)
	if err != nil {
		return nil, err
	}
	client := c.metadata
	if client == nil {
		if client, err = metadata.NewForConfig(c.Config); err != nil {
			return nil, err
		}
	}
	if !isNamespaced {
		return client.Resource(resource), nil
	}
	return client.Resource(resource).Namespace(stream.Namespace), nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Ties are what connects an Installation with its siblings.
type Ties struct {
	// Parent is the name of the parent, empty for roots.
	Parent string
	// Imports and Exports are keys of the indexes.
	Imports, Exports []string
}

// TiesOf returns what connects an Installation with its siblings.
func TiesOf(inst *v1alpha1.Installation) Ties {
	return Ties{Parent: ParentOf(inst), Imports: ImportsOf(inst), Exports: ExportsOf(inst)}
}

// Downstream returns the names of the roots of a namespace that something flows to from others, at any distance; from nested Installations only
// those of the consumers. One that it starts from is among them if something flows to it. It lists what a key leads to once, however many export that.
func (f *Finder) Downstream(ctx context.Context, namespace string, from []Ties) ([]string, error) {
	walk := &flow{finder: f, namespace: namespace, importers: map[string]map[string][]string{}, met: map[string]bool{}}
	for _, ties := range from {
		if err := walk.follow(ctx, ties.Parent, ties.Exports); err != nil {
			return nil, err
		}
	}
	for ; len(walk.roots) > 0; walk.roots = walk.roots[1:] {
		root := &v1alpha1.Installation{}
		err := f.Get(ctx, client.ObjectKey{Namespace: namespace, Name: walk.roots[0]}, root, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err := walk.follow(ctx, "", ExportsOf(root)); err != nil {
			return nil, err
		}
	}
	return walk.names, nil
}

// flow is one walk along exports. It keeps names only: an object of a list holds the memory of the whole list.
type flow struct {
	finder    *Finder
	namespace string
	// importers are those that a key leads to and that were not met there, by key and parent.
	importers map[string]map[string][]string
	// names are those that were met, roots those of them to go on from.
	met          map[string]bool
	names, roots []string
}

// follow meets those that import one of some exports and have a parent.
func (w *flow) follow(ctx context.Context, parent string, exports []string) error {
	for _, key := range exports {
		consumers, err := w.take(ctx, key, parent)
		if err != nil {
			return err
		}
		for _, name := range consumers {
			if w.met[name] {
				continue
			}
			w.met[name] = true
			w.names = append(w.names, name)
			if parent == "" {
				w.roots = append(w.roots, name)
			}
		}
	}
	return nil
}

// take returns those that a key leads to and have a parent, the first time that it is asked.
func (w *flow) take(ctx context.Context, key, parent string) ([]string, error) {
	if err := ctx.Err(); err != nil { // the cache does not ask it
		return nil, err
	}
	byParent, isKnown := w.importers[key]
	if !isKnown {
		list := &v1alpha1.InstallationList{}
		err := w.finder.List(ctx, list, client.InNamespace(w.namespace), client.MatchingFields{ImportIndex: key}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		byParent = map[string][]string{}
		for i := range list.Items {
			of := ParentOf(&list.Items[i])
			byParent[of] = append(byParent[of], list.Items[i].Name)
		}
		w.importers[key] = byParent
	}
	consumers := byParent[parent]
	delete(byParent, parent)
	return consumers, nil
}

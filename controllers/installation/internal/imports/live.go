// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
)

// maxLive is how many Secrets and ConfigMaps one Installation may import. Each is a request to the API server, at every job and where one of them changes.
const maxLive = 500

// place is a Secret or ConfigMap that imports name.
type place struct{ kind, field, name string }

// placeOf returns the place of an import, and the entry there; false for one of a DataObject.
func placeOf(definition *v1alpha1.DataImport) (at place, entry string, live bool) {
	switch {
	case definition.SecretRef != nil:
		return place{"Secret", "secretRef", definition.SecretRef.Name}, definition.SecretRef.Key, true
	case definition.ConfigMapRef != nil:
		return place{"ConfigMap", "configMapRef", definition.ConfigMapRef.Name}, definition.ConfigMapRef.Key, true
	}
	return place{}, "", false
}

// live has the imports of one Installation from Secrets and ConfigMaps. An object is read once, with the values of all imports that name it; nothing else of
// it is kept.
type live struct {
	reader      client.Reader
	namespace   string
	definitions []v1alpha1.DataImport
	// users are the positions of the imports of a place.
	users map[place][]int
	// found has by position what is read and not taken yet.
	found map[int]imported
	held  *data.Allowance
}

// imported is the value of an import with the labels of the object that it comes from.
type imported struct {
	value     any
	labels    map[string]string
	sensitive bool
	err       error
}

// newLive fails where there are too many objects to read. It reads none.
func newLive(ctx context.Context, reader client.Reader, inst *v1alpha1.Installation, held *data.Allowance) (*live, error) {
	l := &live{
		reader: reader, namespace: inst.Namespace, definitions: inst.Spec.Imports.Data, held: held,
		users: map[place][]int{}, found: map[int]imported{},
	}
	for i := range l.definitions {
		if at, _, ok := placeOf(&l.definitions[i]); ok {
			l.users[at] = append(l.users[at], i)
		}
	}
	if len(l.users) > maxLive {
		return nil, fmt.Errorf("spec.imports.data: it names %d Secrets and ConfigMaps, and %d are the most that an installation may import; "+
			"bring values together as keys of fewer ones", len(l.users), maxLive)
	}
	return l, nil
}

// take returns the import at a position, once.
func (l *live) take(ctx context.Context, i int, at place) imported {
	if _, ok := l.found[i]; !ok {
		l.load(ctx, i, at)
	}
	taken := l.found[i]
	delete(l.found, i)
	return taken
}

// load reads a place for the import at position i and those after it, up to the first that fails.
func (l *live) load(ctx context.Context, i int, at place) {
	key := client.ObjectKey{Namespace: l.namespace, Name: at.name}
	entries, labels, err := l.entries(ctx, key, at)
	if err != nil {
		l.found[i] = imported{err: err}
		return
	}
	for _, user := range l.users[at] {
		_, entry, _ := placeOf(&l.definitions[user])
		value, err := readEntries(entries, entry, at.kind, key)
		if err == nil {
			err = l.held.Hold(value)
		}
		l.found[user] = imported{value: value, labels: labels, err: err}
		if err != nil {
			return
		}
	}
}

// entries reads an object.
func (l *live) entries(ctx context.Context, key client.ObjectKey, at place) (map[string][]byte, map[string]string, error) {
	if at.kind == "Secret" {
		secret := &corev1.Secret{}
		if err := l.reader.Get(ctx, key, secret); err != nil {
			return nil, nil, missing(err, at.kind, key, at.field)
		}
		return secret.Data, secret.Labels, nil
	}
	config := &corev1.ConfigMap{}
	if err := l.reader.Get(ctx, key, config); err != nil {
		return nil, nil, missing(err, at.kind, key, at.field)
	}
	entries := map[string][]byte{}
	for name, text := range config.Data {
		entries[name] = []byte(text)
	}
	maps.Copy(entries, config.BinaryData)
	return entries, config.Labels, nil
}

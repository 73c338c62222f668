// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package imports reads what Installations import. It knows neither blueprints nor jobs, and changes nothing in the cluster. It promises nothing to
// others.
package imports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// Collector collects what Installations import.
type Collector struct {
	// Reader reads from caches.
	client.Reader
	// Live reads from the API server: contents of Secrets and ConfigMaps.
	Live client.Reader
}

// Collected are the imports of an Installation by name, with the Target objects that they come from by object name.
type Collected struct {
	Values  render.Imports
	Targets map[string]*v1alpha1.Target
	// Sensitive are the data imports that sub-installations see in Secrets only, by name.
	Sensitive map[string]bool
	// hashes tell by key of the import index whether an imported object changed.
	hashes map[string]string
	// held is the memory that the values take.
	held data.Allowance
}

// Hash is another one when the content of an import is another.
func (c *Collected) Hash() string { return data.HashOf(c.hashes) }

// Collect reads everything that an Installation imports. Errors name field and import.
func (c *Collector) Collect(ctx context.Context, inst *v1alpha1.Installation) (*Collected, error) {
	imports := &Collected{hashes: map[string]string{}, Sensitive: map[string]bool{}, Targets: map[string]*v1alpha1.Target{}, Values: render.NewImports()}
	contents, err := newLive(ctx, c.Live, inst, &imports.held)
	if err != nil {
		return nil, err
	}
	read := newReading(c.Reader, inst)
	for i := range inst.Spec.Imports.Data {
		if err := goesOn(ctx); err != nil {
			return nil, err
		}
		definition := &inst.Spec.Imports.Data[i]
		found := read.dataImport(ctx, i, contents)
		if found.err != nil {
			return nil, fmt.Errorf("spec.imports.data[%d] (import %q): %w", i, definition.Name, found.err)
		}
		imports.Sensitive[definition.Name] = found.sensitive || definition.Sensitive
		if imports.Values.Data[definition.Name] = found.value; found.value == nil {
			imports.Values.Empty[definition.Name] = fmt.Sprintf("spec.imports.data[%d] (import %q): %s", i, definition.Name, read.sourceOf(definition))
		}
		if own, err := read.deploys(ctx, found.labels); err != nil {
			return nil, err
		} else if own {
			continue // else every job that deploys something else there would start the next
		}
		if imports.hashes[definition.Name], err = data.ValueHash(found.value); err != nil {
			return nil, err
		}
	}
	for i := range inst.Spec.Imports.Targets {
		definition := &inst.Spec.Imports.Targets[i]
		if err := read.addTargets(ctx, definition, imports); err != nil {
			return nil, fmt.Errorf("spec.imports.targets[%d] (import %q): %w", i, definition.Name, err)
		}
	}
	return imports, nil
}

// dataImport reads the data import at a position, and counts what it holds.
func (r *reading) dataImport(ctx context.Context, i int, contents *live) imported {
	definition := &r.inst.Spec.Imports.Data[i]
	if at, _, ok := placeOf(definition); ok {
		return contents.take(ctx, i, at)
	}
	object, err := r.dataObject(ctx, definition.DataRef)
	if err != nil {
		return imported{err: err}
	}
	value, err := r.valueOf(ctx, object, contents)
	if err == nil {
		err = contents.held.Hold(value)
	}
	return imported{value, object.Labels, object.SecretReference != nil, err}
}

// valueOf returns what a DataObject holds, or the Secret that it names, which a person may have written as YAML.
func (r *reading) valueOf(ctx context.Context, object *v1alpha1.DataObject, contents *live) (any, error) {
	ref := object.SecretReference
	if ref == nil {
		return sensitive.Value(ctx, contents.reader, object)
	}
	at := place{"Secret", "secretRef of DataObject " + object.Name, ref.Name}
	key := client.ObjectKey{Namespace: object.Namespace, Name: ref.Name}
	entries, _, err := contents.entries(ctx, key, at)
	if err != nil {
		return nil, err
	}
	return readEntries(entries, ref.Key, at.kind, key)
}

// sourceOf names the object, and the key, that a data import comes from.
func (r *reading) sourceOf(definition *v1alpha1.DataImport) string {
	if at, key, ok := placeOf(definition); ok {
		return fmt.Sprintf("%s %s/%s: key %q", at.kind, r.inst.Namespace, at.name, key)
	}
	return fmt.Sprintf("DataObject %s", r.keyOf(definition.DataRef))
}

// readEntries reads one entry, or all as one object, as YAML. Errors never show the content.
func readEntries(entries map[string][]byte, entry, kind string, key client.ObjectKey) (any, error) {
	if entry != "" {
		content, ok := entries[entry]
		if !ok {
			return nil, fmt.Errorf("%s %s has no key %q; add it or change the reference", kind, key, entry)
		}
		return readYAML(content, kind, key, entry)
	}
	all := map[string]any{}
	for name, content := range entries {
		value, err := readYAML(content, kind, key, name)
		if err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

func readYAML(content []byte, kind string, key client.ObjectKey, entry string) (any, error) {
	var value any
	err := foreign.Unmarshal(content, &value)
	if _, ok := errors.AsType[*foreign.Error](err); err != nil && !ok {
		return nil, fmt.Errorf("%s %s: key %q: %w", kind, key, entry, err) // the job has ended
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: key %q %s; correct its content", kind, key, entry, foreign.Problem(err))
	}
	return value, nil
}

// addTargets adds the Targets of one import.
func (r *reading) addTargets(ctx context.Context, definition *v1alpha1.TargetImport, imports *Collected) error {
	switch {
	case definition.Target != "":
		target, err := r.addTarget(ctx, definition.Target, imports)
		imports.Values.Targets[definition.Name] = target
		return err
	case definition.Targets != nil:
		list := make([]render.Target, 0, len(definition.Targets))
		for _, name := range definition.Targets {
			target, err := r.addTarget(ctx, name, imports)
			if err != nil {
				return err
			}
			list = append(list, target)
		}
		imports.Values.TargetLists[definition.Name] = list
		return nil
	case definition.TargetMap != nil:
		targets := map[string]render.Target{}
		for key, name := range definition.TargetMap {
			target, err := r.addTarget(ctx, name, imports)
			if err != nil {
				return err
			}
			targets[key] = target
		}
		imports.Values.TargetMaps[definition.Name] = targets
		return nil
	}
	return r.addTargetsOfParent(ctx, definition, imports)
}

// addTargetsOfParent adds the Targets that the parent imports as a list or map.
func (r *reading) addTargetsOfParent(ctx context.Context, definition *v1alpha1.TargetImport, imports *Collected) error {
	if err := goesOn(ctx); err != nil {
		return err
	}
	scope := relations.ScopeOf(r.inst)
	if scope == "" {
		return errors.New("targetListRef and targetMapRef name imports of a parent, and this installation has none; use targets or targetMap")
	}
	found, err := r.targetsOfParent(ctx, scope)
	if err != nil {
		return err
	}
	if name := definition.TargetMapReference; name != "" {
		return imports.addMap(definition, labelled(found[name], v1alpha1.DataObjectTargetMapKeyLabel))
	}
	return imports.addList(definition, labelled(found[definition.TargetListReference], v1alpha1.DataObjectIndexLabel))
}

// labelled returns the Targets that carry a label.
func labelled(targets []*v1alpha1.Target, label string) []*v1alpha1.Target {
	var selected []*v1alpha1.Target
	for _, target := range targets {
		if _, has := target.Labels[label]; has {
			selected = append(selected, target)
		}
	}
	return selected
}

// addList adds a list of Targets in the order of their positions.
func (i *Collected) addList(definition *v1alpha1.TargetImport, targets []*v1alpha1.Target) error {
	slices.SortFunc(targets, func(a, b *v1alpha1.Target) int { return position(a) - position(b) })
	list := make([]render.Target, 0, len(targets))
	for _, target := range targets {
		shown, err := i.add(target)
		if err != nil {
			return err
		}
		list = append(list, shown)
	}
	i.Values.TargetLists[definition.Name] = list
	return nil
}

func position(target *v1alpha1.Target) int {
	at, _ := strconv.Atoi(target.Labels[v1alpha1.DataObjectIndexLabel])
	return at
}

func (i *Collected) addMap(definition *v1alpha1.TargetImport, targets []*v1alpha1.Target) error {
	byKey := map[string]render.Target{}
	for _, target := range targets {
		shown, err := i.add(target)
		if err != nil {
			return err
		}
		byKey[target.Labels[v1alpha1.DataObjectTargetMapKeyLabel]] = shown
	}
	i.Values.TargetMaps[definition.Name] = byKey
	return nil
}

// add notes a Target that is imported, and copies it once it counts.
func (i *Collected) add(shared *v1alpha1.Target) (render.Target, error) {
	object := &v1alpha1.Target{ObjectMeta: shared.ObjectMeta, Spec: shared.Spec} // templates see what was written, not what was found out
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
	shown, err := data.JSONLike(object)
	if err == nil {
		err = i.held.Hold(shown)
	}
	if err != nil {
		return render.Target{}, err
	}
	if i.Targets[object.Name] == nil {
		i.Targets[object.Name] = object.DeepCopy()
		i.hashes["Target/"+object.Name] = string(object.UID) + "/" + strconv.FormatInt(object.Generation, 10)
	}
	return render.Target{Name: object.Name, Object: shown}, nil
}

func (r *reading) addTarget(ctx context.Context, name string, imports *Collected) (render.Target, error) {
	if err := goesOn(ctx); err != nil {
		return render.Target{}, err
	}
	target, err := r.target(ctx, name)
	if err != nil {
		return render.Target{}, err
	}
	return imports.add(target)
}

// missing says what is not there and how to cure it.
func missing(err error, kind string, key client.ObjectKey, field string) error {
	if apierrors.IsNotFound(err) {
		return &absent{kind: kind, key: key, field: field}
	}
	return unreadImport{fmt.Errorf("read %s %s: %w", kind, key, err)}
}

// unreadImport is why nobody knows what an import holds: the API server refuses it, or cannot give it. No event of the import ends that.
type unreadImport struct{ error }

// Unwrap returns the cause.
func (u unreadImport) Unwrap() error { return u.error }

// IsUnread reports whether an import could not be read, so that nobody knows what it holds.
func IsUnread(err error) bool { return kit.IsTransient(err) || errors.As(err, new(unreadImport)) }

// absent is an object that an import names and the cache does not show.
type absent struct {
	kind, field string
	key         client.ObjectKey
	// export and parent are what a sub-installation calls the object, whose own name is a hash, and where it looks for it.
	export, parent string
}

// Error says what is not there and how to cure it.
func (a *absent) Error() string {
	if a.export != "" {
		return fmt.Sprintf("%s %s not found among the imports of installation %s and the exports of its sub-installations; export it there or change %s",
			a.kind, a.export, a.parent, a.field)
	}
	return fmt.Sprintf("%s %s not found; create it or change %s", a.kind, a.key, a.field)
}

// importable are the kinds of objects that imports name.
var importable = map[string]func() client.Object{
	"DataObject": func() client.Object { return &v1alpha1.DataObject{} },
	"Target":     func() client.Object { return &v1alpha1.Target{} },
	"Secret":     func() client.Object { return &corev1.Secret{} },
	"ConfigMap":  func() client.Object { return &corev1.ConfigMap{} },
}

// Missing returns an error about the first import of an Installation whose object does not exist, as the caches say; nil when all do. Secrets and
// ConfigMaps are looked for in a cache of metadata.
func (c *Collector) Missing(ctx context.Context, metadata client.Reader, inst *v1alpha1.Installation) error {
	read := newReading(c.Reader, inst)
	for i := range inst.Spec.Imports.Data {
		definition := &inst.Spec.Imports.Data[i]
		var err error
		if at, _, ok := placeOf(definition); ok {
			object, key := &metav1.PartialObjectMetadata{}, client.ObjectKey{Namespace: inst.Namespace, Name: at.name}
			object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(at.kind))
			if err = metadata.Get(ctx, key, object); err != nil {
				err = missing(err, at.kind, key, at.field)
			}
		} else {
			_, err = read.dataObject(ctx, definition.DataRef)
		}
		if isMissing(err) {
			return fmt.Errorf("spec.imports.data[%d] (import %q): %w", i, definition.Name, err)
		}
	}
	for i := range inst.Spec.Imports.Targets {
		definition := &inst.Spec.Imports.Targets[i]
		names := append(slices.Sorted(maps.Values(definition.TargetMap)), definition.Targets...)
		if definition.Target != "" {
			names = append(names, definition.Target)
		}
		for _, name := range names {
			if _, err := read.target(ctx, name); isMissing(err) {
				return fmt.Errorf("spec.imports.targets[%d] (import %q): %w", i, definition.Name, err)
			}
		}
	}
	return nil
}

// isMissing reports whether an object is not there, or that cannot be found out.
func isMissing(err error) bool { return errors.As(err, new(*absent)) || IsUnread(err) }

// IsOnServer reports whether the API server has the object that an import misses, so that the cache, which may be late, will show it.
func (c *Collector) IsOnServer(ctx context.Context, problem error) (bool, error) {
	var lacking *absent
	if !errors.As(problem, &lacking) || importable[lacking.kind] == nil {
		return false, nil
	}
	err := c.Live.Get(ctx, lacking.key, importable[lacking.kind]())
	return err == nil, client.IgnoreNotFound(err)
}

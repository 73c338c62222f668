// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package imports reads what Installations import. It knows neither blueprints nor jobs, and changes nothing in the cluster. It promises nothing to
// others.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
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
	// hashes tell by key of the import index whether an imported object changed.
	hashes map[string]string
	// held is the memory that the values take.
	held data.Allowance
}

// Hash is another one when the content of an import is another.
func (c *Collected) Hash() string { return data.HashOf(c.hashes) }

// Collect reads everything that an Installation imports. Errors name field and import.
func (c *Collector) Collect(ctx context.Context, inst *v1alpha1.Installation) (*Collected, error) {
	imports := &Collected{hashes: map[string]string{}, Targets: map[string]*v1alpha1.Target{}, Values: render.NewImports()}
	contents, err := newLive(ctx, c.Live, inst, &imports.held)
	if err != nil {
		return nil, err
	}
	for i := range inst.Spec.Imports.Data {
		definition := &inst.Spec.Imports.Data[i]
		found := c.readData(ctx, inst, i, contents)
		if found.err != nil {
			return nil, fmt.Errorf("spec.imports.data[%d] (import %q): %w", i, definition.Name, found.err)
		}
		imports.Values.Data[definition.Name] = found.value
		if own, err := c.deploys(ctx, inst, found.labels); err != nil {
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
		if err := c.readTargets(ctx, inst, definition, imports); err != nil {
			return nil, fmt.Errorf("spec.imports.targets[%d] (import %q): %w", i, definition.Name, err)
		}
	}
	return imports, nil
}

// readData reads the data import at a position, and counts what it holds.
func (c *Collector) readData(ctx context.Context, inst *v1alpha1.Installation, i int, contents *live) imported {
	definition := &inst.Spec.Imports.Data[i]
	if at, _, ok := placeOf(definition); ok {
		return contents.take(ctx, i, at)
	}
	value, object, err := c.readDataObject(ctx, inst, definition)
	if err == nil {
		err = contents.held.Hold(value)
	}
	return imported{value, object.Labels, err}
}

func (c *Collector) readDataObject(ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.DataImport) (any, *v1alpha1.DataObject, error) {
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(relations.ScopeOf(inst), definition.DataRef)}
	if err := c.Get(ctx, key, object); err != nil {
		return nil, object, missing(err, "DataObject", key, "dataRef")
	}
	if err := c.checkSource(ctx, inst, object, "DataObject"); err != nil {
		return nil, object, err
	}
	if len(object.Data.RawMessage) == 0 {
		return nil, object, nil
	}
	var value any
	if err := json.Unmarshal(object.Data.RawMessage, &value); err != nil {
		return nil, object, fmt.Errorf("DataObject %s: data is not JSON", key)
	}
	return value, object, nil
}

// readEntries reads one entry, or all as one object, as YAML. Errors never show the content.
func readEntries(entries map[string][]byte, entry, kind string, key client.ObjectKey, read *foreign.Several) (any, error) {
	if entry != "" {
		content, ok := entries[entry]
		if !ok {
			return nil, fmt.Errorf("%s %s has no key %q; add it or change the reference", kind, key, entry)
		}
		return readYAML(content, kind, key, entry, read)
	}
	all := map[string]any{}
	for name, content := range entries {
		value, err := readYAML(content, kind, key, name, read)
		if err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

func readYAML(content []byte, kind string, key client.ObjectKey, entry string, read *foreign.Several) (any, error) {
	var value any
	err := read.Unmarshal(content, &value)
	if _, ok := errors.AsType[*foreign.Error](err); err != nil && !ok {
		return nil, fmt.Errorf("%s %s: key %q: %w", kind, key, entry, err) // the job has ended
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: key %q %s; correct its content", kind, key, entry, foreign.Problem(err))
	}
	return value, nil
}

// readTargets reads the Targets of one import.
func (c *Collector) readTargets(
	ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.TargetImport, imports *Collected,
) error {
	switch {
	case definition.Target != "":
		target, err := c.readTarget(ctx, inst, definition.Target, imports)
		imports.Values.Targets[definition.Name] = target
		return err
	case definition.Targets != nil:
		list := make([]render.Target, 0, len(definition.Targets))
		for _, name := range definition.Targets {
			target, err := c.readTarget(ctx, inst, name, imports)
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
			target, err := c.readTarget(ctx, inst, name, imports)
			if err != nil {
				return err
			}
			targets[key] = target
		}
		imports.Values.TargetMaps[definition.Name] = targets
		return nil
	}
	return c.readTargetsOfParent(ctx, inst, definition, imports)
}

// readTargetsOfParent reads the Targets that the parent imports as a list or map.
func (c *Collector) readTargetsOfParent(
	ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.TargetImport, imports *Collected,
) error {
	scope := relations.ScopeOf(inst)
	if scope == "" {
		return errors.New("targetListRef and targetMapRef name imports of a parent, and this installation has none; use targets or targetMap")
	}
	found := &v1alpha1.TargetList{}
	if err := c.List(ctx, found, client.InNamespace(inst.Namespace), client.MatchingFields{data.ScopeIndex: scope}); err != nil {
		return err
	}
	if definition.TargetMapReference != "" {
		return imports.addMap(definition, selectTargets(found, definition.TargetMapReference, v1alpha1.DataObjectTargetMapKeyLabel))
	}
	return imports.addList(definition, selectTargets(found, definition.TargetListReference, v1alpha1.DataObjectIndexLabel))
}

// selectTargets returns the Targets of one import of the parent that carry a label.
func selectTargets(found *v1alpha1.TargetList, name, label string) []*v1alpha1.Target {
	var selected []*v1alpha1.Target
	for i := range found.Items {
		target := &found.Items[i]
		_, has := target.Labels[label]
		if has && target.Labels[v1alpha1.DataObjectKeyLabel] == name && !data.Retired(target) &&
			target.Labels[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport {
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

// add notes a Target that is imported.
func (i *Collected) add(object *v1alpha1.Target) (render.Target, error) {
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
	object.Status = v1alpha1.TargetStatus{} // templates see what was written, not what was found out
	i.Targets[object.Name] = object
	i.hashes["Target/"+object.Name] = string(object.UID) + "/" + strconv.FormatInt(object.Generation, 10)
	shown, err := data.JSONLike(object)
	if err == nil {
		err = i.held.Hold(shown)
	}
	return render.Target{Name: object.Name, Object: shown}, err
}

func (c *Collector) readTarget(
	ctx context.Context, inst *v1alpha1.Installation, name string, imports *Collected,
) (render.Target, error) {
	object := &v1alpha1.Target{}
	key := client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(relations.ScopeOf(inst), name)}
	if err := c.Get(ctx, key, object); err != nil {
		return render.Target{}, missing(err, "Target", key, "target")
	}
	if err := c.checkSource(ctx, inst, object, "Target"); err != nil {
		return render.Target{}, err
	}
	if data.IsFormerExport(object) {
		return render.Target{}, fmt.Errorf("the Target %s is not exported any more and only kept to uninstall what was deployed there; "+
			"export it again or change target", key)
	}
	return imports.add(object)
}

// checkSource refuses what an Installation that does not exist any more has exported: it is about to go.
func (c *Collector) checkSource(ctx context.Context, inst *v1alpha1.Installation, object client.Object, kind string) error {
	owner := data.OtherOwner(object, inst)
	if owner == nil || !inst.IsRoot() && owner.Name == relations.ParentOf(inst) {
		return nil
	}
	source := &v1alpha1.Installation{}
	err := c.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, source)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil || source.UID != owner.UID {
		return fmt.Errorf("%s %s was exported by installation %s, which does not exist any more; install it again or change the reference",
			kind, client.ObjectKeyFromObject(object), owner.Name)
	}
	return nil
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
}

// Error says what is not there and how to cure it.
func (a *absent) Error() string {
	return fmt.Sprintf("%s %s not found; create it or change %s", a.kind, a.key, a.field)
}

// importable are the kinds of objects that imports name.
var importable = map[string]func() client.Object{
	"DataObject": func() client.Object { return &v1alpha1.DataObject{} },
	"Target":     func() client.Object { return &v1alpha1.Target{} },
	"Secret":     func() client.Object { return &corev1.Secret{} },
	"ConfigMap":  func() client.Object { return &corev1.ConfigMap{} },
}

// IsOnServer reports whether the API server has the object that an import misses, so that the cache, which may be late, will show it.
func (c *Collector) IsOnServer(ctx context.Context, problem error) (bool, error) {
	var lacking *absent
	if !errors.As(problem, &lacking) || importable[lacking.kind] == nil {
		return false, nil
	}
	err := c.Live.Get(ctx, lacking.key, importable[lacking.kind]())
	return err == nil, client.IgnoreNotFound(err)
}

// deploys reports whether a deploy item of an Installation, or of one below it, deploys an object that it imports, as the labels of the object
// say. What such an import holds is an outcome of the Installation's own jobs, as an own export is.
func (c *Collector) deploys(ctx context.Context, inst *v1alpha1.Installation, labels map[string]string) (bool, error) {
	name := labels[v1alpha1.ManifestDeployItemLabel]
	if name == "" {
		return false, nil
	}
	item := &v1alpha1.DeployItem{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, item); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	execution := kit.ControllerOf(item, "Execution")
	if execution == nil {
		return false, nil
	}
	// An Execution has the name of its Installation. Owners of others' making may form a circle.
	seen := map[string]bool{}
	for above := execution.Name; above != "" && !seen[above]; {
		if above == inst.Name {
			return true, nil
		}
		seen[above] = true
		current := &v1alpha1.Installation{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: above}, current); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		above = relations.ParentOf(current)
	}
	return false, nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// CollectedImports are the imports of an Installation by name, with the Target objects that they come from by object name.
type CollectedImports struct {
	Values  render.Imports
	Targets map[string]*v1alpha1.Target
	// hashes tell by key of the import index whether an imported object changed.
	hashes map[string]string
	// held is the memory that the values take.
	held data.Allowance
}

// collectImports reads everything that the Installation imports.
func (r *Reader) collectImports(ctx context.Context, in *Reading) error {
	imports, err := r.readImports(ctx, in.inst)
	if err != nil {
		return r.importFailure(ctx, in, err)
	}
	r.graces.forget(client.ObjectKeyFromObject(in.inst), jobs.ImportOperation)
	in.Imports, in.Reach.Targets = imports, imports.Targets
	in.inst.Status.ImportsHash = data.HashOf(imports.hashes)
	return nil
}

// readImports reads everything that an Installation imports. Errors name field and import.
func (r *Reader) readImports(ctx context.Context, inst *v1alpha1.Installation) (*CollectedImports, error) {
	imports := &CollectedImports{hashes: map[string]string{}, Targets: map[string]*v1alpha1.Target{}, Values: render.NewImports()}
	var read foreign.Several
	for i := range inst.Spec.Imports.Data {
		definition := &inst.Spec.Imports.Data[i]
		value, from, err := r.readData(ctx, inst, definition, &read)
		if err == nil {
			err = imports.held.Hold(value)
		}
		if err != nil {
			return nil, fmt.Errorf("spec.imports.data[%d] (import %q): %w", i, definition.Name, err)
		}
		imports.Values.Data[definition.Name] = value
		if own, err := r.deploys(ctx, inst, from); err != nil {
			return nil, err
		} else if own {
			continue // else every job that deploys something else there would start the next
		}
		if imports.hashes[definition.Name], err = data.ValueHash(value); err != nil {
			return nil, err
		}
	}
	for i := range inst.Spec.Imports.Targets {
		definition := &inst.Spec.Imports.Targets[i]
		if err := r.readTargets(ctx, inst, definition, imports); err != nil {
			return nil, fmt.Errorf("spec.imports.targets[%d] (import %q): %w", i, definition.Name, err)
		}
	}
	return imports, nil
}

// ImportGrace is how long a job waits for an import that is not there: a sync that creates both creates the Installation
// first.
const ImportGrace = 700 * time.Millisecond

// importFailure makes what is missing a problem that a person has to solve, after a moment of grace and unless only the cache misses it. What
// could not be read is tried again.
func (r *Reader) importFailure(ctx context.Context, in *Reading, err error) error {
	if isUnread(err) {
		return err
	}
	if r.graces.over(in.inst, jobs.ImportOperation, in.now) {
		if arrives, problem := r.arriving(ctx, err); problem != nil {
			return problem
		} else if !arrives {
			r.graces.forget(client.ObjectKeyFromObject(in.inst), jobs.ImportOperation)
			return kit.Stall(jobs.ImportOperation, jobs.ReasonImportNotFound, "%w", err)
		}
	}
	in.Wake(ImportGrace)
	return kit.Wait(jobs.ImportOperation, jobs.ReasonImportNotFound, "%w", err)
}

func (r *Reader) readData(
	ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.DataImport, read *foreign.Several,
) (value any, from client.Object, err error) {
	switch {
	case definition.SecretRef != nil:
		return r.readSecret(ctx, inst.Namespace, definition.SecretRef, read)
	case definition.ConfigMapRef != nil:
		return r.readConfigMap(ctx, inst.Namespace, definition.ConfigMapRef, read)
	}
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(relations.ScopeOf(inst), definition.DataRef)}
	if err := r.Get(ctx, key, object); err != nil {
		return nil, nil, missing(err, "DataObject", key, "dataRef")
	}
	if err := r.checkSource(ctx, inst, object, "DataObject"); err != nil {
		return nil, nil, err
	}
	if len(object.Data.RawMessage) == 0 {
		return nil, object, nil
	}
	if err := json.Unmarshal(object.Data.RawMessage, &value); err != nil {
		return nil, nil, fmt.Errorf("DataObject %s: data is not JSON", key)
	}
	return value, object, nil
}

func (r *Reader) readSecret(
	ctx context.Context, namespace string, ref *v1alpha1.LocalSecretReference, read *foreign.Several,
) (any, client.Object, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if err := r.Live.Get(ctx, key, secret); err != nil {
		return nil, nil, missing(err, "Secret", key, "secretRef")
	}
	value, err := readEntries(secret.Data, ref.Key, "Secret", key, read)
	return value, secret, err
}

func (r *Reader) readConfigMap(
	ctx context.Context, namespace string, ref *v1alpha1.LocalConfigMapReference, read *foreign.Several,
) (any, client.Object, error) {
	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if err := r.Live.Get(ctx, key, config); err != nil {
		return nil, nil, missing(err, "ConfigMap", key, "configMapRef")
	}
	entries := map[string][]byte{}
	for name, text := range config.Data {
		entries[name] = []byte(text)
	}
	for name, content := range config.BinaryData {
		entries[name] = content
	}
	value, err := readEntries(entries, ref.Key, "ConfigMap", key, read)
	return value, config, err
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
	if err := read.Unmarshal(content, &value); err != nil {
		return nil, fmt.Errorf("%s %s: key %q %s; correct its content", kind, key, entry, foreign.Problem(err))
	}
	return value, nil
}

// readTargets reads the Targets of one import.
func (r *Reader) readTargets(
	ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.TargetImport, imports *CollectedImports,
) error {
	switch {
	case definition.Target != "":
		target, err := r.readTarget(ctx, inst, definition.Target, imports)
		imports.Values.Targets[definition.Name] = target
		return err
	case definition.Targets != nil:
		list := make([]render.Target, 0, len(definition.Targets))
		for _, name := range definition.Targets {
			target, err := r.readTarget(ctx, inst, name, imports)
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
			target, err := r.readTarget(ctx, inst, name, imports)
			if err != nil {
				return err
			}
			targets[key] = target
		}
		imports.Values.TargetMaps[definition.Name] = targets
		return nil
	}
	return r.readTargetsOfParent(ctx, inst, definition, imports)
}

// readTargetsOfParent reads the Targets that the parent imports as a list or map.
func (r *Reader) readTargetsOfParent(
	ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.TargetImport, imports *CollectedImports,
) error {
	scope := relations.ScopeOf(inst)
	if scope == "" {
		return errors.New("targetListRef and targetMapRef name imports of a parent, and this installation has none; use targets or targetMap")
	}
	found := &v1alpha1.TargetList{}
	if err := r.List(ctx, found, client.InNamespace(inst.Namespace), client.MatchingFields{data.ScopeIndex: scope}); err != nil {
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
func (i *CollectedImports) addList(definition *v1alpha1.TargetImport, targets []*v1alpha1.Target) error {
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

func (i *CollectedImports) addMap(definition *v1alpha1.TargetImport, targets []*v1alpha1.Target) error {
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
func (i *CollectedImports) add(object *v1alpha1.Target) (render.Target, error) {
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

func (r *Reader) readTarget(
	ctx context.Context, inst *v1alpha1.Installation, name string, imports *CollectedImports,
) (render.Target, error) {
	object := &v1alpha1.Target{}
	key := client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(relations.ScopeOf(inst), name)}
	if err := r.Get(ctx, key, object); err != nil {
		return render.Target{}, missing(err, "Target", key, "target")
	}
	if err := r.checkSource(ctx, inst, object, "Target"); err != nil {
		return render.Target{}, err
	}
	if data.IsFormerExport(object) {
		return render.Target{}, fmt.Errorf("the Target %s is not exported any more and only kept to uninstall what was deployed there; "+
			"export it again or change target", key)
	}
	return imports.add(object)
}

// checkSource refuses what an Installation that does not exist any more has exported: it is about to go.
func (r *Reader) checkSource(ctx context.Context, inst *v1alpha1.Installation, object client.Object, kind string) error {
	owner := data.OtherOwner(object, inst)
	if owner == nil || !inst.IsRoot() && owner.Name == relations.ParentOf(inst) {
		return nil
	}
	source := &v1alpha1.Installation{}
	err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, source)
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

func isUnread(err error) bool { return kit.IsTransient(err) || errors.As(err, new(unreadImport)) }

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

// arriving reports whether the API server has the object that an import misses, so that the cache, which may be late, will show it.
func (r *Reader) arriving(ctx context.Context, problem error) (bool, error) {
	var lacking *absent
	if !errors.As(problem, &lacking) || importable[lacking.kind] == nil {
		return false, nil
	}
	err := r.Live.Get(ctx, lacking.key, importable[lacking.kind]())
	return err == nil, client.IgnoreNotFound(err)
}

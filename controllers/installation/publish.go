// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// shownRetry is when to look again after a cache lagged behind for too long.
const shownRetry = time.Second

// metaOf is the metadata of a DataObject or Target that an Installation makes in a scope.
func metaOf(inst *v1alpha1.Installation, source, scope, key, hash string) metav1.ObjectMeta {
	labels := map[string]string{
		v1alpha1.DataObjectSourceLabel: storage.InstallationScope(inst.Name), v1alpha1.DataObjectSourceTypeLabel: source,
		v1alpha1.DataObjectKeyLabel: key, v1alpha1.DataObjectJobIDLabel: inst.Status.JobID,
	}
	if scope != "" {
		labels[v1alpha1.DataObjectContextLabel] = scope
	}
	return metav1.ObjectMeta{
		Name: storage.DataName(scope, key), Namespace: inst.Namespace, Labels: labels,
		Annotations: map[string]string{v1alpha1.HashAnnotation: hash},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: inst.Name, UID: inst.UID,
		}},
	}
}

// createData creates a DataObject or Target and remembers that it did.
func (r *Reconciler) createData(ctx context.Context, object client.Object) error {
	stored := storedOf(object)
	if err := r.Create(ctx, stored); err != nil {
		return err
	}
	r.written(object).Created(stored)
	return r.keepValue(ctx, object, stored)
}

// replaceData writes a DataObject or Target over what exists and remembers that it did. The finalizers of others stay. One that has been
// collected as garbage meanwhile is created.
func (r *Reconciler) replaceData(ctx context.Context, object, existing client.Object) error {
	if err := r.keepValue(ctx, object, existing); err != nil {
		return err
	}
	stored := storedOf(object)
	stored.SetResourceVersion(existing.GetResourceVersion())
	stored.SetFinalizers(existing.GetFinalizers())
	err := r.Update(ctx, stored)
	if apierrors.IsNotFound(err) {
		object.SetResourceVersion("")
		object.SetFinalizers(nil)
		return r.createData(ctx, object)
	}
	if err != nil {
		return err
	}
	r.written(object).Wrote(stored)
	former, ok := existing.(*v1alpha1.DataObject)
	if wanted, isData := object.(*v1alpha1.DataObject); ok && isData && wanted.SecretReference == nil {
		return storage.Drop(ctx, r.Live, r.Client, former)
	}
	return nil
}

// storedOf returns what the API server gets of an object: of a sensitive one a copy without the value.
func storedOf(object client.Object) client.Object {
	if value, ok := object.(*v1alpha1.DataObject); ok && value.SecretReference != nil {
		return storage.Stored(value)
	}
	return object
}

// keepValue writes the value of a sensitive DataObject into its Secret, which belongs to the stored object.
func (r *Reconciler) keepValue(ctx context.Context, object, stored client.Object) error {
	if value, ok := object.(*v1alpha1.DataObject); ok {
		return storage.Keep(ctx, r.Live, r.Client, value, stored)
	}
	return nil
}

// awaitShown waits until the cache shows what this process wrote to DataObjects and Targets: whoever is started next reads them there.
func (r *Reconciler) awaitShown(ctx context.Context, s *scope, objects map[string]client.Object) error {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		object := objects[key]
		err := r.echo.await(ctx, func() (bool, error) { return r.isShown(ctx, object) })
		if errors.Is(err, protocol.ErrStop) {
			s.wake(shownRetry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) isShown(ctx context.Context, object client.Object) (bool, error) {
	key := client.ObjectKeyFromObject(object)
	cached := relations.EmptyOf(object)
	err := r.Get(ctx, key, cached, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return r.written(object).Unseen(key) == 0, nil
	}
	return err == nil && !r.written(object).Stale(cached), err
}

// publishImports copies the imports of the blueprint into the scope of the Installation, where sub-installations and export
// executions find them. Copies that are as wanted already are left alone; copies of former imports are deleted.
func (r *Reconciler) publishImports(ctx context.Context, s *scope) error {
	copies, err := wantedCopies(s)
	if err != nil {
		return err
	}
	written := map[string]client.Object{}
	for _, object := range copies {
		written[object.GetName()] = object
		if err := r.publishCopy(ctx, s.inst, object); err != nil {
			return err
		}
	}
	if err := r.retireFormerCopies(ctx, s, written); err != nil || len(s.subinstallations) == 0 {
		return err
	}
	return r.awaitShown(ctx, s, written)
}

// publishCopy creates a copy, or replaces one that has other content or belongs to a former Installation of the name.
func (r *Reconciler) publishCopy(ctx context.Context, inst *v1alpha1.Installation, object client.Object) error {
	existing := relations.EmptyOf(object)
	err := r.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if apierrors.IsNotFound(err) {
		err = r.createData(ctx, object)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	if err == nil && r.written(object).Stale(existing) {
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	if err != nil {
		return err
	}
	if relations.OwnedByUID(existing, inst) && relations.SameContent(existing, object) {
		return r.keepValue(ctx, object, existing)
	}
	if relations.OtherOwner(existing, inst) != nil {
		return r.replaceGarbage(ctx, object, existing)
	}
	return r.replaceData(ctx, object, existing)
}

// replaceGarbage creates an object in place of one that belongs to somebody else and is about to be collected as garbage: what replaced its content
// would be collected, too.
func (r *Reconciler) replaceGarbage(ctx context.Context, object, garbage client.Object) error {
	if err := protocol.DeleteLive(ctx, r.Live, r.Client, garbage, nil); err != nil {
		return err
	}
	return r.createData(ctx, object)
}

// hideCopies moves copies of imports into Secrets where the exports that they come from have moved since the last job. No job runs for that alone. What a
// mapping makes may come from any import.
func (r *Reconciler) hideCopies(ctx context.Context, inst *v1alpha1.Installation) error {
	var names []string
	for i := range inst.Spec.Imports.Data {
		definition, source := &inst.Spec.Imports.Data[i], &v1alpha1.DataObject{}
		if definition.DataRef == "" {
			continue
		}
		key := client.ObjectKey{Namespace: inst.Namespace, Name: storage.DataName(relations.ScopeOf(inst), definition.DataRef)}
		if err := r.Get(ctx, key, source, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
			return err
		}
		if source.SecretReference != nil {
			names = append(names, definition.Name)
		}
	}
	if len(names) > 0 {
		names = slices.AppendSeq(names, maps.Keys(inst.Spec.ImportDataMappings))
	}
	for _, name := range names {
		key := client.ObjectKey{Namespace: inst.Namespace, Name: storage.DataName(storage.InstallationScope(inst.Name), name)}
		if err := r.hideCopy(ctx, inst, key); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) hideCopy(ctx context.Context, inst *v1alpha1.Installation, key client.ObjectKey) error {
	object := &v1alpha1.DataObject{}
	if err := r.Get(ctx, key, object, client.UnsafeDisableDeepCopy); err != nil || object.SecretReference != nil {
		return client.IgnoreNotFound(err)
	}
	object = &v1alpha1.DataObject{}
	if err := r.Live.Get(ctx, key, object); err != nil || object.SecretReference != nil || !relations.OwnedByUID(object, inst) {
		return client.IgnoreNotFound(err)
	}
	existing := object.DeepCopy()
	storage.MarkSensitive(object)
	return r.replaceData(ctx, object, existing)
}

// retireFormerCopies deletes the copies of imports that the blueprint does not have any more. Targets that sub-installations may still use
// are only marked. What it touched counts as written: no sub-installation may start from a cache that still shows it as an import. It touches
// nothing once a sub-installation has the running job, and with it the spec of before that may import them: the job that follows does.
func (r *Reconciler) retireFormerCopies(ctx context.Context, s *scope, written map[string]client.Object) error {
	if s.someChildHasJob() {
		return nil
	}
	copies, err := r.copiesOf(ctx, s.inst)
	if err != nil {
		return err
	}
	for _, object := range copies {
		if written[object.GetName()] != nil {
			continue
		}
		object = object.DeepCopyObject().(client.Object)
		if _, isTarget := object.(*v1alpha1.Target); !isTarget || len(s.children) == 0 {
			err = protocol.DeleteLive(ctx, r.Live, r.Client, object, r.written(object))
		} else if !relations.Retired(object) {
			change := protocol.MetadataChange{Annotations: map[string]*string{relations.RetiredAnnotation: &s.inst.Status.JobID}}
			err = r.patch(ctx, object, change)
		}
		if err != nil {
			return err
		}
		written[object.GetName()] = object
	}
	return nil
}

// deleteRetiredCopies deletes what retireFormerCopies has marked.
func (r *Reconciler) deleteRetiredCopies(ctx context.Context, s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	copies, err := r.copiesOf(ctx, s.inst)
	if err != nil {
		return err
	}
	for _, object := range copies {
		if !relations.Retired(object) {
			continue
		}
		if err := protocol.DeleteLive(ctx, r.Live, r.Client, object.DeepCopyObject().(client.Object), nil); err != nil {
			return err
		}
	}
	return nil
}

// copiesOf returns the imports in the own scope as the cache has them, with which they are shared: they must not be changed. An object that only has the
// labels belongs to whoever made it.
func (r *Reconciler) copiesOf(ctx context.Context, inst *v1alpha1.Installation) ([]client.Object, error) {
	own := client.MatchingFields{relations.ScopeIndex: storage.InstallationScope(inst.Name)}
	var copies []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}} {
		if err := r.List(ctx, list, client.InNamespace(inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for _, object := range protocol.ItemsOf(list) {
			if object.GetLabels()[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport && relations.OwnedByUID(object, inst) {
				copies = append(copies, object)
			}
		}
	}
	return copies, nil
}

// hasCopies reports whether the copies of all imports are there as they are wanted, and no others.
func (r *Reconciler) hasCopies(ctx context.Context, s *scope) (bool, error) {
	copies, err := r.copiesOf(ctx, s.inst)
	if err != nil {
		return false, err
	}
	wanted, err := wantedCopies(s)
	if err != nil || !sameContents(slices.DeleteFunc(copies, relations.Retired), wanted) {
		return false, err
	}
	for _, object := range wanted {
		if value, ok := object.(*v1alpha1.DataObject); ok {
			if kept, err := storage.IsKept(ctx, r.Live, value); err != nil || !kept {
				return false, err
			}
		}
	}
	return true, nil
}

// sameContents reports whether two sets of managed objects are the same by name and content.
func sameContents(has, wanted []client.Object) bool {
	byName := map[string]client.Object{}
	for _, object := range has {
		byName[object.GetName()] = object
	}
	return len(has) == len(wanted) && !slices.ContainsFunc(wanted, func(object client.Object) bool {
		present := byName[object.GetName()]
		return present == nil || !relations.SameContent(present, object)
	})
}

// wantedCopies returns the copies of all imports of the blueprint, always in the same order. Labels tell the place of a Target in a list or map.
func wantedCopies(s *scope) (copies []client.Object, err error) {
	data := s.values.DataImports(s.Blueprint.Document)
	for _, name := range slices.Sorted(maps.Keys(data)) {
		raw, err := json.Marshal(data[name])
		if err != nil {
			return nil, fmt.Errorf("encode import %q: %w", name, err)
		}
		value := v1alpha1.NewAnyJSON(raw)
		object := &v1alpha1.DataObject{ObjectMeta: copyMeta(s.inst, name, name, nil, storage.DataHash(value)), Data: value}
		if s.importIsSensitive(name) {
			storage.MarkSensitive(object)
		}
		copies = append(copies, object)
	}
	add := func(target render.Target, name, key string, labels map[string]string) {
		object, failed := targetCopy(s, target, name, key, labels)
		copies, err = append(copies, object), errors.Join(err, failed)
	}
	for _, name := range slices.Sorted(maps.Keys(s.values.Targets)) {
		add(s.values.Targets[name], name, name, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(s.values.TargetLists)) {
		for i, target := range s.values.TargetLists[name] {
			position := strconv.Itoa(i)
			add(target, name, name+"["+position+"]", map[string]string{v1alpha1.DataObjectIndexLabel: position})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.values.TargetMaps)) {
		for _, key := range slices.Sorted(maps.Keys(s.values.TargetMaps[name])) {
			add(s.values.TargetMaps[name][key], name, name+"["+key+"]", map[string]string{v1alpha1.DataObjectTargetMapKeyLabel: key})
		}
	}
	return copies, err
}

func targetCopy(s *scope, target render.Target, name, key string, labels map[string]string) (client.Object, error) {
	original := s.Imports.Targets[target.Name]
	spec := original.Spec
	spec.HealthCheck = nil // that of the original says it for all
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode target import %q: %w", name, err)
	}
	object := &v1alpha1.Target{ObjectMeta: copyMeta(s.inst, name, key, labels, storage.DataHash(v1alpha1.NewAnyJSON(raw))), Spec: spec}
	object.Annotations[v1alpha1.OriginalTargetAnnotation] = v1alpha1.OriginalName(original)
	relations.CopyMissing(object.Labels, original.Labels)
	relations.CopyMissing(object.Annotations, original.Annotations)
	return object, nil
}

func copyMeta(inst *v1alpha1.Installation, name, key string, labels map[string]string, hash string) metav1.ObjectMeta {
	meta := metaOf(inst, v1alpha1.DataObjectSourceImport, storage.InstallationScope(inst.Name), key, hash)
	meta.Labels[v1alpha1.DataObjectKeyLabel] = name
	maps.Copy(meta.Labels, labels)
	return meta
}

// echoLimit bounds how long a worker waits for a cache; it usually takes milliseconds.
const echoLimit = 2 * time.Second

// echo lets a worker wait until a cache shows what this process wrote, so that whoever is started next reads it there. The zero value is
// ready; it is safe for concurrent use.
type echo struct {
	mu     sync.Mutex
	signal chan struct{}
}

// changed is called after every change of the cache.
func (e *echo) changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal != nil {
		close(e.signal)
		e.signal = nil
	}
}

// await returns when shown does not return false any more, which it is asked now and after each change. It returns protocol.ErrStop when the
// cache lags behind for seconds.
func (e *echo) await(ctx context.Context, shown func() (bool, error)) error {
	limit, cancel := context.WithTimeout(ctx, echoLimit)
	defer cancel()
	for {
		next := e.next()
		ok, err := shown()
		if ok || err != nil {
			return err
		}
		select {
		case <-next:
		case <-limit.Done():
			return protocol.ErrStop
		}
	}
}

func (e *echo) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal == nil {
		e.signal = make(chan struct{})
	}
	return e.signal
}

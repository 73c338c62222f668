// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// maxLive is how many Secrets and ConfigMaps one Installation may import. Each is a request to the API server, at every job and where one of them changes.
const maxLive = 500

// ImportGrace is how long after its beginning a job waits for an import, or a part of its Context, that is not there: a sync that creates both creates
// the Installation first.
const ImportGrace = 700 * time.Millisecond

// Collected are the imports of an Installation by name, with the Target objects that they come from by object name.
type Collected struct {
	Values  render.Imports
	Targets map[string]*v1alpha1.Target
	// Sensitive are the data imports that sub-installations see in Secrets only, by name.
	Sensitive map[string]bool
	// hashes tell by key of the import index whether an imported object changed.
	hashes map[string]string
}

// Hash is another one when the content of an import is another.
func (c *Collected) Hash() string { return relations.HashOf(c.hashes) }

// collectImports reads everything that the Installation imports.
func (r *Reader) collectImports(ctx context.Context, in *Reading) error {
	found, err := r.collect(ctx, in.inst)
	if err != nil {
		return r.importFailure(ctx, in, err)
	}
	in.Imports, in.Reach.Targets, in.Reach.contents = found, found.Targets, nil
	in.inst.Status.ImportsHash = found.Hash()
	return nil
}

// importFailure makes what is missing a problem that a person has to solve, after a moment of grace and unless only the cache misses it. What
// could not be read is tried again.
func (r *Reader) importFailure(ctx context.Context, in *Reading, err error) error {
	if isUnread(err) {
		return err
	}
	if in.waited >= ImportGrace {
		if arrives, problem := r.isOnServer(ctx, err); problem != nil {
			return problem
		} else if !arrives {
			return protocol.Stall(jobs.ImportOperation, jobs.ReasonImportNotFound, "%w", err)
		}
	}
	in.Requeue = ImportGrace
	return protocol.Wait(jobs.ImportOperation, jobs.ReasonImportNotFound, "%w", err)
}

// collect reads everything that an Installation imports. Errors name field and import.
func (r *Reader) collect(ctx context.Context, inst *v1alpha1.Installation) (*Collected, error) {
	found := &Collected{hashes: map[string]string{}, Sensitive: map[string]bool{}, Targets: map[string]*v1alpha1.Target{}, Values: render.NewImports()}
	read := r.newImportReader(inst)
	if err := checkLive(inst); err != nil {
		return nil, err
	}
	for i := range inst.Spec.Imports.Data {
		definition := &inst.Spec.Imports.Data[i]
		value, labels, isSensitive, err := read.value(ctx, definition)
		if err != nil {
			return nil, fmt.Errorf("spec.imports.data[%d] (import %q): %w", i, definition.Name, err)
		}
		found.Sensitive[definition.Name] = isSensitive || definition.Sensitive
		if found.Values.Data[definition.Name] = value; value == nil {
			found.Values.Empty[definition.Name] = fmt.Sprintf("spec.imports.data[%d] (import %q): %s", i, definition.Name, read.sourceOf(definition))
		}
		if own, err := read.deploys(ctx, labels[v1alpha1.ManifestDeployItemLabel]); err != nil {
			return nil, err
		} else if own {
			continue // else every job that deploys something else there would start the next
		}
		if found.hashes[definition.Name], err = relations.ValueHash(value); err != nil {
			return nil, err
		}
	}
	for i := range inst.Spec.Imports.Targets {
		definition := &inst.Spec.Imports.Targets[i]
		if err := read.addTargets(ctx, definition, found); err != nil {
			return nil, fmt.Errorf("spec.imports.targets[%d] (import %q): %w", i, definition.Name, err)
		}
	}
	return found, nil
}

// checkLive fails where there are too many objects to read.
func checkLive(inst *v1alpha1.Installation) error {
	places := map[place]bool{}
	for i := range inst.Spec.Imports.Data {
		if at, _, ok := placeOf(&inst.Spec.Imports.Data[i]); ok {
			places[at] = true
		}
	}
	if len(places) > maxLive {
		return fmt.Errorf("spec.imports.data: it names %d Secrets and ConfigMaps, and %d are the most that an installation may import; "+
			"bring values together as keys of fewer ones", len(places), maxLive)
	}
	return nil
}

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

// importReader reads imports of one Installation, each object once, however many imports lead to it. Those of caches are shared and must not be changed.
type importReader struct {
	cache, live client.Reader
	inst        *v1alpha1.Installation
	contents    map[place]*liveContent
	dataObjects map[string]*v1alpha1.DataObject
	targets     map[string]*v1alpha1.Target
	// owners are Installations by name.
	owners map[string]owner
	// deployed says by name of a DeployItem whether it deploys for the Installation.
	deployed map[string]bool
	// ofParent are the Targets that the parent imports, by name of its import; nil until they are listed.
	ofParent map[string][]*v1alpha1.Target
}

// liveContent is what a Secret or ConfigMap holds.
type liveContent struct {
	entries map[string][]byte
	labels  map[string]string
}

// owner is what matters of an Installation that owns something. One that does not exist has no UID.
type owner struct {
	uid    types.UID
	parent string
}

func (r *Reader) newImportReader(inst *v1alpha1.Installation) *importReader {
	return &importReader{
		cache: r.Reader, live: r.Live, inst: inst, contents: map[place]*liveContent{}, dataObjects: map[string]*v1alpha1.DataObject{},
		targets: map[string]*v1alpha1.Target{}, owners: map[string]owner{}, deployed: map[string]bool{},
	}
}

// value returns what a data import holds, with the labels of the object that it comes from. A Secret that a DataObject names may have been written by a
// person, as YAML.
func (r *importReader) value(ctx context.Context, definition *v1alpha1.DataImport) (value any, labels map[string]string, isSensitive bool, err error) {
	at, entry, ok := placeOf(definition)
	if !ok {
		object, err := r.dataObject(ctx, definition.DataRef)
		if err != nil {
			return nil, nil, false, err
		}
		if object.SecretReference == nil {
			value, err = storage.Value(ctx, r.live, object)
			return value, object.Labels, false, err
		}
		at, entry, labels = place{"Secret", "secretRef of DataObject " + object.Name, object.SecretReference.Name}, object.SecretReference.Key, object.Labels
	}
	content, err := r.content(ctx, at)
	if err != nil {
		return nil, nil, false, err
	}
	value, err = readEntries(content.entries, entry, at.kind, client.ObjectKey{Namespace: r.inst.Namespace, Name: at.name})
	if ok {
		labels = content.labels
	}
	return value, labels, !ok, err
}

// content reads a Secret or ConfigMap.
func (r *importReader) content(ctx context.Context, at place) (*liveContent, error) {
	if known := r.contents[at]; known != nil {
		return known, nil
	}
	found, key := &liveContent{}, client.ObjectKey{Namespace: r.inst.Namespace, Name: at.name}
	if at.kind == "Secret" {
		secret := &corev1.Secret{}
		if err := r.live.Get(ctx, key, secret); err != nil {
			return nil, missing(err, at.kind, key, at.field)
		}
		found.entries, found.labels = secret.Data, secret.Labels
	} else {
		config := &corev1.ConfigMap{}
		if err := r.live.Get(ctx, key, config); err != nil {
			return nil, missing(err, at.kind, key, at.field)
		}
		found.entries, found.labels = map[string][]byte{}, config.Labels
		for name, text := range config.Data {
			found.entries[name] = []byte(text)
		}
		maps.Copy(found.entries, config.BinaryData)
	}
	r.contents[at] = found
	return found, nil
}

// sourceOf names the object, and the key, that a data import comes from.
func (r *importReader) sourceOf(definition *v1alpha1.DataImport) string {
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

func readYAML(content []byte, kind string, key client.ObjectKey, entry string) (value any, err error) {
	if err := foreign.Unmarshal(content, &value); err != nil {
		return nil, fmt.Errorf("%s %s: key %q %s; correct its content", kind, key, entry, foreign.Problem(err))
	}
	return value, nil
}

// addTargets adds the Targets of one import.
func (r *importReader) addTargets(ctx context.Context, definition *v1alpha1.TargetImport, found *Collected) (err error) {
	add := func(name string) (shown render.Target) {
		target, failed := r.target(ctx, name)
		if failed == nil {
			shown, failed = found.add(target)
		}
		err = cmp.Or(err, failed)
		return shown
	}
	switch {
	case definition.Target != "":
		found.Values.Targets[definition.Name] = add(definition.Target)
		return err
	case definition.Targets != nil:
		list := make([]render.Target, 0, len(definition.Targets))
		for _, name := range definition.Targets {
			list = append(list, add(name))
		}
		found.Values.TargetLists[definition.Name] = list
		return err
	case definition.TargetMap != nil:
		targets := map[string]render.Target{}
		for key, name := range definition.TargetMap {
			targets[key] = add(name)
		}
		found.Values.TargetMaps[definition.Name] = targets
		return err
	}
	return r.addTargetsOfParent(ctx, definition, found)
}

// addTargetsOfParent adds the Targets that the parent imports as a list, in the order of their positions, or as a map.
func (r *importReader) addTargetsOfParent(ctx context.Context, definition *v1alpha1.TargetImport, found *Collected) error {
	scope := relations.ScopeOf(r.inst)
	if scope == "" {
		return errors.New("targetListRef and targetMapRef name imports of a parent, and this installation has none; use targets or targetMap")
	}
	all, err := r.targetsOfParent(ctx, scope)
	if err != nil {
		return err
	}
	position := func(target *v1alpha1.Target) int {
		at, _ := strconv.Atoi(target.Labels[v1alpha1.DataObjectIndexLabel])
		return at
	}
	targets := slices.Clone(all[cmp.Or(definition.TargetMapReference, definition.TargetListReference)])
	slices.SortFunc(targets, func(a, b *v1alpha1.Target) int { return position(a) - position(b) })
	list, byKey := []render.Target{}, map[string]render.Target{}
	for _, target := range targets {
		key, isInMap := target.Labels[v1alpha1.DataObjectTargetMapKeyLabel]
		_, isInList := target.Labels[v1alpha1.DataObjectIndexLabel]
		if definition.TargetMapReference != "" && !isInMap || definition.TargetMapReference == "" && !isInList {
			continue
		}
		shown, err := found.add(target)
		if err != nil {
			return err
		}
		list, byKey[key] = append(list, shown), shown
	}
	if definition.TargetMapReference != "" {
		found.Values.TargetMaps[definition.Name] = byKey
	} else {
		found.Values.TargetLists[definition.Name] = list
	}
	return nil
}

// add notes a Target that is imported, and copies it.
func (c *Collected) add(shared *v1alpha1.Target) (render.Target, error) {
	object := &v1alpha1.Target{ObjectMeta: shared.ObjectMeta, Spec: shared.Spec} // templates see what was written, not what was found out
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
	shown, err := relations.JSONLike(object)
	if err != nil {
		return render.Target{}, err
	}
	if c.Targets[object.Name] == nil {
		c.Targets[object.Name] = object.DeepCopy()
		c.hashes["Target/"+object.Name] = string(object.UID) + "/" + strconv.FormatInt(object.Generation, 10)
	}
	return render.Target{Name: object.Name, Object: shown}, nil
}

// keyOf is the object that an import names.
func (r *importReader) keyOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.inst.Namespace, Name: storage.DataName(relations.ScopeOf(r.inst), name)}
}

// object reads what an import calls a name. It refuses what an Installation that does not exist any more has exported: it is about to go.
func (r *importReader) object(ctx context.Context, kind, field, name string, object client.Object) error {
	key := r.keyOf(name)
	if err := r.cache.Get(ctx, key, object, client.UnsafeDisableDeepCopy); err != nil {
		err = missing(err, kind, key, field)
		if lacking, ok := errors.AsType[*absent](err); ok && !r.inst.IsRoot() && key.Name != strings.TrimPrefix(name, "#") {
			lacking.export, lacking.parent = name, relations.ParentOf(r.inst)
		}
		return err
	}
	reference := relations.OtherOwner(object, r.inst)
	if reference == nil || !r.inst.IsRoot() && reference.Name == relations.ParentOf(r.inst) {
		return nil
	}
	source, err := r.owner(ctx, reference.Name)
	if err == nil && (source.uid == "" || source.uid != reference.UID) {
		return fmt.Errorf("%s %s was exported by installation %s, which does not exist any more; install it again or change the reference", kind, key, reference.Name)
	}
	return err
}

// dataObject returns a DataObject by what an import calls it.
func (r *importReader) dataObject(ctx context.Context, name string) (*v1alpha1.DataObject, error) {
	object := r.dataObjects[name]
	if object != nil {
		return object, nil
	}
	object = &v1alpha1.DataObject{}
	err := r.object(ctx, "DataObject", "dataRef", name, object)
	if err == nil {
		r.dataObjects[name] = object
	}
	return object, err
}

// target returns a Target by what an import calls it.
func (r *importReader) target(ctx context.Context, name string) (*v1alpha1.Target, error) {
	if known := r.targets[name]; known != nil {
		return known, nil
	}
	object := &v1alpha1.Target{}
	if err := r.object(ctx, "Target", "target", name, object); err != nil {
		return nil, err
	}
	if relations.IsFormerExport(object) {
		return nil, fmt.Errorf("the Target %s is not exported any more and only kept to uninstall what was deployed there; "+
			"export it again or change target", client.ObjectKeyFromObject(object))
	}
	r.targets[name] = object
	return object, nil
}

// targetsOfParent returns the Targets that the parent imports in a scope, by name of its import.
func (r *importReader) targetsOfParent(ctx context.Context, scope string) (map[string][]*v1alpha1.Target, error) {
	if r.ofParent != nil {
		return r.ofParent, nil
	}
	list := &v1alpha1.TargetList{}
	err := r.cache.List(ctx, list, client.InNamespace(r.inst.Namespace), client.MatchingFields{relations.ScopeIndex: scope}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	r.ofParent = map[string][]*v1alpha1.Target{}
	for i := range list.Items {
		target := &list.Items[i]
		if target.Labels[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport && !relations.Retired(target) {
			name := target.Labels[v1alpha1.DataObjectKeyLabel]
			r.ofParent[name] = append(r.ofParent[name], target)
		}
	}
	return r.ofParent, nil
}

// owner returns an Installation by its name.
func (r *importReader) owner(ctx context.Context, name string) (owner, error) {
	if known, ok := r.owners[name]; ok {
		return known, nil
	}
	inst := &v1alpha1.Installation{}
	err := r.cache.Get(ctx, client.ObjectKey{Namespace: r.inst.Namespace, Name: name}, inst, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return owner{}, err
	}
	if err == nil {
		r.owners[name] = owner{inst.UID, relations.ParentOf(inst)}
	}
	return r.owners[name], nil
}

// deploys reports whether a deploy item of the Installation, or of one below it, deploys an object that it imports, as the labels of the object
// say. What such an import holds is an outcome of the Installation's own jobs, as an own export is. Owners of others' making may form a circle, or a
// line without end.
func (r *importReader) deploys(ctx context.Context, name string) (own bool, err error) {
	if own, known := r.deployed[name]; name == "" || known {
		return own, nil
	}
	item := &v1alpha1.DeployItem{}
	err = r.cache.Get(ctx, client.ObjectKey{Namespace: r.inst.Namespace, Name: name}, item, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	above := ""
	if execution := protocol.ControllerOf(item, "Execution"); execution != nil {
		above = execution.Name // an Execution has the name of its Installation
	}
	for i := 0; i < relations.MaxDepth && above != "" && !own; i++ {
		current, err := r.owner(ctx, above)
		if err != nil {
			return false, err
		}
		own, above = above == r.inst.Name, current.parent
	}
	r.deployed[name] = own
	return own, nil
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

// isUnread reports whether an import could not be read, so that nobody knows what it holds.
func isUnread(err error) bool { return protocol.IsTransient(err) || errors.As(err, new(unreadImport)) }

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

// missingImport returns an error about the first import of an Installation whose object does not exist, as the caches say; nil when all do. Secrets and
// ConfigMaps are looked for in a cache of metadata.
func (r *Reader) missingImport(ctx context.Context, inst *v1alpha1.Installation) error {
	read, metadata := r.newImportReader(inst), r.Metadata
	if metadata == nil {
		metadata = r.Reader
	}
	isMissing := func(err error) bool { return errors.As(err, new(*absent)) || isUnread(err) }
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

// isOnServer reports whether the API server has the object that an import misses, so that the cache, which may be late, will show it.
func (r *Reader) isOnServer(ctx context.Context, problem error) (bool, error) {
	var lacking *absent
	if !errors.As(problem, &lacking) {
		return false, nil
	}
	var object client.Object
	switch lacking.kind {
	case "DataObject":
		object = &v1alpha1.DataObject{}
	case "Target":
		object = &v1alpha1.Target{}
	case "Secret":
		object = &corev1.Secret{}
	default:
		object = &corev1.ConfigMap{}
	}
	err := r.Live.Get(ctx, lacking.key, object)
	return err == nil, client.IgnoreNotFound(err)
}

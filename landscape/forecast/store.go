// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// store is a landscaper cluster in memory, as far as controllers use one: objects with versions, generations, finalizers, owners and indexes. Nothing that is
// written to it leaves the process.
type store struct {
	client.Client // knows the kinds, and refuses requests that are not foreseen
	// below is read for kinds that are not listed; nil where there is no cluster.
	below client.Reader

	mu      sync.Mutex
	kinds   map[schema.GroupKind]*shelf
	version uint64
	// marked says that what writes replace is kept, and rewound that it is read.
	marked, rewound bool
}

// shelf holds the objects of one kind.
type shelf struct {
	objects cache.Indexer
	// listed says that all objects are here; others are read below, once. unread says of those why they are not here.
	listed bool
	unread map[client.ObjectKey]error
	// reads counts by namespace what was read below, and whole is all of a namespace of which very much was.
	reads map[string]int
	whole map[string]map[client.ObjectKey]client.Object
	// past has what was replaced since the mark; nil for what was not there.
	past map[client.ObjectKey]client.Object
}

// unforeseen refuses requests that no controller here makes.
type unforeseen struct{}

func (unforeseen) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("the request %s %s is not foreseen", request.Method, request.URL.Path)
}

func newStore(scheme *runtime.Scheme, mapper apimeta.RESTMapper, below client.Reader) (*store, error) {
	refusing, err := client.New(&rest.Config{}, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: &http.Client{Transport: unforeseen{}}})
	return &store{Client: refusing, below: below, kinds: map[schema.GroupKind]*shelf{}}, err
}

// kindOf returns where an object, or the objects of a list, belong.
func (s *store) kindOf(object runtime.Object) (*shelf, schema.GroupVersionKind, error) {
	gvk, err := s.GroupVersionKindFor(object)
	if err != nil {
		return nil, gvk, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	kind := s.kinds[gvk.GroupKind()]
	if kind == nil {
		kind = &shelf{
			objects: cache.NewIndexer(func(object any) (string, error) { return keyOf(object.(client.Object)), nil }, cache.Indexers{}), listed: s.below == nil,
			unread: map[client.ObjectKey]error{}, past: map[client.ObjectKey]client.Object{},
			reads: map[string]int{}, whole: map[string]map[client.ObjectKey]client.Object{},
		}
		s.kinds[gvk.GroupKind()] = kind
	}
	return kind, gvk, nil
}

func keyOf(object client.Object) string { return client.ObjectKeyFromObject(object).String() }

// IndexField registers an index.
func (s *store) IndexField(_ context.Context, object client.Object, field string, index client.IndexerFunc) error {
	kind, _, err := s.kindOf(object)
	if err != nil {
		return err
	}
	return kind.objects.AddIndexers(cache.Indexers{field: func(object any) (entries []string, _ error) {
		for _, value := range index(object.(client.Object)) {
			entries = append(entries, "/"+value, object.(client.Object).GetNamespace()+"/"+value)
		}
		return entries, nil
	}})
}

// load takes all objects of a kind as they are.
func (s *store) load(object client.Object, all []client.Object) error {
	kind, _, err := s.kindOf(object)
	if err != nil {
		return err
	}
	kind.listed = true
	for _, one := range all {
		if version, err := strconv.ParseUint(one.GetResourceVersion(), 10, 64); err == nil {
			s.version = max(s.version, version)
		}
		if err := kind.objects.Update(one); err != nil {
			return err
		}
	}
	return nil
}

// all returns copies of the objects of a kind that are here, by name.
func (s *store) all(like client.Object) ([]client.Object, error) {
	kind, _, err := s.kindOf(like)
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, object := range sorted(kind.objects.List()) {
		objects = append(objects, object.DeepCopyObject().(client.Object))
	}
	return objects, nil
}

// sorted returns objects by name.
func sorted(all []any) []client.Object {
	objects := make([]client.Object, 0, len(all))
	for _, object := range all {
		objects = append(objects, object.(client.Object))
	}
	slices.SortFunc(objects, func(a, b client.Object) int {
		return byName(client.ObjectKeyFromObject(a), client.ObjectKeyFromObject(b))
	})
	return objects
}

// replaced returns objects of a kind as they were at the mark.
func (s *store) replaced(like client.Object) ([]client.Object, error) {
	kind, _, err := s.kindOf(like)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Collect(maps.Values(kind.past)), func(object client.Object) bool { return object == nil }), nil
}

// mark keeps what is replaced from now on.
func (s *store) mark() { s.marked = true }

// remember keeps an object as it was at the mark.
func (s *store) remember(kind *shelf, key client.ObjectKey) {
	if _, isKnown := kind.past[key]; s.marked && !isKnown {
		kind.past[key] = kind.get(key)
	}
}

// asMarked reads objects as they were at the mark, while a function runs.
func (s *store) asMarked(read func()) {
	s.rewound = true
	defer func() { s.rewound = false }()
	read()
}

// get returns an object that nobody may change; nil where it is not here.
func (k *shelf) get(key client.ObjectKey) client.Object {
	object, _, _ := k.objects.GetByKey(key.String())
	found, _ := object.(client.Object)
	return found
}

// find returns an object that nobody may change, reading it below where it may be there.
func (s *store) find(ctx context.Context, kind *shelf, gvk schema.GroupVersionKind, key client.ObjectKey) (client.Object, error) {
	object := kind.get(key)
	former, isReplaced := kind.past[key]
	if s.rewound && isReplaced {
		object = former
	}
	if object != nil {
		return object, nil
	}
	if err, known := kind.unread[key]; kind.listed || known || s.rewound && isReplaced {
		return nil, cmp.Or(err, error(apierrors.NewNotFound(resourceOf(gvk), key.Name)))
	}
	object, err := s.readBelow(ctx, kind, gvk, key)
	if err != nil {
		kind.unread[key] = err
		return nil, err
	}
	return object, kind.objects.Update(object)
}

// manyReads is how many objects of a namespace are read one by one before all of a kind are listed.
const manyReads = 20

// readBelow reads an object of the cluster.
func (s *store) readBelow(ctx context.Context, kind *shelf, gvk schema.GroupVersionKind, key client.ObjectKey) (client.Object, error) {
	if kind.reads[key.Namespace]++; kind.reads[key.Namespace] == manyReads {
		kind.whole[key.Namespace] = s.readAll(ctx, gvk, key.Namespace)
	}
	if all := kind.whole[key.Namespace]; all != nil {
		if all[key] == nil {
			return nil, apierrors.NewNotFound(resourceOf(gvk), key.Name)
		}
		return all[key], nil
	}
	fresh, err := s.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	object := fresh.(client.Object)
	return object, s.below.Get(ctx, key, object)
}

// readAll lists the objects of a namespace, but for the records of Helm: they are large, and no controller reads them. Nil says that they cannot be listed.
func (s *store) readAll(ctx context.Context, gvk schema.GroupVersionKind, namespace string) map[client.ObjectKey]client.Object {
	fresh, err := s.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil
	}
	list, options := fresh.(client.ObjectList), []client.ListOption{client.InNamespace(namespace)}
	if gvk == corev1.SchemeGroupVersion.WithKind("Secret") {
		options = append(options, client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("type", "helm.sh/release.v1")})
	}
	if err := s.below.List(ctx, list, options...); err != nil {
		return nil
	}
	all := map[client.ObjectKey]client.Object{}
	_ = apimeta.EachListItem(list, func(item runtime.Object) error {
		all[client.ObjectKeyFromObject(item.(client.Object))] = item.(client.Object)
		return nil
	})
	return all
}

// Get reads an object, or its metadata.
func (s *store) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, gvk, err := s.kindOf(into)
	if err != nil {
		return err
	}
	object, err := s.find(ctx, kind, gvk, key)
	if err != nil {
		return err
	}
	return fill(into, object)
}

// fill copies an object into another one of its type, or its metadata.
func fill(into, object client.Object) error {
	if outline, ok := into.(*metav1.PartialObjectMetadata); ok {
		outline.ObjectMeta = outlineOf(object).ObjectMeta
		return nil
	}
	to, from := reflect.ValueOf(into), reflect.ValueOf(object.DeepCopyObject())
	if to.Type() != from.Type() {
		return fmt.Errorf("a %s is no %s", from.Type(), to.Type())
	}
	to.Elem().Set(from.Elem())
	return nil
}

func outlineOf(object client.Object) *metav1.PartialObjectMetadata {
	return apimeta.AsPartialObjectMetadata(object).DeepCopy()
}

// List reads the objects that options select, by name.
func (s *store) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, _, err := s.kindOf(list)
	if err != nil {
		return err
	}
	if !kind.listed {
		return s.below.List(ctx, list, options...)
	}
	wanted := (&client.ListOptions{}).ApplyOptions(options)
	objects := kind.objects.List()
	if wanted.FieldSelector != nil {
		of := wanted.FieldSelector.Requirements()[0]
		if objects, err = kind.objects.ByIndex(of.Field, wanted.Namespace+"/"+of.Value); err != nil {
			return err
		}
	}
	var found []runtime.Object
	for _, object := range sorted(objects) {
		if wanted.Namespace != "" && object.GetNamespace() != wanted.Namespace || wanted.LabelSelector != nil && !wanted.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if _, outlines := list.(*metav1.PartialObjectMetadataList); outlines {
			found = append(found, outlineOf(object))
			continue
		}
		found = append(found, object.DeepCopyObject())
	}
	return apimeta.SetList(list, found)
}

func byName(a, b client.ObjectKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Create stores a new object.
func (s *store) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, gvk, err := s.kindOf(object)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(object)
	if _, err := s.find(ctx, kind, gvk, key); err == nil {
		return apierrors.NewAlreadyExists(resourceOf(gvk), key.Name)
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	object.SetUID(uuid.NewUUID())
	object.SetCreationTimestamp(metav1.NewTime(time.Now().UTC().Truncate(time.Second)))
	object.SetGeneration(1)
	return s.keep(kind, object)
}

// keep stores a copy of an object under a new version, or lets one go that nothing holds.
func (s *store) keep(kind *shelf, object client.Object) error {
	s.remember(kind, client.ObjectKeyFromObject(object))
	s.version++
	object.SetResourceVersion(strconv.FormatUint(s.version, 10))
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return s.drop(kind, object)
	}
	return kind.objects.Update(object.DeepCopyObject())
}

// drop removes an object, and what it owns as the garbage collector does.
func (s *store) drop(kind *shelf, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	s.remember(kind, key)
	if err := kind.objects.Delete(object); err != nil {
		return err
	}
	kind.unread[key] = apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	for _, others := range s.kinds {
		for _, owned := range sorted(others.objects.List()) {
			isOwned := func(owner metav1.OwnerReference) bool { return owner.UID == object.GetUID() }
			if slices.ContainsFunc(owned.GetOwnerReferences(), isOwned) {
				if err := s.discard(others, owned.DeepCopyObject().(client.Object)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// discard deletes an object, at once unless finalizers hold it.
func (s *store) discard(kind *shelf, object client.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	object.SetDeletionTimestamp(&now)
	object.SetGeneration(object.GetGeneration() + 1)
	return s.keep(kind, object)
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupResource {
	return schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind) + "s"}
}

// write replaces an object by what change makes of the stored one, unless the version that it is based on is old.
func (s *store) write(ctx context.Context, object client.Object, change func(stored client.Object) (client.Object, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, gvk, err := s.kindOf(object)
	if err != nil {
		return err
	}
	stored, err := s.find(ctx, kind, gvk, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	if version := object.GetResourceVersion(); version != "" && version != stored.GetResourceVersion() {
		return apierrors.NewConflict(resourceOf(gvk), object.GetName(), errors.New("the object has been modified"))
	}
	next, err := change(stored.DeepCopyObject().(client.Object))
	if err != nil {
		return err
	}
	before, err := contentOf(stored)
	if err != nil {
		return err
	}
	after, err := contentOf(next)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before.all, after.all) {
		if !reflect.DeepEqual(before.specified, after.specified) {
			next.SetGeneration(stored.GetGeneration() + 1)
		}
		if err := s.keep(kind, next); err != nil {
			return err
		}
	}
	return fill(object, next)
}

// content is what an object says: all of it, and what its generation counts.
type content struct{ all, specified map[string]any }

func contentOf(object client.Object) (content, error) {
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return content{}, err
	}
	specified := maps.Clone(all)
	for _, name := range []string{"metadata", "status", "apiVersion", "kind"} {
		delete(specified, name)
	}
	if metadata, ok := all["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
	}
	delete(all, "apiVersion")
	delete(all, "kind")
	return content{all, specified}, nil
}

// statusOf returns the status of an object that has one.
func statusOf(object client.Object) (reflect.Value, bool) {
	status := reflect.ValueOf(object).Elem().FieldByName("Status")
	return status, status.IsValid()
}

// Update replaces an object, but for its status.
func (s *store) Update(ctx context.Context, object client.Object, _ ...client.UpdateOption) error {
	return s.write(ctx, object, func(stored client.Object) (client.Object, error) {
		next := object.DeepCopyObject().(client.Object)
		keepServed(next, stored)
		return next, nil
	})
}

// keepServed gives an object what only the API server, or a write of the status, changes.
func keepServed(next, stored client.Object) {
	next.SetUID(stored.GetUID())
	next.SetCreationTimestamp(stored.GetCreationTimestamp())
	next.SetGeneration(stored.GetGeneration())
	next.SetDeletionTimestamp(stored.GetDeletionTimestamp())
	next.SetManagedFields(stored.GetManagedFields())
	if status, has := statusOf(next); has {
		before, _ := statusOf(stored)
		status.Set(before)
	}
}

// Patch applies a merge patch.
func (s *store) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if patch.Type() != types.MergePatchType {
		return fmt.Errorf("a patch of type %s is not foreseen", patch.Type())
	}
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	return s.write(ctx, object, func(stored client.Object) (client.Object, error) {
		before, err := json.Marshal(stored)
		if err != nil {
			return nil, err
		}
		after, err := jsonpatch.MergePatch(before, body)
		if err != nil {
			return nil, err
		}
		next := reflect.New(reflect.TypeOf(stored).Elem()).Interface().(client.Object)
		if err := json.Unmarshal(after, next); err != nil {
			return nil, err
		}
		keepServed(next, stored)
		return next, nil
	})
}

// Delete deletes an object.
func (s *store) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, gvk, err := s.kindOf(object)
	if err != nil {
		return err
	}
	stored, err := s.find(ctx, kind, gvk, client.ObjectKeyFromObject(object))
	if err != nil {
		return err
	}
	if only := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions; only != nil &&
		(only.UID != nil && *only.UID != stored.GetUID() || only.ResourceVersion != nil && *only.ResourceVersion != stored.GetResourceVersion()) {
		return apierrors.NewConflict(resourceOf(gvk), object.GetName(), errors.New("the object has been modified"))
	}
	return s.discard(kind, stored.DeepCopyObject().(client.Object))
}

// Status writes the status of objects.
func (s *store) Status() client.SubResourceWriter { return statusOfStore{s.Client.Status(), s} }

type statusOfStore struct {
	client.SubResourceWriter
	store *store
}

// Update writes the status of an object and nothing else of it.
func (s statusOfStore) Update(ctx context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.store.write(ctx, object, func(stored client.Object) (client.Object, error) {
		if status, has := statusOf(stored); has {
			wanted, _ := statusOf(object.DeepCopyObject().(client.Object))
			status.Set(wanted)
		}
		return stored, nil
	})
}

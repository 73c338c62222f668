// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	// forceOperation is what lastError.operation names.
	forceOperation = "ForceDelete"
	reasonForced   = "ForceDeleted"
	// recordSize is how many bytes of text a record holds; a ConfigMap takes 1 MiB.
	recordSize = 800 << 10
	// summaryLength is the length in bytes of what an event lists; events take 1024.
	summaryLength = 800
)

// forceRequested reports whether an Installation in deletion is to be taken apart, whatever its state.
func forceRequested(inst *v1alpha1.Installation) bool {
	return !inst.DeletionTimestamp.IsZero() && inst.Annotations[v1alpha1.ForceDeleteAnnotation] == "true"
}

// remains are what there is of an Installation and everything below it, as the API server says now.
type remains struct {
	inst *v1alpha1.Installation
	// installations below the forced one, parents before children. Of all objects only outlines are kept: a tree may be as large as it likes.
	installations, executions, items []*metav1.PartialObjectMetadata
	// record says by name of the DeployItem what stays behind, in size bytes; titles and details name the items, in the same order.
	record          map[string]string
	size            int
	titles, details []string
}

// dismantle takes an Installation apart without uninstalling, whatever its state, once it is written down what stays behind. It stops when the
// Installation as the API server has it now is another, is not to be deleted by force, or has been released already. First nobody is left who would make
// something again or uninstall it, then the items go, then Executions and sub-installations, children first. Only our own finalizer is removed, and only
// from objects of this tree.
func (r *Reconciler) dismantle(ctx context.Context, s *scope) error {
	live := &v1alpha1.Installation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.inst), live); apierrors.IsNotFound(err) {
		return protocol.ErrStop
	} else if err != nil {
		return err
	}
	if live.UID != s.inst.UID || !forceRequested(live) || !slices.Contains(live.Finalizers, v1alpha1.Finalizer) {
		return protocol.ErrStop
	}
	found, err := r.survey(ctx, live)
	if err != nil {
		return err
	}
	if err := r.recordLeftovers(ctx, found); err != nil {
		return err
	}
	return r.takeApart(ctx, found)
}

// survey finds what an Installation and those below it own, each once: owners may lead round in a circle.
func (r *Reconciler) survey(ctx context.Context, top *v1alpha1.Installation) (*remains, error) {
	found := &remains{inst: top, record: map[string]string{}}
	children, err := r.ownedIn(ctx, top.Namespace, "Installation")
	if err != nil {
		return nil, err
	}
	items, err := r.ownedIn(ctx, top.Namespace, "DeployItem")
	if err != nil {
		return nil, err
	}
	paths := map[types.UID]string{top.UID: top.Name}
	for queue := []*metav1.PartialObjectMetadata{outlineOf(top, "Installation")}; len(queue) > 0; queue = queue[1:] {
		inst := queue[0]
		if err := r.surveyExecution(ctx, inst, items, paths[inst.UID], found); err != nil {
			return nil, err
		}
		for _, name := range children[inst.UID] {
			child := &v1alpha1.Installation{}
			if there, err := r.readOwned(ctx, inst, name, child); err != nil {
				return nil, err
			} else if _, known := paths[child.UID]; known || !there {
				continue
			}
			paths[child.UID] = pathBelow(paths[inst.UID], child)
			outline := outlineOf(child, "Installation")
			found.installations, queue = append(found.installations, outline), append(queue, outline)
		}
	}
	return found, nil
}

// pathBelow is the way to a sub-installation: that of its owner, and the name of its template where it says one. Whoever may write the object may write
// anything there. Of a long way it is the end.
func pathBelow(path string, child *v1alpha1.Installation) string {
	const longestName, longestPath = 63, 4 << 10
	name := child.Annotations[v1alpha1.SubinstallationNameAnnotation]
	if name == "" || len(name) > longestName {
		name = child.Name
	}
	if path += "/" + name; len(path) > longestPath {
		path = "…" + path[strings.IndexByte(path[len(path)-longestPath:], '/')+len(path)-longestPath:]
	}
	return path
}

// ownedIn reads live the names of the objects of a kind in a namespace, by the UID of what controls them. Their labels do not count: whoever may write an
// object may remove them, and nobody would find it afterwards.
func (r *Reconciler) ownedIn(ctx context.Context, namespace, kind string) (map[types.UID][]string, error) {
	owned, list := map[types.UID][]string{}, &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	if err := r.Live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil {
			owned[owner.UID] = append(owned[owner.UID], list.Items[i].Name)
		}
	}
	return owned, nil
}

// readOwned reads an object live and reports whether it is there and controlled by another.
func (r *Reconciler) readOwned(ctx context.Context, owner client.Object, name string, into client.Object) (bool, error) {
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, into)
	return err == nil && metav1.IsControlledBy(into, owner), client.IgnoreNotFound(err)
}

// surveyExecution adds the Execution of an Installation and its items, of which items has the names.
func (r *Reconciler) surveyExecution(ctx context.Context, inst client.Object, items map[types.UID][]string, path string, found *remains) error {
	execution := &v1alpha1.Execution{}
	if there, err := r.readOwned(ctx, inst, inst.GetName(), execution); err != nil || !there {
		return err
	}
	found.executions = append(found.executions, outlineOf(execution, "Execution"))
	for _, name := range items[execution.UID] {
		item := &v1alpha1.DeployItem{}
		if there, err := r.readOwned(ctx, execution, name, item); err != nil {
			return err
		} else if there {
			found.items = append(found.items, outlineOf(item, "DeployItem"))
			if err := found.note(item.Name, describeLeftover(path, item)); err != nil {
				return err
			}
		}
	}
	return nil
}

// outlineOf returns what takeApart has to know of an object, and shares nothing large with it. A write returns no more than metadata into it.
func outlineOf(object client.Object, kind string) *metav1.PartialObjectMetadata {
	outline := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		DeletionTimestamp: object.GetDeletionTimestamp(), Finalizers: object.GetFinalizers(), OwnerReferences: object.GetOwnerReferences(),
	}}
	if value := object.GetAnnotations()[v1alpha1.DeleteWithoutUninstallAnnotation]; value == "true" {
		outline.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: value}
	}
	outline.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return outline
}

func (r *Reconciler) takeApart(ctx context.Context, found *remains) error {
	yes := "true"
	keep := map[string]*string{v1alpha1.DeleteWithoutUninstallAnnotation: &yes}
	for _, held := range slices.Concat(found.installations, found.executions) { // its finalizer still holds it
		if err := r.forced(ctx, held, protocol.MetadataChange{Annotations: keep}, true); err != nil {
			return err
		}
	}
	for _, item := range found.items { // the finalizer goes first: no deployer ever sees the item in deletion and uninstalls it
		if err := r.forced(ctx, item.DeepCopy(), protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer, Annotations: keep}, true); err != nil {
			return err
		}
	}
	slices.Reverse(found.installations)
	for _, last := range slices.Concat(found.executions, found.installations) {
		if err := r.forced(ctx, last, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}, false); err != nil {
			return err
		}
	}
	return nil
}

// forced changes the metadata of an object of the tree and then deletes it, or notes that it is let go.
func (r *Reconciler) forced(ctx context.Context, object *metav1.PartialObjectMetadata, change protocol.MetadataChange, deletes bool) error {
	written := map[string]*protocol.Consistency{"Installation": &r.installations, "Execution": &r.executions}[object.Kind]
	err := protocol.PatchMetadata(ctx, r.Client, object, change)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !deletes {
		written.Released(object)
	} else if err == nil {
		err = protocol.DeleteLive(ctx, r.Live, r.Client, object, written)
	}
	return client.IgnoreNotFound(err)
}

// leftover is a DeployItem whose deployment stays behind, as it is written down for people.
type leftover struct {
	// Installation is the way from the deleted Installation to the one of the item.
	Installation string `json:"installation"`
	Item         string `json:"item"`
	Type         string `json:"type"`
	Target       string `json:"target,omitempty"`
	Phase        string `json:"phase,omitempty"`
	// Release is the Helm release, as namespace/name.
	Release string `json:"release,omitempty"`
	// Resources are what the deployer recorded on the target.
	Resources []recordedResource `json:"resources,omitempty"`
	// Omitted says that there are more resources than the record can hold.
	Omitted string `json:"omitted,omitempty"`
}

// recordedResource names an object on a target.
type recordedResource struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// recordedStatus is what the deployers' provider statuses have in common. Resources are references, or wrap one.
type recordedStatus struct {
	ManagedResources []struct {
		recordedResource `json:",inline"`
		Resource         *recordedResource `json:"resource"`
	} `json:"managedResources"`
	Release *struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"release"`
}

// describeLeftover says what is known of an item. A provider status of an unknown form tells nothing.
func describeLeftover(path string, item *v1alpha1.DeployItem) leftover {
	left := leftover{
		Installation: path, Item: cmp.Or(item.Labels[v1alpha1.ExecutionManagedNameLabel], item.Name), Type: item.Spec.Type, Phase: string(item.Status.Phase),
	}
	if item.Spec.Target != nil {
		left.Target = item.Spec.Target.Name
	}
	status := recordedStatus{}
	if item.Status.ProviderStatus == nil || json.Unmarshal(item.Status.ProviderStatus.Raw, &status) != nil {
		return left
	}
	if status.Release != nil {
		left.Release = status.Release.Namespace + "/" + status.Release.Name
	}
	for _, managed := range status.ManagedResources {
		resource := managed.recordedResource
		if managed.Resource != nil {
			resource = *managed.Resource
		}
		left.Resources = append(left.Resources, resource)
	}
	return left
}

// note adds an item to the record. Resources that do not fit are left out, and the entry says so.
func (f *remains) note(name string, left leftover) error {
	f.titles, f.details = append(f.titles, left.title(false)), append(f.details, left.title(true))
	raw, err := yaml.Marshal(left)
	if err == nil && f.size+len(raw) > recordSize && len(left.Resources) > 0 {
		left.Omitted, left.Resources = fmt.Sprintf("%d resources did not fit", len(left.Resources)), nil
		raw, err = yaml.Marshal(left)
	}
	if err != nil {
		return fmt.Errorf("encode what is left of DeployItem %s: %w", name, err)
	}
	f.size += len(raw)
	f.record[name] = string(raw)
	return nil
}

// title names an item, with a few of its resources where that is asked for.
func (l leftover) title(withResources bool) string {
	const few = 5
	title := fmt.Sprintf("%s/%s (%s", l.Installation, l.Item, l.Type)
	if l.Target != "" {
		title += " on " + l.Target
	}
	title += ")"
	var names []string
	if l.Release != "" {
		names = append(names, "release "+l.Release)
	}
	for _, resource := range l.Resources {
		if names = append(names, strings.TrimSpace(resource.Kind+" "+strings.TrimPrefix(resource.Namespace+"/"+resource.Name, "/"))); len(names) == few {
			break
		}
	}
	if !withResources || len(names) == 0 {
		return title
	}
	if more := len(l.Resources) - few; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return title + " with " + strings.Join(names, ", ")
}

// leftoversName is the name of the record: that of the Installation, with the beginning of its UID, because others of its name may follow.
func leftoversName(inst *v1alpha1.Installation) string {
	uid, _, _ := strings.Cut(string(inst.UID), "-")
	return inst.Name + "-left-behind-" + uid
}

// recordLeftovers writes down what the deletion is going to leave behind, in a ConfigMap that outlives the Installation and in one event. Where the
// namespace of the Installation is being deleted nothing can be created there: an event about the namespace lies in the namespace default.
func (r *Reconciler) recordLeftovers(ctx context.Context, found *remains) error {
	if len(found.record) == 0 {
		return nil
	}
	inst := found.inst
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: leftoversName(inst), Namespace: inst.Namespace, Labels: map[string]string{v1alpha1.LeftBehindLabel: inst.Name},
		Annotations: map[string]string{v1alpha1.LeftBehindLabel: string(inst.UID)},
	}, Data: found.record}
	err, text := r.Create(ctx, record), found.summary(record.Name)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.addLeftovers(ctx, inst, record)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		text = found.summary("")
		r.Recorder.Event(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inst.Namespace}}, corev1.EventTypeWarning, reasonForced, text)
	case err != nil:
		return err
	}
	r.Recorder.AnnotatedEventf(inst, jobs.EventMetadata(inst), corev1.EventTypeWarning, reasonForced, "%s", text)
	return nil
}

// addLeftovers adds to a record that a former attempt has begun: what that attempt has removed is to be found nowhere else.
func (r *Reconciler) addLeftovers(ctx context.Context, inst *v1alpha1.Installation, record *corev1.ConfigMap) error {
	present := &corev1.ConfigMap{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(record), present); err != nil {
		return err
	}
	if present.Annotations[v1alpha1.LeftBehindLabel] != string(inst.UID) {
		return protocol.Again(forceOperation, "RecordTaken", "ConfigMap %s, which is to hold what is left behind, belongs to somebody else; delete or rename it",
			client.ObjectKeyFromObject(record))
	}
	added := maps.Clone(record.Data)
	maps.Copy(added, present.Data)
	if len(added) == len(present.Data) {
		return nil
	}
	present.Data = added
	return r.Update(ctx, present)
}

// summary says for the event what stays and where the list is; without a record, what is known of the resources.
func (f *remains) summary(record string) string {
	if record == "" {
		return fmt.Sprintf("deleted by force without uninstalling %d deploy items, and the namespace takes no record of them any more: %s",
			len(f.record), foreign.Beginning(strings.Join(slices.Sorted(slices.Values(f.details)), ", "), summaryLength))
	}
	return fmt.Sprintf("deleted by force without uninstalling %d deploy items, see ConfigMap %s: %s", len(f.record), record,
		foreign.Beginning(strings.Join(slices.Sorted(slices.Values(f.titles)), ", "), summaryLength))
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// compare lists what the jobs have changed.
func (s *simulation) compare(ctx context.Context) (*Forecast, error) {
	f := &Forecast{Objects: s.applied, Notes: s.notes, Withheld: s.hidden}
	old, now := byKey(s.before.Objects("Installation")), byKey(s.after.Objects("Installation"))
	items := map[client.ObjectKey][]ItemChange{}
	unknown := map[client.ObjectKey][]string{}
	if err := s.items(ctx, items, unknown); err != nil {
		return nil, err
	}
	exports := s.exportChanges()
	for _, key := range keysOf(old, now) {
		was, _ := old[key].(*v1alpha1.Installation)
		is, _ := now[key].(*v1alpha1.Installation)
		change := InstallationChange{Namespace: key.Namespace, Name: s.pathOf(cmp.Or(is, was)), Why: s.started[key], Items: items[key], Exports: exports[key], Unknown: unknown[key]}
		switch {
		case was == nil:
			change.What = Added
		case is == nil, was.DeletionTimestamp.IsZero() && !is.DeletionTimestamp.IsZero():
			change.What = Deleted
		case !equality.Semantic.DeepEqual(was.Spec, is.Spec):
			change.What, change.Fields = Changed, fieldsOf("", plain(was.Spec), plain(is.Spec))
		}
		if change.What+change.Why == "" && len(change.Items)+len(change.Exports)+len(change.Unknown) == 0 {
			if err := s.unread[key]; err != nil {
				f.Notes = append(f.Notes, fmt.Sprintf("Installation %s/%s is not compared: %s", change.Namespace, change.Name, err))
			} else if is != nil && !is.Status.IsIdle() {
				f.Notes = append(f.Notes, fmt.Sprintf("Installation %s/%s is not compared: %s", change.Namespace, change.Name, causeOf(is)))
			}
			continue
		}
		if was != nil && !was.Status.IsIdle() {
			f.Notes = append(f.Notes, fmt.Sprintf("Installation %s/%s runs a job already: what that job changes is counted here", change.Namespace, change.Name))
		}
		s.ends(&change, is)
		f.Installations = append(f.Installations, change)
	}
	slices.SortStableFunc(f.Installations, func(a, b InstallationChange) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	hidden, err := s.hider()
	if err == nil {
		hidden.hide(f)
	}
	return f, err
}

// ends says how the job of an Installation ends.
func (s *simulation) ends(c *InstallationChange, inst *v1alpha1.Installation) {
	switch {
	case len(s.unseen) > 0:
		c.Unknown = append(c.Unknown, "you may not list "+strings.Join(s.unseen, ", ")+", so what its job does is not known")
	case inst == nil:
	case s.unread[client.ObjectKeyFromObject(inst)] != nil:
		c.Unknown = append(c.Unknown, s.unread[client.ObjectKeyFromObject(inst)].Error())
	case !inst.Status.IsIdle() && len(s.unsure) == 0:
		c.Waits = causeOf(inst)
	case !inst.Status.IsIdle():
		c.Unknown = append(c.Unknown, causeOf(inst))
	case c.Why != "" && inst.Status.Phase.IsFailed() && inst.Status.LastError != nil:
		c.Fails = inst.Status.LastError.Message
	case c.Why == "" && c.What != "":
		status := landscape.StatusOf(inst, inst.CreationTimestamp.Time)
		c.Waits = status.Text()
	}
}

// causeOf says why a job has not ended.
func causeOf(inst *v1alpha1.Installation) string {
	text := protocol.CauseOf(inst).Message
	if text == "" && inst.Status.LastError != nil {
		text = inst.Status.LastError.Message
	}
	return cmp.Or(text, "its job waits")
}

func byKey(objects []client.Object) map[client.ObjectKey]client.Object {
	found := map[client.ObjectKey]client.Object{}
	for _, object := range objects {
		found[client.ObjectKeyFromObject(object)] = object
	}
	return found
}

func keysOf[V any](a, b map[client.ObjectKey]V) []client.ObjectKey {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.SortedFunc(maps.Keys(all), byName)
}

// pathOf names an Installation below its parents.
func (s *simulation) pathOf(inst *v1alpha1.Installation) string {
	name := cmp.Or(inst.Annotations[v1alpha1.SubinstallationNameAnnotation], inst.Name)
	for _, snapshot := range []*landscape.Snapshot{s.after, s.before} {
		if parent, ok := snapshot.Parent(inst).(*v1alpha1.Installation); ok {
			return s.pathOf(parent) + "/" + name
		}
	}
	return name
}

// items compares DeployItems, by the Installation that they belong to.
func (s *simulation) items(ctx context.Context, found map[client.ObjectKey][]ItemChange, unknown map[client.ObjectKey][]string) error {
	old, now := byKey(s.before.Objects("DeployItem")), byKey(s.after.Objects("DeployItem"))
	for _, key := range keysOf(old, now) {
		was, _ := old[key].(*v1alpha1.DeployItem)
		is, _ := now[key].(*v1alpha1.DeployItem)
		one := cmp.Or(is, was)
		owner := client.ObjectKey{Namespace: key.Namespace, Name: one.Labels[v1alpha1.ExecutionManagedByLabel]}
		name := cmp.Or(one.Labels[v1alpha1.ExecutionManagedNameLabel], one.Name)
		if reasons := s.unsure[key]; s.started[owner] != "" && !s.isAsBefore(one) {
			for _, reason := range reasons {
				unknown[owner] = append(unknown[owner], fmt.Sprintf("DeployItem %s: %s", name, reason))
			}
		}
		if change := s.itemChange(ctx, name, was, is); change != nil {
			found[owner] = append(found[owner], *change)
		}
	}
	for _, changes := range found {
		slices.SortStableFunc(changes, func(a, b ItemChange) int { return deletedFirst(a.What, b.What) })
	}
	return ctx.Err()
}

func (s *simulation) itemChange(ctx context.Context, name string, was, is *v1alpha1.DeployItem) *ItemChange {
	change := &ItemChange{Name: name, Type: cmp.Or(is, was).Spec.Type}
	replaced := was != nil && is != nil && was.UID != is.UID
	switch {
	case was == nil:
		change.What = Added
	case is == nil:
		change.What = Deleted
	case replaced || !equality.Semantic.DeepEqual(was.Spec, is.Spec):
		change.What, change.Fields = Changed, fieldsOf("", s.described(was), s.described(is))
	case s.started[client.ObjectKey{Namespace: is.Namespace, Name: is.Labels[v1alpha1.ExecutionManagedByLabel]}] == "" || s.targets == nil && !readsMore(is):
		return nil // the same again
	}
	moves := was != nil && is != nil && (replaced || !equality.Semantic.DeepEqual(was.Spec.Target, is.Spec.Target))
	before, whyBefore := s.objectsBefore(ctx, was)
	after, whyAfter := s.objectsOf(ctx, is)
	for _, why := range []string{whyBefore, whyAfter} {
		if why != "" && !slices.Contains(change.Unknown, why) {
			change.Unknown = append(change.Unknown, why)
		}
	}
	if len(change.Unknown) == 0 {
		change.Objects = objectChanges(before, after, moves, was != nil && s.isKept(was))
		s.ask(ctx, is, after, change)
	}
	if change.What == "" && len(change.Objects)+len(change.Unknown) == 0 {
		return nil
	}
	change.What = cmp.Or(change.What, Changed)
	return change
}

// readsMore reports whether an item may deploy something else although its spec is the same.
func readsMore(item *v1alpha1.DeployItem) bool {
	config := string(rawOf(item))
	return item.Spec.Type == v1alpha1.HelmDeployItemType && (strings.Contains(config, `"sourceRef"`) || strings.Contains(config, `"valuesFrom"`))
}

// isKept reports whether what an item has deployed stays when the item goes.
func (s *simulation) isKept(item *v1alpha1.DeployItem) bool {
	for _, kind := range []string{"Installation", "Execution"} {
		if owner := s.before.Find(kind, item.Namespace, item.Labels[v1alpha1.ExecutionManagedByLabel]); owner != nil &&
			owner.GetAnnotations()[v1alpha1.DeleteWithoutUninstallAnnotation] == "true" {
			return true
		}
	}
	return item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true"
}

// described is the spec of an item without the objects of its configuration.
func (s *simulation) described(item *v1alpha1.DeployItem) any {
	spec, _ := plain(item.Spec).(map[string]any)
	config, _ := spec["config"].(map[string]any)
	delete(config, "manifests")
	return spec
}

func (s *simulation) objectsOf(ctx context.Context, item *v1alpha1.DeployItem) ([]resources.Desired, string) {
	if item == nil {
		return nil, ""
	}
	return s.objects(ctx, item)
}

// objectsBefore returns what an item had deployed, with values and a chart as they were.
func (s *simulation) objectsBefore(ctx context.Context, item *v1alpha1.DeployItem) (deployed []resources.Desired, unknown string) {
	s.store.asMarked(func() { deployed, unknown = s.objectsOf(ctx, item) })
	return deployed, unknown
}

// objectChanges compares what an item deploys. Deletions come first, as with a job.
func objectChanges(before, after []resources.Desired, moves, keeps bool) []ObjectChange {
	old, now := byID(before), byID(after)
	all := maps.Clone(old)
	maps.Copy(all, now)
	var changes []ObjectChange
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b landscape.ID) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		was, is := old[id], now[id]
		goes := was.Object != nil && (is.Object == nil || moves)
		comes := is.Object != nil && is.Policy != managedresource.IgnorePolicy && (was.Object == nil || moves)
		stays := keeps || was.Policy == managedresource.KeepPolicy || was.Policy == managedresource.IgnorePolicy
		if goes && stays && is.Object == nil {
			changes = append(changes, ObjectChange{ID: id, What: Kept})
		} else if goes && !stays {
			changes = append(changes, ObjectChange{ID: id, What: Deleted})
		}
		switch {
		case comes:
			changes = append(changes, ObjectChange{ID: id, What: Added})
		case goes || is.Object == nil || is.Policy == managedresource.IgnorePolicy || is.Policy == managedresource.ImmutablePolicy:
		default:
			if fields := masked(id.Kind, fieldsOf("", was.Object.Object, is.Object.Object)); len(fields) > 0 {
				changes = append(changes, ObjectChange{ID: id, What: Changed, Fields: fields})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b ObjectChange) int { return deletedFirst(a.What, b.What) })
	return changes
}

func byID(objects []resources.Desired) map[landscape.ID]resources.Desired {
	found := map[landscape.ID]resources.Desired{}
	for _, one := range objects {
		kind := one.Object.GroupVersionKind().GroupKind()
		found[landscape.ID{Kind: kind.String(), Namespace: one.Object.GetNamespace(), Name: one.Object.GetName()}] = one
	}
	return found
}

func deletedFirst(a, b string) int {
	rank := func(what string) int {
		if what == Deleted {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

// exportChanges compares what Installations export, by the Installation, with those that import it, to the end of the chain.
func (s *simulation) exportChanges() map[client.ObjectKey][]ExportChange {
	changes := map[client.ObjectKey][]ExportChange{}
	for _, inst := range s.after.Objects("Installation") {
		inst := inst.(*v1alpha1.Installation)
		key := client.ObjectKeyFromObject(inst)
		names := map[string]string{}
		for _, export := range inst.Spec.Exports.Data {
			names["DataObject "+export.DataRef] = landscape.DataNameOf(inst, export.DataRef)
		}
		for _, export := range inst.Spec.Exports.Targets {
			names["Target "+export.Target] = landscape.DataNameOf(inst, export.Target)
		}
		for _, shown := range slices.Sorted(maps.Keys(names)) {
			kind, name, _ := strings.Cut(shown, " ")
			id := landscape.ID{Kind: kind, Namespace: inst.Namespace, Name: name}
			was, is := s.before.Find(kind, inst.Namespace, names[shown]), s.after.Find(kind, inst.Namespace, names[shown])
			change := ExportChange{ID: id}
			switch {
			case was == nil && is == nil:
				continue
			case was == nil:
				change.What = Added
			case is == nil:
				change.What = Deleted
			default:
				if change.Fields = s.valueChanges(was, is); len(change.Fields) == 0 {
					continue
				}
				change.What = Changed
			}
			change.Consumers = s.chain(inst)
			changes[key] = append(changes[key], change)
		}
		if len(names) > 0 && s.isUnsure(inst) {
			changes[key] = append(changes[key], ExportChange{ID: landscape.ID{Kind: "Installation", Namespace: inst.Namespace, Name: inst.Name}, What: Unknown, Consumers: s.chain(inst)})
		}
	}
	return changes
}

// isUnsure reports whether a job of an Installation, or of one below it, exports what nobody knows.
func (s *simulation) isUnsure(inst *v1alpha1.Installation) bool {
	if s.started[client.ObjectKeyFromObject(inst)] == "" {
		return false
	}
	for _, object := range s.after.Below(inst) {
		if item, ok := object.(*v1alpha1.DeployItem); ok && len(s.unsure[client.ObjectKeyFromObject(item)]) > 0 && !s.isAsBefore(item) {
			return true
		}
	}
	return false
}

// valueChanges compares two values that flow between Installations. Those of Secrets are not read.
func (s *simulation) valueChanges(was, is client.Object) []FieldChange {
	switch is := is.(type) {
	case *v1alpha1.DataObject:
		was := was.(*v1alpha1.DataObject)
		if was.SecretReference != nil || is.SecretReference != nil {
			if was.Annotations[v1alpha1.HashAnnotation] == is.Annotations[v1alpha1.HashAnnotation] {
				return nil
			}
			return []FieldChange{{Path: "data", Before: mask, After: mask}}
		}
		return fieldsOf("", plain(map[string]any{"data": was.Data}), plain(map[string]any{"data": is.Data}))
	case *v1alpha1.Target:
		return masked("Target", fieldsOf("", plain(was.(*v1alpha1.Target).Spec), plain(is.Spec)))
	}
	return nil
}

// chain names the Installations that something flows to, the near ones first.
func (s *simulation) chain(inst *v1alpha1.Installation) []string {
	var names []string
	seen := map[*v1alpha1.Installation]bool{inst: true}
	for queue := []*v1alpha1.Installation{inst}; len(queue) > 0; queue = queue[1:] {
		for _, next := range s.after.Consumers(queue[0]) {
			if !seen[next] {
				seen[next] = true
				names, queue = append(names, s.pathOf(next)), append(queue, next)
			}
		}
	}
	return names
}

func plain(value any) (out any) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil
	}
	return out
}

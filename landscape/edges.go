// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/object"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// edges say what belongs to what, and what flows where.
type edges struct {
	children  map[types.UID][]client.Object // by owner: Installations, Executions and DeployItems, in the order of their creation
	parents   map[types.UID]client.Object   // by what is owned
	producers map[value]*v1alpha1.Installation
	consumers map[value][]*v1alpha1.Installation
	values    map[value]client.Object // DataObjects and Targets
}

// value is a DataObject or Target by the name of the object.
type value struct{ kind, namespace, name string }

// connect finds the edges.
func (s *Snapshot) connect() {
	s.edges = edges{
		children: map[types.UID][]client.Object{}, parents: map[types.UID]client.Object{},
		producers: map[value]*v1alpha1.Installation{}, consumers: map[value][]*v1alpha1.Installation{}, values: map[value]client.Object{},
	}
	byUID := map[types.UID]client.Object{}
	var owned []client.Object
	for _, kind := range []string{"Installation", "Execution", "DeployItem"} {
		for _, object := range s.Objects(kind) {
			byUID[object.GetUID()] = object
			owned = append(owned, object)
		}
	}
	slices.SortStableFunc(owned, func(a, b client.Object) int {
		created := a.GetCreationTimestamp()
		return cmp.Or(created.Compare(b.GetCreationTimestamp().Time), cmp.Compare(NameOf(a), NameOf(b)))
	})
	for _, object := range owned {
		owner := metav1.GetControllerOfNoCopy(object)
		if owner == nil {
			continue
		}
		s.children[owner.UID] = append(s.children[owner.UID], object)
		if parent := byUID[owner.UID]; parent != nil {
			s.parents[object.GetUID()] = parent
		}
	}
	for _, kind := range []string{"DataObject", "Target"} {
		for _, object := range s.Objects(kind) {
			s.values[value{kind, object.GetNamespace(), object.GetName()}] = object
		}
	}
	for i := range s.Installations.Items {
		inst := &s.Installations.Items[i]
		for _, export := range inst.Spec.Exports.Data {
			s.producers[valueOf(inst, "DataObject", export.DataRef)] = inst
		}
		for _, export := range inst.Spec.Exports.Targets {
			s.producers[valueOf(inst, "Target", export.Target)] = inst
		}
		for _, imported := range importsOf(inst) {
			s.consumers[imported.value] = append(s.consumers[imported.value], inst)
		}
	}
}

// valueOf returns what a reference in the imports or exports of an Installation means: they are in the scope of its parent.
func valueOf(inst *v1alpha1.Installation, kind, reference string) value {
	scope := ""
	if parent := inst.ParentReference(); parent != nil {
		scope = storage.InstallationScope(parent.Name)
	}
	return value{kind, inst.Namespace, storage.DataName(scope, reference)}
}

// DataNameOf returns the name of the DataObject or Target that a reference in the imports or exports of an Installation means.
func DataNameOf(inst *v1alpha1.Installation, reference string) string {
	return valueOf(inst, "", reference).name
}

// Import is one import of an Installation.
type Import struct {
	// Name of the import.
	Name string
	// ID of what is imported: a DataObject, Target, Secret or ConfigMap, by the name that the Installation gives.
	ID ID
	// From is the Installation that exports it, nil where none does: then a person or Flux makes it, or the parent imports it.
	From *v1alpha1.Installation
	// Missing says that the object does not exist. It is false where that is not known.
	Missing bool
	value   value
}

// Imports returns what an Installation imports, in the order of its spec.
func (s *Snapshot) Imports(inst *v1alpha1.Installation) []Import {
	imports := importsOf(inst)
	for i := range imports {
		imported := &imports[i]
		imported.From = s.producers[imported.value]
		kind := imported.ID.Kind
		imported.Missing = (kind == "DataObject" || kind == "Target") && s.sees(kind, inst.Namespace) && s.values[imported.value] == nil
	}
	return imports
}

func importsOf(inst *v1alpha1.Installation) []Import {
	var imports []Import
	add := func(name, kind, reference string) {
		imports = append(imports, Import{
			Name: name, ID: ID{kind, inst.Namespace, strings.TrimPrefix(reference, "#")}, value: valueOf(inst, kind, reference),
		})
	}
	for _, data := range inst.Spec.Imports.Data {
		switch {
		case data.SecretRef != nil:
			add(data.Name, "Secret", data.SecretRef.Name)
		case data.ConfigMapRef != nil:
			add(data.Name, "ConfigMap", data.ConfigMapRef.Name)
		default:
			add(data.Name, "DataObject", data.DataRef)
		}
	}
	for _, target := range inst.Spec.Imports.Targets {
		names := slices.Clone(target.Targets)
		if target.Target != "" {
			names = append(names, target.Target)
		}
		var mapped []string
		for _, name := range target.TargetMap {
			mapped = append(mapped, name)
		}
		slices.Sort(mapped)
		for _, name := range append(names, mapped...) {
			add(target.Name, "Target", name)
		}
	}
	return imports
}

// Consumers returns the Installations that import what an Installation exports, each once.
func (s *Snapshot) Consumers(inst *v1alpha1.Installation) []*v1alpha1.Installation {
	var found []*v1alpha1.Installation
	add := func(exported value) {
		for _, consumer := range s.consumers[exported] {
			if s.producers[exported] == inst && !slices.Contains(found, consumer) {
				found = append(found, consumer)
			}
		}
	}
	for _, export := range inst.Spec.Exports.Data {
		add(valueOf(inst, "DataObject", export.DataRef))
	}
	for _, export := range inst.Spec.Exports.Targets {
		add(valueOf(inst, "Target", export.Target))
	}
	return found
}

// Children returns the sub-installations and the Execution of an Installation, or the DeployItems of an Execution, in the order of their creation.
func (s *Snapshot) Children(object client.Object) []client.Object { return s.children[object.GetUID()] }

// Parent returns the owner of a sub-installation, Execution or DeployItem, nil where there is none.
func (s *Snapshot) Parent(object client.Object) client.Object { return s.parents[object.GetUID()] }

// Below returns an object and all that belongs to it, each once.
func (s *Snapshot) Below(object client.Object) []client.Object {
	found := []client.Object{object}
	if kindName(object) == kustomizev1.KustomizationKind {
		for i := range s.Installations.Items {
			if inst := &s.Installations.Items[i]; KustomizationOf(inst) == client.ObjectKeyFromObject(object) {
				found = append(found, inst)
			}
		}
	}
	for at := 0; at < len(found); at++ {
		for _, child := range s.Children(found[at]) {
			if !slices.Contains(found, child) {
				found = append(found, child)
			}
		}
	}
	return found
}

// KustomizationOf names the Flux Kustomization that applies an object, empty where none does. It may not exist.
func KustomizationOf(object client.Object) types.NamespacedName {
	labels, group := object.GetLabels(), kustomizev1.GroupVersion.Group
	return types.NamespacedName{Namespace: labels[group+"/namespace"], Name: labels[group+"/name"]}
}

// IsCopy reports whether a DataObject or Target is made by a controller for its own use: a copy of an import, or the exports of an Execution.
func IsCopy(object client.Object) bool {
	labels := object.GetLabels()
	return labels[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport ||
		strings.HasPrefix(labels[v1alpha1.DataObjectContextLabel], storage.ExecutionScope(""))
}

// NameOf returns the name that a person or a blueprint gave an object.
func NameOf(object client.Object) string {
	switch object := object.(type) {
	case *v1alpha1.Target:
		return v1alpha1.OriginalName(object)
	case *v1alpha1.DataObject:
		if object.Labels[v1alpha1.DataObjectSourceTypeLabel] != "" {
			return cmp.Or(object.Labels[v1alpha1.DataObjectKeyLabel], object.Name)
		}
	}
	return object.GetName()
}

// exporterOf names the Installation that exports a DataObject or Target, empty where none does.
func exporterOf(object client.Object) string {
	labels := object.GetLabels()
	if labels[v1alpha1.DataObjectSourceTypeLabel] != v1alpha1.DataObjectSourceExport {
		return ""
	}
	return strings.TrimPrefix(labels[v1alpha1.DataObjectSourceLabel], storage.InstallationScope(""))
}

// Deployed is what a DeployItem has put on its target.
type Deployed struct {
	ID
	// Release says that it is a Helm release, of the revision.
	Release  bool
	Revision int
}

// DeployedBy returns what the deployer of a DeployItem has recorded, a release first. Deployers of others may record nothing.
func DeployedBy(item *v1alpha1.DeployItem) []Deployed {
	status, ok := providerStatus(item)
	if !ok {
		return nil
	}
	var found []Deployed
	add := func(id ID) {
		if !slices.ContainsFunc(found, func(d Deployed) bool { return d.ID == id }) {
			found = append(found, Deployed{ID: id})
		}
	}
	if release := status.Release; release != nil {
		found = append(found, Deployed{ID{"Release", release.Namespace, release.Name}, true, release.Revision})
		if release.Inventory != nil {
			for _, entry := range release.Inventory.Entries {
				if named, err := object.ParseObjMetadata(entry.ID); err == nil {
					add(ID{named.GroupKind.Kind, named.Namespace, named.Name})
				}
			}
		}
	}
	for _, managed := range status.ManagedResources {
		add(ID{managed.Resource.Kind, managed.Resource.Namespace, managed.Resource.Name})
	}
	return found
}

// providerStatus reads what a deployer of this project records. That of the helm deployer has all fields that are shown of any.
func providerStatus(item *v1alpha1.DeployItem) (status helmv1alpha1.ProviderStatus, ok bool) {
	if item.Status.ProviderStatus == nil || json.Unmarshal(item.Status.ProviderStatus.Raw, &status) != nil {
		return helmv1alpha1.ProviderStatus{}, false // it belongs to a deployer that is not known here
	}
	return status, true
}

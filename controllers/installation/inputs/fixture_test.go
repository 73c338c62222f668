// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// clusterType is the type of Targets that are clusters.
const clusterType = "landscaper.gardener.cloud/kubernetes-cluster"

// object is JSON.
type object = map[string]any

// with returns a reconciler of a cluster with objects.
// with returns a reader of some objects.
func with(t *testing.T, objects ...client.Object) *Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	for field, index := range map[string]client.IndexerFunc{relations.ImportIndex: relations.ImportsOf, relations.ExportIndex: relations.ExportsOf, relations.ParentIndex: relations.ParentsOf} {
		builder = builder.WithIndex(&v1alpha1.Installation{}, field, index)
	}
	for _, object := range []client.Object{&v1alpha1.DataObject{}, &v1alpha1.Target{}} {
		builder = builder.WithIndex(object, data.ScopeIndex, data.ScopeOfData)
	}
	c := builder.Build()
	return &Reader{Reader: c, Live: c}
}

// working is an Installation in a job.
func working(name, uid, job string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid)}}
	inst.Status.JobID = job
	return inst
}

// node is an Installation whose UID is its name, owned by another unless owner is empty, and that lists others.
func node(name, owner string, listed ...string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)}}
	if owner != "" {
		inst.Labels = map[string]string{v1alpha1.EncompassedByLabel: owner}
		inst.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: owner, UID: types.UID(owner), Controller: new(true),
		}}
	}
	if len(listed) > 0 {
		inst.Status.SubInstCache = &v1alpha1.SubInstCache{}
	}
	for _, name := range listed {
		pair := v1alpha1.SubNamePair{SpecName: name, ObjectName: name}
		inst.Status.SubInstCache.ActiveSubs = append(inst.Status.SubInstCache.ActiveSubs, pair)
	}
	return inst
}

// blueprint is spec.blueprint with a blueprint in place.
func inlineBlueprint(parts object) v1alpha1.BlueprintDefinition {
	parts["apiVersion"], parts["kind"] = "landscaper.gardener.cloud/v1alpha1", "Blueprint"
	files, _ := json.Marshal(object{"blueprint.yaml": jsonOf(parts)})
	return v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON(files)}}
}

func jsonOf(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// importing is an Installation that imports the DataObject "in".
func importing() *v1alpha1.Installation {
	inst := working("root", "1", "job")
	inst.Spec.Blueprint = inlineBlueprint(object{"imports": imported(map[string]string{"value": "data"})})
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "value", DataRef: "in"}}
	return inst
}

func there(content string) *v1alpha1.DataObject {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}

// imported are definitions of imports, by name with their types.
func imported(types map[string]string) []any {
	var imports []any
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if types[name] == "data" {
			imports = append(imports, object{"name": name, "type": "data", "schema": object{}})
			continue
		}
		imports = append(imports, object{"name": name, "type": types[name], "targetType": clusterType})
	}
	return imports
}

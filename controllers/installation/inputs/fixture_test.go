// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
)

// clusterType is the type of Targets that are clusters.
const clusterType = "landscaper.gardener.cloud/kubernetes-cluster"

// object is JSON.
type object = map[string]any

// with returns a reader of some objects.
func with(t *testing.T, objects ...client.Object) *Reader {
	t.Helper()
	c := cluster.With(t, objects...)
	return &Reader{Reader: c, Live: c}
}

// incomplete is the error about a Context that is not there.
func incomplete(t *testing.T) error {
	t.Helper()
	inst := fixture.Node("root", "")
	inst.Spec.Context = "missing"
	_, err := with(t).contexts().Find(t.Context(), inst)
	return err
}

// importing is an Installation that imports the DataObject "in".
func importing() *v1alpha1.Installation {
	inst := fixture.Working("root", "1", "job")
	inst.Spec.Blueprint = fixture.InlineBlueprint(object{"imports": imported(map[string]string{"value": "data"})})
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

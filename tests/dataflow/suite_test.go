// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package dataflow checks what flows between Installations: imports, exports, sub-installations, order, and who runs again when something
// changed. Tests are named for their row of the acceptance matrix where one exists.
package dataflow

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// The controller of all tests leaves those shards alone that tests have controllers of their own for.
func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{Registry: true}, "--watch-label-selector=!"+protocol.ShardLabel, "--reconcile-if-changed-spread="+changesSpread.String()))
}

// changesSpread is over which what has waited starts when changes start jobs by default.
const changesSpread = 30 * time.Second

// object and list are JSON.
type (
	object = map[string]any
	list   = []any
)

const clusterType = "landscaper.gardener.cloud/kubernetes-cluster"

// scene adds to the scene what these tests need.
type scene struct{ *landscape.Scene }

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	return &scene{landscape.NewScene(t)}
}

var (
	document    = landscape.Blueprint
	goTemplate  = landscape.GoTemplate
	dataImports = landscape.DataImports
	dataExports = landscape.DataImports
	refs        = landscape.DataRefs
)

// inline is spec.blueprint with a blueprint in place.
func inline(parts object) object {
	return object{"inline": object{"filesystem": object{"blueprint.yaml": document(parts)}}}
}

// inTemplate is the blueprint of a sub-installation template.
func inTemplate(parts object) object {
	return object{"filesystem": object{"blueprint.yaml": document(parts)}}
}

// mockItem is a deploy item that exports a map, written as YAML flow.
func mockItem(name, export string) string { return landscape.MockItem(name, "export: "+export) }

// waitingItem is a deploy item that never ends by itself.
func waitingItem(name string) string { return landscape.MockItem(name, "phase: Progressing") }

// configItem is a deploy item that deploys one ConfigMap with one value; both are YAML, the target is a reference as in deploy items.
func configItem(item, target, name, value string) string {
	return landscape.ConfigItem(item, target, sceneNamespace, name, "value: "+value)
}

// sceneNamespace stands for the namespace of the scene in templates.
const sceneNamespace = "namespace-of-the-scene"

// here replaces the stand-in by the namespace of the scene.
func (s *scene) here(parts object) object {
	raw, err := json.Marshal(parts)
	require.NoError(s.T, err)
	var out object
	require.NoError(s.T, json.Unmarshal([]byte(strings.ReplaceAll(string(raw), sceneNamespace, s.Namespace)), &out))
	return out
}

// install applies an Installation that runs at every change.
func (s *scene) install(name string, spec object) {
	s.T.Helper()
	s.installWith(name, spec, object{v1alpha1.ReconcileIfChangedAnnotation: "true"})
}

func (s *scene) installWith(name string, spec, annotations object) {
	s.T.Helper()
	s.Put("Installation", name, object{"metadata": object{"annotations": annotations}, "spec": s.here(spec)})
}

// data applies a DataObject.
func (s *scene) data(name string, value any) {
	s.T.Helper()
	s.Put("DataObject", name, object{"data": value})
}

// reconcile asks for a job, as a person does.
func (s *scene) reconcile(name string) {
	s.T.Helper()
	s.Annotate(s.Installation(name), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
}

func (s *scene) succeeded(name string) *v1alpha1.Installation { return s.Succeeded(name) }

func (s *scene) failed(name string) *v1alpha1.Error { return s.Failed(name) }

func (s *scene) value(name string) string { return s.Value(name) }

// configValue returns what was deployed.
func (s *scene) configValue(name string) string { return s.Config(name)["value"] }

// configs returns the ConfigMaps of the scene that were deployed, by name.
func (s *scene) configs() map[string]corev1.ConfigMap {
	s.T.Helper()
	all := &corev1.ConfigMapList{}
	require.NoError(s.T, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace)))
	out := map[string]corev1.ConfigMap{}
	for _, config := range all.Items {
		if config.Name != "kube-root-ca.crt" {
			out[config.Name] = config
		}
	}
	return out
}

// inScope lists what is in a scope.
func (s *scene) inScope(scope string) []client.ListOption {
	return []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.DataObjectContextLabel: scope}}
}

func (s *scene) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace, Name: name}
}

// exists reports whether an object is there.
func (s *scene) exists(object client.Object) bool {
	s.T.Helper()
	err := s.Client().Get(s.Ctx, client.ObjectKeyFromObject(object), object)
	require.NoError(s.T, client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

func (s *scene) dataObject(name string) *v1alpha1.DataObject {
	return &v1alpha1.DataObject{ObjectMeta: s.Named(name)}
}

func (s *scene) config(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: s.Named(name)}
}

// objectsOf returns the names of what is left of our kinds in the namespace, Targets and DataObjects without owner left out.
func (s *scene) objectsOf() []string {
	s.T.Helper()
	var left []string
	for _, kind := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.DataObjectList{}, &v1alpha1.TargetList{},
	} {
		require.NoError(s.T, s.Client().List(s.Ctx, kind, client.InNamespace(s.Namespace)))
		raw, err := json.Marshal(kind)
		require.NoError(s.T, err)
		var items struct {
			Items []metav1.PartialObjectMetadata `json:"items"`
		}
		require.NoError(s.T, json.Unmarshal(raw, &items))
		for _, item := range items.Items {
			_, isOurs := kind.(*v1alpha1.InstallationList)
			if isOurs || len(item.OwnerReferences) > 0 {
				left = append(left, fmt.Sprintf("%T %s", kind, item.Name))
			}
		}
	}
	return left
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package steady checks what happens after the first failure. Each test breaks something that a landscape needs, waits until the failure is
// shown, and checks that resource versions stand still from then on: nothing is written while nothing changes. Then it mends what was
// broken, and everything has to end well without anybody's help; what the landscape deployed goes with it, also when it was deleted
// while it was broken.
package steady

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// maxRetryDelay bounds the back-off, so that what was mended is noticed soon.
const maxRetryDelay = "5s"

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{Registry: true, Flux: true}, "--max-retry-delay="+maxRetryDelay))
}

type object = map[string]any

// scene is a namespace with a root Installation "root" that imports data and a Target, and has a manifest item, a helm item and a
// sub-installation, which has a mock item.
type scene struct {
	*landscape.Scene
	// alone says that nobody asks again for what has failed.
	alone bool
}

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	s := &scene{Scene: landscape.NewScene(t)}
	s.Put("DataObject", "word", object{"data": "hello"})
	return s
}

const subBlueprint = `{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint", "imports": [{"name": "word", "type": "data", "schema": {}}],
"exports": [{"name": "answer", "type": "data", "schema": {}}],
"deployExecutions": [{"name": "default", "type": "GoTemplate", "template": "deployItems:\n- name: mock\n  type: landscaper.gardener.cloud/mock\n  config:\n    apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1\n    kind: ProviderConfiguration\n    export: {answer: {{ .imports.word }}}\n"}],
"exportExecutions": [{"name": "default", "type": "GoTemplate", "template": "exports: {answer: {{ index .values.deployitems \"mock\" \"answer\" }}}\n"}]}`

// install applies the root. Changing the value changes what it deploys.
func (s *scene) install(value string) {
	s.T.Helper()
	s.installFrom(object{"inline": object{"filesystem": object{"blueprint.yaml": s.blueprint(value)}}})
}

// blueprint returns that of the root with a value that it deploys.
func (s *scene) blueprint(value string) string {
	return landscape.Blueprint(object{
		"imports": []any{
			object{"name": "word", "type": "data", "schema": object{}},
			object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"},
		},
		"exports":          []any{object{"name": "answer", "type": "data", "schema": object{}}},
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.ConfigItem("config", "{import: cluster}", s.Namespace, "deployed", "value: "+value)),
		"exportExecutions": landscape.GoTemplate("exports: {answer: {{ .values.dataobjects.answer }}}\n"),
		"subinstallations": []any{object{
			"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "InstallationTemplate", "name": "sub",
			"blueprint": object{"filesystem": object{"blueprint.yaml": subBlueprint}},
			"imports":   object{"data": []any{object{"name": "word", "dataRef": "word"}}},
			"exports":   object{"data": []any{object{"name": "answer", "dataRef": "answer"}}},
		}},
	})
}

// installFrom applies the root with a blueprint from somewhere.
func (s *scene) installFrom(blueprint object) {
	s.T.Helper()
	s.Put("Installation", "root", object{
		"metadata": object{"annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"}},
		"spec": object{
			"blueprint": blueprint,
			"imports": object{
				"data":    []any{object{"name": "word", "dataRef": "word"}},
				"targets": []any{object{"name": "cluster", "target": "cluster"}},
			},
			"exports": object{"data": []any{object{"name": "answer", "dataRef": "result"}}},
		},
	})
}

// awaitTrouble waits until some object of the root shows an error that is more than unfinished work.
func (s *scene) awaitTrouble() {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return slices.ContainsFunc(s.Workers(), landscape.IsTrouble) }, landscape.Patience, landscape.Tick,
		"nothing shows what is wrong")
}

// healthy waits until the root has succeeded and deployed a value. A job that has failed is asked for again, as a person would do, unless
// that was excluded.
func (s *scene) healthy(value string) {
	s.T.Helper()
	ended := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && inst.Status.JobID != "" && inst.Status.ObservedGeneration == inst.Generation
	})
	if ended.Status.Phase.IsFailed() && !s.alone {
		s.ask()
	}
	s.Succeeded("root")
	require.Equal(s.T, value, s.Config("deployed")["value"])
	require.Equal(s.T, `"hello"`, s.Value("result"))
}

// ask requests a job.
func (s *scene) ask() {
	s.T.Helper()
	s.Annotate(s.Installation("root"), meta.ReconcileRequestAnnotation, time.Now().Format(time.RFC3339Nano))
}

// gone waits until nothing is left of the root. A deletion that has failed is asked for again, as a person would do, unless that was excluded.
func (s *scene) gone() {
	s.T.Helper()
	root := s.Installation("root")
	err := s.Client().Get(s.Ctx, client.ObjectKeyFromObject(root), root)
	require.NoError(s.T, client.IgnoreNotFound(err))
	if err == nil && !s.alone && root.Status.Phase == v1alpha1.PhaseDeleteFailed && root.Status.IsIdle() {
		s.ask()
	}
	s.Gone(s.Installation("root"))
	require.Empty(s.T, s.Workers())
	config := &corev1.ConfigMap{ObjectMeta: s.Named("deployed")}
	require.NoError(s.T, s.AwaitGone(s.Ctx, config))
}

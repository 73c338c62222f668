// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

var clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// sampled is a snapshot of testdata/landscape.yaml.
func sampled(t *testing.T) *Snapshot {
	t.Helper()
	text, err := os.ReadFile("testdata/landscape.yaml")
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	var objects []runtime.Object
	for documents := yaml.NewYAMLReader(bufferOf(text)); ; {
		document, err := documents.Read()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		object, _, err := decoder.Decode(document, nil, nil)
		require.NoError(t, err, "%s", document)
		objects = append(objects, object)
	}
	snapshot, err := Read(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).Build(), "")
	require.NoError(t, err)
	return snapshot
}

// golden compares lines with a file. A line must never be wider than the terminal.
func golden(t *testing.T, name string, width int, lines []string) {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	for _, line := range lines {
		assert.LessOrEqual(t, length(line), width, line)
	}
	path := filepath.Join("testdata", fmt.Sprintf("%s.%d.txt", name, width))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), text, "run the test with -update if that is right")
}

func TestShownAt80And140Columns(t *testing.T) {
	s := sampled(t)
	list := ListOptions{Now: clock, Namespaced: true}
	copies, wide := list, list
	copies.Copies, wide.Wide = true, true
	tables := map[string]*Table{
		"dataobjects-copies": ListTable(s.Select("DataObject", copies), copies), "installations-wide": ListTable(s.Select("Installation", wide), wide),
		"tree": TreeTable(s.Tree(TreeOptions{Now: clock}), true), "tree-data": TreeTable(s.Tree(TreeOptions{Now: clock, Data: true}), false),
		"tree-failed": TreeTable(s.Tree(TreeOptions{Now: clock, Failed: true}), false),
		"tree-under":  TreeTable(s.Tree(TreeOptions{Now: clock, Under: s.Find("Installation", "team", "web")}), false),
	}
	for _, kind := range Kinds[:7] {
		tables[kind.Plural] = ListTable(s.Select(kind.Name, list), list)
	}
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{80, 140} {
				golden(t, name, width, table.Lines(width, false))
			}
		})
	}
}

func TestWhyAt80And140Columns(t *testing.T) {
	s := sampled(t)
	for name, of := range map[string][2]string{
		"failed": {"Installation", "web"}, "missing": {"Installation", "search"}, "suspended": {"Installation", "reports"},
		"drifted": {"Installation", "database"}, "agent": {"Installation", "monitoring"}, "kustomization": {"Kustomization", "apps"},
	} {
		t.Run(name, func(t *testing.T) {
			object := s.Find(of[0], "", of[1])
			require.NotNil(t, object)
			for _, width := range []int{80, 140} {
				golden(t, "why-"+name, width, s.Why(object, clock).Lines(width, false, clock))
			}
		})
	}
}

func TestWhySaysWhatWaitsForTheEndOfAJob(t *testing.T) {
	const end = " Where it gets nowhere, this ends it: flux landscaper interrupt installation monitoring -n team"
	for name, c := range map[string]struct {
		generation   int64
		used, stored string
		says         []string
	}{
		"nothing":    {1, "main@sha1:1111111", "main@sha1:1111111", nil},
		"a spec":     {2, "main@sha1:1111111", "main@sha1:1111111", []string{"Waiting for the end of this job: a newer spec." + end}},
		"a revision": {1, "main@sha1:1111111", "main@sha1:2222222", []string{"Waiting for the end of this job: main@sha1:2222222 of GitRepository apps." + end}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sampled(t)
			inst := s.Find("Installation", "team", "monitoring").(*v1alpha1.Installation)
			inst.Generation = c.generation
			inst.Status.Sources = []v1alpha1.SourceStatus{{Kind: "GitRepository", Namespace: "team", Name: "apps", Revision: c.used}}
			s.GitRepositories.Items = []sourcev1.GitRepository{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "apps"}, Status: sourcev1.GitRepositoryStatus{Artifact: &meta.Artifact{Revision: c.stored}},
			}}

			assert.Equal(t, c.says, s.Why(inst, clock).Chain[0].Notes)
		})
	}
}

func TestTraceAt80And140Columns(t *testing.T) {
	s := sampled(t)
	found := s.Trace(ID{Kind: "statefulset", Name: "postgres"}, "", clock)
	require.Len(t, found, 1)
	for _, width := range []int{80, 140} {
		golden(t, "trace", width, found[0].Lines(width, false))
	}

	assert.Empty(t, s.Trace(ID{Kind: "StatefulSet", Name: "postgres", Namespace: "other"}, "", clock))
	assert.Empty(t, s.Trace(ID{Kind: "StatefulSet", Name: "postgres"}, "fenced", clock))
	assert.Len(t, s.Trace(ID{Kind: "ClusterRole", Name: "postgres:reader"}, "production", clock), 1)
	assert.Len(t, s.Below(s.Find("Kustomization", "", "apps")), 7)
}

func TestChangesAreSaidOnce(t *testing.T) {
	s := sampled(t)
	roots := func() []*Node {
		return s.Tree(TreeOptions{Now: clock, Under: s.Find("Installation", "team", "reports")})
	}
	var changes Changes

	assert.Equal(t, []string{"03:04:05Z  Installation reports         Waiting      generation 3             spec.suspend is set; nothing starts until it is removed (suspended pending)"},
		changes.Lines(roots(), clock))
	assert.Empty(t, changes.Lines(roots(), clock))
	assert.Equal(t, []string{"03:04:05Z  Installation reports         Gone"}, changes.Lines(nil, clock))
}

func TestWithoutATerminalEachRowIsOneLine(t *testing.T) {
	s := sampled(t)
	table := TreeTable(s.Tree(TreeOptions{Now: clock}), false)

	lines := table.Lines(0, false)

	assert.Len(t, lines, len(table.Rows)+1)
	assert.NotContains(t, strings.Join(lines, ""), "\x1b")
}

func TestSelectedByLabelsAndNames(t *testing.T) {
	s := sampled(t)
	storage, err := labels.Parse("team=storage")
	require.NoError(t, err)

	assert.Len(t, s.Select("Installation", ListOptions{Selector: storage}), 1)
	assert.Len(t, s.Select("DataObject", ListOptions{Names: []string{"words"}}), 1, "the copy has the name, too")
	assert.Nil(t, s.Find("Installation", "other", "web"))
	require.NotNil(t, s.Find("DeployItem", "", "postgres"), "as the tree shows it")
	assert.NotEqual(t, "postgres", s.Find("DeployItem", "", "postgres").GetName())
}

func bufferOf(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }

// TestAKustomizationFailsOverWhatFails has a failing Kustomization with an Installation that is only suspended.
func TestAKustomizationFailsOverWhatFails(t *testing.T) {
	s := sampled(t)
	apps := &s.Kustomizations.Items[0]
	for i := range s.Installations.Items {
		if inst := &s.Installations.Items[i]; KustomizationOf(inst).Name == apps.Name {
			inst.Labels = nil
		}
	}
	held := s.Find("Installation", "team", "reports")
	require.Equal(t, Held, StatusOf(held, clock).Health)
	held.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": apps.Name, "kustomize.toolkit.fluxcd.io/namespace": apps.Namespace})

	assert.Len(t, s.Why(apps, clock).Chain, 1, "the suspension does not make it fail")
	apps.Status.Conditions[0].Status = metav1.ConditionUnknown
	assert.Equal(t, "reports", s.Why(apps, clock).Chain[1].Name, "but it waits for that")
}

func TestOwnersInACircleEnd(t *testing.T) {
	s := sampled(t)
	item := s.Find("DeployItem", "team", "postgres")
	database, web := s.Find("Installation", "team", "database"), s.Find("Installation", "team", "web")
	s.parents[database.GetUID()], s.parents[web.GetUID()] = web, database

	assert.NotPanics(t, func() { s.git(item) })
}

func TestNoTextSteersATerminal(t *testing.T) {
	assert.Equal(t, "two\nlines\tand [31mno colour", Plain("two\nlines\tand \x1b[31mno\x07 colour\u009b"))
}

// TestAPartSaysWhatIsNotSeen: what somebody may not list is neither taken for missing, nor hidden without a word.
func TestAPartSaysWhatIsNotSeen(t *testing.T) {
	whole := sampled(t)
	inst := whole.Find("Installation", "team", "web").(*v1alpha1.Installation)
	require.True(t, slices.ContainsFunc(whole.Imports(inst), func(i Import) bool { return i.ID.Kind == "DataObject" }))

	part := whole.Only(func(kind, namespace string) bool { return kind == "Installation" && namespace == "team" })

	assert.Len(t, part.Installations.Items, len(whole.Select("Installation", ListOptions{})))
	assert.Empty(t, part.DeployItems.Items)
	assert.Contains(t, part.Withheld, "DataObject")
	assert.NotContains(t, part.Withheld, "Installation")
	for _, imported := range part.Imports(part.Find("Installation", "team", "web").(*v1alpha1.Installation)) {
		assert.False(t, imported.Missing, imported.ID)
	}
	last := part.Why(part.Find("Installation", "team", "monitoring"), clock).Chain[0]
	assert.Contains(t, strings.Join(last.Notes, " "), "You may not list Executions and DeployItems")
	assert.Empty(t, whole.Only(func(string, string) bool { return false }).Installations.Items)
	assert.Equal(t, whole.Tree(TreeOptions{Now: clock}), whole.Only(func(string, string) bool { return true }).Tree(TreeOptions{Now: clock}))
}

// TestWhatIsTriedAgainFails has an Installation and a DeployItem at work whose last try has failed.
func TestWhatIsTriedAgainFails(t *testing.T) {
	for name, object := range map[string]conditions.Setter{"Installation": &v1alpha1.Installation{}, "DeployItem": &v1alpha1.DeployItem{}} {
		object.(job).Job().JobID = "running"
		object.(job).Job().Phase = v1alpha1.PhaseProgressing
		conditions.MarkReconciling(object, meta.ProgressingReason, "Deploying")
		conditions.MarkUnknown(object, meta.ReadyCondition, meta.ProgressingReason, "Deploying")
		assert.Equal(t, Working, StatusOf(object.(client.Object), clock).Health, name)

		conditions.MarkReconciling(object, meta.ProgressingWithRetryReason, "exceeded quota")
		conditions.MarkUnknown(object, meta.ReadyCondition, meta.ProgressingWithRetryReason, "exceeded quota")
		assert.Equal(t, Failing, StatusOf(object.(client.Object), clock).Health, name)
	}
}

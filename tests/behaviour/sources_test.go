// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// sharedBlueprint deploys a ConfigMap of the name of the imported Target, so that several Installations may use it.
func sharedBlueprint(value string) string {
	return configBlueprint("{{ .imports.cluster.metadata.name }}", value)
}

// fromSource is the blueprint of an Installation in a Flux source.
func fromSource(kind, name, path string) string {
	return `{sourceRef: {kind: ` + kind + `, name: ` + name + `}, path: "` + path + `"}`
}

// sourced is an Installation whose blueprint comes from a source; it has a Target of its own name.
func (s *scene) sourced(name, blueprint string) leaf {
	s.T.Helper()
	s.Target(name)
	return leaf{name: name, target: name, blueprint: blueprint, annotations: follows()}
}

func (s *scene) push(repository, tag, value string) {
	s.T.Helper()
	files := servers.Files(map[string]string{"blueprint.yaml": sharedBlueprint(value)})
	_, err := s.Registry.PushFluxArtifact(s.Ctx, s.Namespace+"/"+repository, tag, files)
	require.NoError(s.T, err)
}

func TestCommitRunsTheUsersOfWhatItTouches(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	commit := func(path, content string) {
		_, err := repo.Commit(s.Ctx, "Change "+path, map[string][]byte{path: []byte(content)})
		require.NoError(t, err)
	}
	commit("blueprints/one/blueprint.yaml", sharedBlueprint("old"))
	commit("blueprints/two/blueprint.yaml", sharedBlueprint("old"))
	s.apply(gitRepository("shop", repo), s.sourced("one", fromSource("GitRepository", "shop", "./blueprints/one")).String(),
		s.sourced("two", fromSource("GitRepository", "shop", "blueprints/two/")).String())
	first := s.Ended("one", v1alpha1.PhaseSucceeded).Status.JobID
	second := s.Ended("two", v1alpha1.PhaseSucceeded).Status.JobID
	repository := &sourcev1.GitRepository{ObjectMeta: s.Named("shop")}

	commit("blueprints/one/blueprint.yaml", sharedBlueprint("new"))
	s.Refresh(repository)
	s.Ran("one", first, v1alpha1.PhaseSucceeded)
	s.requireValue("one", "new")
	s.AwaitEvents(2, meta.ReconciliationSucceededReason, "one")
	s.AwaitEvents(1, meta.ReconciliationSucceededReason, "two")

	quiet := time.Now()
	commit("README.md", "no blueprint")
	s.Refresh(repository)
	s.Refresh(repository)
	s.RequireNoWrites(quiet)

	commit("blueprints/two/blueprint.yaml", sharedBlueprint("new"))
	s.Refresh(repository)
	s.Ran("two", second, v1alpha1.PhaseSucceeded)
	s.requireValue("two", "new")
	s.RequireJobs(2, "one", "two")
}

// TestACommitRunsAnImporterOnce changes the blueprints of an exporter and its importer at once: the importer waits for what comes, although nobody has begun
// to work on the exporter when its own source changes.
func TestACommitRunsAnImporterOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	commit := func(word string) {
		exporter := landscape.Blueprint(map[string]any{
			"exports":          []any{map[string]any{"name": "word", "type": "data", "schema": map[string]any{"type": "string"}}},
			"exportExecutions": landscape.GoTemplate("exports: {word: " + word + "}"),
		})
		importer := landscape.Blueprint(map[string]any{
			"imports": []any{
				map[string]any{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"},
				map[string]any{"name": "word", "type": "data", "schema": map[string]any{"type": "string"}},
			},
			"deployExecutions": landscape.GoTemplate("deployItems:\n" + manifestItem("config", "importer", "{{ .imports.word }} for "+word)),
		})
		_, err := repo.Commit(s.Ctx, "Say "+word, map[string][]byte{"exporter/blueprint.yaml": []byte(exporter), "importer/blueprint.yaml": []byte(importer)})
		require.NoError(t, err)
	}
	commit("old")
	s.Target("cluster")
	exporter := leaf{name: "exporter", blueprint: fromSource("GitRepository", "shop", "exporter"), annotations: follows(), spec: "  exports: {data: [{name: word, dataRef: word}]}\n"}
	importer := leaf{name: "importer", blueprint: fromSource("GitRepository", "shop", "importer"), annotations: follows()}
	s.apply(gitRepository("shop", repo), strings.Replace(exporter.String(), "  imports: {targets: [{name: cluster, target: cluster}]}\n", "", 1),
		strings.Replace(importer.String(), "imports: {", "imports: {data: [{name: word, dataRef: word}], ", 1))
	first := s.Ended("importer", v1alpha1.PhaseSucceeded).Status.JobID
	repository := &sourcev1.GitRepository{ObjectMeta: s.Named("shop")}

	commit("new")
	s.Refresh(repository)

	s.Ran("importer", first, v1alpha1.PhaseSucceeded)
	s.requireValue("importer", "new for new")
	s.AwaitEvents(2, meta.ReconciliationSucceededReason, "exporter")
	s.RequireStandstill()
	s.RequireJobs(2, "exporter", "importer")
}

func TestInstallationWaitsForItsSource(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	repository := func(url string) string {
		return `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: late}
spec: {interval: 1h, timeout: 2s, url: "` + url + `", ref: {branch: main}}
`
	}
	s.apply(s.sourced("one", fromSource("GitRepository", "late", "")).String())
	says := func(parts ...string) func(*v1alpha1.Installation) bool {
		return func(inst *v1alpha1.Installation) bool {
			message := conditions.GetMessage(inst, meta.ReconcilingCondition)
			for _, part := range append(parts, "GitRepository "+s.Namespace+"/late", "spec.blueprint.sourceRef") {
				if !strings.Contains(message, part) {
					return false
				}
			}
			return conditions.IsUnknown(inst, meta.ReadyCondition)
		}
	}
	s.AwaitState("one", says("it does not exist"))
	s.apply(repository(repo.CloneURL))
	s.AwaitState("one", says("git repository is empty"))

	_, err = repo.Commit(s.Ctx, "Begin", map[string][]byte{"blueprint.yaml": []byte(sharedBlueprint("late"))})
	require.NoError(t, err)
	source := &sourcev1.GitRepository{ObjectMeta: s.Named("late")}
	s.Refresh(source)
	s.Ended("one", v1alpha1.PhaseSucceeded)
	s.requireValue("one", "late")
	s.RequireJobs(1, "one")
}

func TestSourceOfAnotherNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.apply(s.sourced("one", "{sourceRef: {kind: GitRepository, name: shop, namespace: kube-system}}").String())
	failed := s.Ended("one", v1alpha1.PhaseFailed)
	require.Equal(t, "AccessDenied", failed.Status.LastError.Reason)
	require.Contains(t, failed.Status.LastError.Codes, v1alpha1.ErrorConfigurationProblem)
	for _, part := range []string{"spec.blueprint.sourceRef", "GitRepository kube-system/shop", "make the source in the own namespace", "--no-cross-namespace-refs"} {
		require.Contains(t, failed.Status.LastError.Message, part)
	}
}

// chartItem deploys the chart of a Flux source with the helm deployer.
func chartItem(kind string) string {
	return `deployItems:
- name: web
  type: landscaper.gardener.cloud/helm
  target: {import: cluster}
  config:
    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    chart: {sourceRef: {kind: ` + kind + `, name: web}}
    name: web-` + strings.ToLower(kind) + `
    namespace: {{ .imports.cluster.metadata.namespace }}
    values: {value: from flux}
`
}

// pushChart publishes a version of the chart web, which has a ConfigMap with a value. Required are the values that it cannot do without.
func (s *scene) pushChart(version, value string, required ...string) {
	s.T.Helper()
	schema, err := json.Marshal(map[string]any{"required": append([]string{}, required...)})
	require.NoError(s.T, err)
	chart, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: web\nversion: " + version + "\n",
		"templates/cm.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {value: '" + value + "'}\n",
		"values.schema.json": string(schema),
	}))
	require.NoError(s.T, err)
	_, err = s.Registry.PushHelmChart(s.Ctx, s.Namespace+"/web", version, chart)
	require.NoError(s.T, err)
}

// offerChart makes the sources that chartItem may name.
func (s *scene) offerChart() {
	s.T.Helper()
	s.apply(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts}
spec: {type: oci, insecure: true, interval: 1h, url: "` + s.Registry.URL(s.Namespace) + `"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: web}
spec: {chart: web, version: 1.x, interval: 1h, sourceRef: {kind: HelmRepository, name: charts}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web}
spec:
  interval: 1h
  insecure: true
  url: "` + s.Registry.URL(s.Namespace+"/web") + `"
  ref: {semver: 1.x}
  layerSelector: {mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: copy}
`)
}

func TestRequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.apply(leaf{name: "one", value: "1", annotations: follows()}.String())
	first := s.Ended("one", v1alpha1.PhaseSucceeded)

	s.Annotate(s.Installation("one"), meta.ReconcileRequestAnnotation, "please")
	again := s.Ran("one", first.Status.JobID, v1alpha1.PhaseSucceeded)
	require.Equal(t, "please", again.Status.LastHandledReconcileAt)
	require.Equal(t, "please", again.Annotations[meta.ReconcileRequestAnnotation])
	s.AwaitEvents(2, meta.ReconciliationSucceededReason, "one")

	quiet := time.Now()
	s.Annotate(s.Installation("one"), "example.com/touched", "true")
	s.nudge("one")
	s.RequireNoWrites(quiet)
	s.RequireJobs(2, "one")
}

// nudge waits until the controller has certainly seen everything that was written to an Installation so far: another one, written
// later, has run.
func (s *scene) nudge(name string) {
	s.T.Helper()
	other := "after-" + name
	s.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + s.Namespace + "-" + name + "}")
	inner := *s.Scene
	beside := &scene{&inner}
	beside.Namespace = s.Namespace + "-" + name
	beside.Target("cluster")
	beside.apply(leaf{name: other, value: "1", annotations: follows()}.String())
	beside.Ended(other, v1alpha1.PhaseSucceeded)
}

func TestSuspendedInstallationStartsNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	suspended := leaf{name: "one", value: "new", annotations: follows(), spec: "  suspend: true\n"}
	s.apply(suspended.String())
	waiting := s.AwaitState("one", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.ReadyCondition) == "Suspended"
	})
	require.Empty(t, waiting.Status.JobID)
	s.Annotate(s.Installation("one"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.nudge("one")
	s.RequireJobs(0, "one")

	suspended.spec = "  suspend: false\n"
	s.apply(suspended.String())
	s.Ended("one", v1alpha1.PhaseSucceeded)
	s.requireValue("one", "new")
	s.nudge("one-more")
	s.RequireJobs(1, "one")
}

// TestF09ASuspensionInGitKeepsTheKustomizationReady suspends what has succeeded, edits it, and lets it go on: Flux waits for none of it but the end.
func TestF09ASuspensionInGitKeepsTheKustomizationReady(t *testing.T) {
	t.Parallel()
	s := newSynced(t, leaf{name: "one", value: "first", annotations: follows()})
	s.awaitReadyOnce("one")
	s.awaitSynced(s.commit(leaf{name: "one", value: "first", annotations: follows(), spec: "  suspend: true\n"}))
	s.awaitSynced(s.commit(leaf{name: "one", value: "second", annotations: follows(), spec: "  suspend: true\n"}))
	s.requireValue("one", "first")
	s.RequireJobs(1, "one")
	s.awaitSynced(s.commit(leaf{name: "one", value: "second", annotations: follows()}))
	s.requireValue("one", "second")
	s.RequireJobs(2, "one")
}

func TestDeletionLeavesInPlaceWhatTheSpecSays(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{"suspended": "  suspend: true\n", "orphaned": "  deletionPolicy: Orphan\n"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.apply(leaf{name: "one", value: "1", annotations: follows()}.String())
			s.Ended("one", v1alpha1.PhaseSucceeded)
			s.apply(leaf{name: "one", value: "1", annotations: follows(), spec: spec}.String())
			s.delete(s.Installation("one"))
			s.requireValue("one", "1")
			s.requireEmpty()
		})
	}
}

// requireEmpty checks that no Execution and no DeployItem is left.
func (s *scene) requireEmpty() {
	s.T.Helper()
	executions, items := &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, executions, client.InNamespace(s.Namespace)))
	require.NoError(s.T, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace)))
	require.Empty(s.T, executions.Items)
	require.Empty(s.T, items.Items)
}

// TestKustomizationTellsTheTruth: a failed Installation fails the Kustomization that waits for it at once, with the cause, and the fix makes
// both Ready.
func TestKustomizationTellsTheTruth(t *testing.T) {
	t.Parallel()
	s := newSynced(t, leaf{name: "good", value: "1", annotations: follows()},
		leaf{name: "bad", annotations: follows(), blueprint: `inline: {filesystem: {blueprint.yaml: "{"}}`})
	failed := s.Ended("bad", v1alpha1.PhaseFailed)
	kustomization := s.kustomization()
	require.NoError(t, s.Await(s.Ctx, kustomization, func() bool { return conditions.IsFalse(kustomization, meta.ReadyCondition) }))
	ready := conditions.Get(kustomization, meta.ReadyCondition)
	require.Contains(t, ready.Message, "Installation/"+s.Namespace+"/bad status: 'Failed'")
	require.Less(t, ready.LastTransitionTime.Sub(failed.Status.TransitionTimes.FinishedTime.Time), 15*time.Second, "long before the timeout")

	revision := s.commit(leaf{name: "bad", value: "fixed", annotations: follows()})
	require.NoError(t, s.AwaitReady(s.Ctx, s.Installation("bad")))
	s.awaitSynced(revision)
	s.requireValue("bad", "fixed")
	s.RequireJobs(1, "good")
	s.RequireJobs(2, "bad")
}

// folders is a parent whose sub-installation is the blueprint in a folder beside it.
func folders(path string) string {
	return landscape.Blueprint(map[string]any{
		"imports": []any{map[string]any{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}},
		"subinstallations": []any{map[string]any{
			"name": "db", "blueprint": map[string]any{"path": path},
			"imports": map[string]any{"targets": []any{map[string]any{"name": "cluster", "target": "cluster"}}},
		}},
	})
}

func TestSubInstallationFromAFolderOfTheSameArtifact(t *testing.T) {
	t.Parallel()
	t.Run("Git", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
		require.NoError(t, err)
		commit := func(path, content string) {
			_, err := repo.Commit(s.Ctx, "Change "+path, map[string][]byte{path: []byte(content)})
			require.NoError(t, err)
		}
		commit("blueprints/shop/blueprint.yaml", folders("../db"))
		commit("blueprints/db/blueprint.yaml", folders("../deeper/below"))
		commit("blueprints/deeper/below/blueprint.yaml", configBlueprint("db", "old"))
		s.apply(gitRepository("shop", repo), s.sourced("one", fromSource("GitRepository", "shop", "./blueprints/shop")).String())
		first := s.Ended("one", v1alpha1.PhaseSucceeded).Status.JobID
		s.requireValue("db", "old")
		repository := &sourcev1.GitRepository{ObjectMeta: s.Named("shop")}

		commit("blueprints/deeper/below/blueprint.yaml", configBlueprint("db", "new"))
		s.Refresh(repository)
		second := s.Ran("one", first, v1alpha1.PhaseSucceeded).Status.JobID
		s.requireValue("db", "new")
		s.AwaitEvents(2, meta.ReconciliationSucceededReason, "one")

		quiet := time.Now()
		commit("blueprints/other/blueprint.yaml", "of nobody")
		s.Refresh(repository)
		s.Refresh(repository)
		s.RequireNoWrites(quiet)

		commit("blueprints/deeper/below/blueprint.yaml", "broken: [")
		s.Refresh(repository)
		third := s.Ran("one", second, v1alpha1.PhaseFailed).Status.JobID
		s.RequireStandstill()
		commit("blueprints/deeper/below/blueprint.yaml", configBlueprint("db", "mended"))
		s.Refresh(repository)
		s.Ran("one", third, v1alpha1.PhaseSucceeded)
		s.requireValue("db", "mended")
		s.RequireJobs(4, "one")
	})
	t.Run("in place", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		s.Target("cluster")
		s.apply(leaf{name: "one", annotations: follows(), blueprint: "inline: {filesystem: {blueprint.yaml: " + quote(folders("db")) +
			", db: {blueprint.yaml: " + quote(configBlueprint("db", "placed")) + "}}}"}.String())
		s.Ended("one", v1alpha1.PhaseSucceeded)
		s.requireValue("db", "placed")
		for path, problem := range map[string]string{"../db": "leads out of the artifact", "dv": "is no folder of the artifact"} {
			s.apply(leaf{name: "one", annotations: follows(), blueprint: "inline: {filesystem: {blueprint.yaml: " + quote(folders(path)) + "}}"}.String())
			require.Contains(t, s.Failed("one").Message, problem)
		}
	})
}

// What a job did not come to counts as tried by it: otherwise the job would start again at once, and without end.
func TestAFailureBeforeTheSourceIsReadStartsOneJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, spec, reason string }{
		"failed predecessor": {`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: broken, annotations: {landscaper.gardener.cloud/reconcile-if-changed: "true"}}
spec:
  exports: {data: [{name: out, dataRef: out}]}
  blueprint: {inline: {filesystem: {blueprint.yaml: "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nimportExecutions: [{name: no, type: GoTemplate, template: 'errors: [no]'}]"}}}
`, "imports: {targets: [{name: cluster, target: user}], data: [{name: out, dataRef: out}]}", "PredecessorFailed"},
		"contradictory spec": {"", "imports: {targets: [{name: cluster, target: user}, {name: cluster, target: other}]}", "InvalidInstallation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
			require.NoError(t, err)
			commit := func(value string) {
				_, err := repo.Commit(s.Ctx, "Change", map[string][]byte{"blueprint.yaml": []byte(sharedBlueprint(value))})
				require.NoError(t, err)
			}
			commit("old")
			s.Target("user")
			s.apply(gitRepository("shop", repo))
			repository := &sourcev1.GitRepository{ObjectMeta: s.Named("shop")}
			s.Refresh(repository)
			s.apply(c.before + `
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: user, annotations: {landscaper.gardener.cloud/reconcile-if-changed: "true"}}
spec:
  blueprint: ` + fromSource("GitRepository", "shop", "./") + `
  ` + c.spec + `
`)
			tried := func(revision string) func(*v1alpha1.Installation) bool {
				return func(inst *v1alpha1.Installation) bool {
					return inst.Status.IsIdle() && inst.Status.Phase == v1alpha1.PhaseFailed && len(inst.Status.Sources) == 1 && inst.Status.Sources[0].Revision != revision
				}
			}
			failed := s.AwaitState("user", tried("")) // an earlier job may not have seen the source
			require.Equal(t, c.reason, failed.Status.LastError.Reason)

			commit("new")
			s.Refresh(repository)
			again := s.AwaitState("user", tried(failed.Status.Sources[0].Revision))
			s.Refresh(repository)
			seen := func() bool { return slices.Contains(s.Witness.Jobs(s.Namespace, "user"), again.Status.JobID) }
			require.Eventually(t, seen, landscape.Patience, 20*time.Millisecond)
			all := s.Witness.Jobs(s.Namespace, "user")
			require.Equal(t, []string{again.Status.JobID}, all[slices.Index(all, failed.Status.JobID)+1:], "one job for the new revision")
		})
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"archive/tar"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// planted stands in every Secret and kubeconfig of these tests and must be seen nowhere else.
const planted = "planted-s3cr3t"

// prompt is how soon an Installation has to say what is wrong with it.
const prompt = time.Second

// badInput is one thing that a user may get wrong, with the words that the message must have.
type badInput struct {
	prepare func(*scene)
	inst    leaf
	says    []string
	// retried are problems that may go away by themselves: the item shows them and tries on.
	retried bool
	// endless are templates that are only ended by their time, which is ten seconds.
	endless bool
}

// bad is an Installation with an inline deploy execution.
func bad(template string) leaf { return leaf{blueprint: inlineOf(template)} }

// importing is an Installation that imports one value of a type.
func importing(kind, source string) leaf {
	blueprint := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nimports:\n" +
		"- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}\n" +
		"- {name: value, type: data, schema: {type: " + kind + "}}\n"
	return leaf{
		blueprint: "inline: {filesystem: {blueprint.yaml: " + quote(blueprint) + "}}",
		spec:      "  imports:\n    targets: [{name: cluster, target: cluster}]\n    data: [" + source + "]\n",
	}
}

// values makes a DataObject, a ConfigMap and a Secret to import.
func values(s *scene) {
	s.apply("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DataObject\nmetadata: {name: number}\ndata: 7",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: there}\ndata: {key: text}",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: there}\nstringData: {key: "+planted+", broken: '"+planted+": ['}")
}

// kubeconfig replaces the Target by one with another user in its kubeconfig.
func kubeconfig(user string) func(*scene) {
	return func(s *scene) {
		s.T.Helper()
		s.kubeconfigTarget("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {" + user + "}}]\n")
	}
}

func (s *scene) kubeconfigTarget(kubeconfig string) {
	s.T.Helper()
	s.apply("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Target\nmetadata: {name: cluster}\nspec:\n" +
		"  type: landscaper.gardener.cloud/kubernetes-cluster\n  config: {kubeconfig: " + quote(kubeconfig) + "}\n")
}

// archived offers an archive with one odd entry.
func archived(header tar.Header) func(*scene) {
	return func(s *scene) { s.artifact(archiveOf(s, "x", header), "") }
}

var (
	fromArtifact = leaf{blueprint: fromSource("ExternalArtifact", "bad", "")}
	oneItem      = bad("deployItems:\n" + manifestItem("config", "bad", "1"))
)

var badInputs = map[string]badInput{
	"artifact without blueprint": {
		prepare: archived(tar.Header{Name: "readme.md", Typeflag: tar.TypeReg}), inst: fromArtifact,
		says: []string{"spec.blueprint", "no blueprint.yaml", "readme.md"}},
	"artifact without the path": {
		prepare: archived(tar.Header{Name: "readme.md", Typeflag: tar.TypeReg}), inst: leaf{blueprint: fromSource("ExternalArtifact", "bad", "./none")},
		says: []string{"spec.blueprint.path", "none"}},
	"target import that the blueprint does not have": {
		inst: bad("deployItems:\n" + strings.Replace(manifestItem("config", "bad", "1"), "import: cluster", "import: nosuch", 1)),
		says: []string{`"config"`, `"nosuch"`, "target.import"}},
	"text instead of number in a Secret": {
		prepare: values, inst: importing("number", "{name: value, secretRef: {name: there, key: key}}"), says: []string{"value", "number"}},
	"missing Target": {
		inst: leaf{target: "nosuch"}, says: []string{"spec.imports.targets[0]", "Target", "nosuch", "create it"}},
	"missing ConfigMap": {
		inst: importing("string", "{name: value, configMapRef: {name: nosuch}}"), says: []string{"spec.imports.data[0]", "ConfigMap", "nosuch", "create it"}},
	"missing key of a Secret": {
		prepare: values, inst: importing("string", "{name: value, secretRef: {name: there, key: nosuch}}"),
		says: []string{"spec.imports.data[0]", "Secret", "there", `no key "nosuch"`, "add it"}},
	"Secret that is not YAML": {
		prepare: values, inst: importing("string", "{name: value, secretRef: {name: there, key: broken}}"),
		says: []string{"spec.imports.data[0]", "Secret", "there", "broken", "not YAML"}},
	"kubeconfig that is not YAML": {
		prepare: func(s *scene) { s.kubeconfigTarget("users: [" + planted) }, inst: oneItem,
		says: []string{"config", `Target "cluster"`, "kubeconfig", "check its syntax"}},
	"kubeconfig with a command": {
		prepare: kubeconfig("exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [" + planted + "]}"), inst: oneItem,
		says: []string{`Target "cluster"`, "users[u].user.exec", "not allowed"}},
	"artifact with another digest": {
		prepare: func(s *scene) {
			s.artifact(archiveOf(s, "x", tar.Header{Name: "blueprint.yaml", Typeflag: tar.TypeReg}), "sha256:"+strings.Repeat("0", 64))
		},
		inst: fromArtifact, says: []string{"spec.blueprint.sourceRef", "ExternalArtifact", "bad", "digest"}},
	"archive with a path to above": {
		prepare: archived(tar.Header{Name: "../../evil", Typeflag: tar.TypeReg}), inst: fromArtifact,
		says: []string{"spec.blueprint.sourceRef", "ExternalArtifact", "evil", ".."}},
	"archive that grows to 10 GB": {
		prepare: func(s *scene) { s.artifact(bomb(s), "") }, inst: fromArtifact,
		says: []string{"spec.blueprint.sourceRef", "ExternalArtifact", "blueprint.yaml", "bytes"}},
	"template that loops": {
		endless: true,
		inst:    bad("{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"), says: []string{"deployExecutions", "default", "did not end within"}},
	"template that prints 100 MB": {
		inst: bad(`{{ range until 100 }}{{ range until 1024 }}{{ repeat 1024 "x" }}{{ end }}{{ end }}`),
		says: []string{"deployExecutions", "default", "bytes"}},
	"template that prints an error about a Secret": {
		prepare: values, inst: failingTemplate(`{{ mustToDate "2006" .imports.value }}`), says: []string{"default", "mustToDate"}},
	"item after one that is not there": {
		inst: bad("deployItems:\n" + mockItem("a", "Succeeded") + "  dependsOn: [nosuch]\n"), says: []string{`"a"`, `"nosuch"`, "correct its dependsOn"}},
	"item in a namespace that is not there": {
		inst: bad("deployItems:\n" + strings.Replace(manifestItem("config", "bad", "1"), "{{ .imports.cluster.metadata.namespace }}", "nosuch", 1)),
		says: []string{"nosuch", "ConfigMap"}, retried: true},
	"item of a chart that is not there": {
		inst: bad(strings.ReplaceAll(chartItem("HelmChart"), "sourceRef: {kind: HelmChart, name: web}",
			"archive: {remote: {url: 'http://127.0.0.1:1/none.tgz'}}")),
		says: []string{"chart.archive.remote.url"}, retried: true},
}

// failingTemplate is a deploy execution over an imported Secret.
func failingTemplate(template string) leaf {
	inst := importing("string", "{name: value, secretRef: {name: there, key: key}}")
	inst.blueprint = strings.TrimSuffix(inst.blueprint, `"}}`) +
		strings.Trim(quote("deployExecutions:\n- name: default\n  type: GoTemplate\n  template: '"+template+"'\n"), `"`) + `"}}`
	return inst
}

// TestBadInputFailsAtOnce runs without others of its suite, because it logs times.
func TestBadInputFailsAtOnce(t *testing.T) {
	healthy := newScene(t)
	healthy.Target("cluster")
	healthy.apply(leaf{name: "healthy", value: "1", annotations: follows()}.String())
	healthy.Ended("healthy", v1alpha1.PhaseSucceeded)
	before := healthy.pids()
	for name, input := range badInputs {
		t.Run(name, func(t *testing.T) {
			took := input.requireRefused(t)
			t.Logf("took %s", took.Round(time.Millisecond))
			if input.endless {
				took -= 10 * time.Second
			}
			assert.Less(t, took, pace.Within(prompt))
		})
	}

	healthy.RequireJobs(1, "healthy")
	assert.Equal(t, before, healthy.pids(), "no process has ended")
	for name, process := range healthy.Processes {
		assert.NotContains(t, process.LogTail(1<<20), planted, name)
		t.Logf("%s has used up to %d MiB", name, process.PeakMemory()>>20)
		assert.Less(t, process.PeakMemory(), int64(512<<20), name)
	}
	healthy.Annotate(healthy.Installation("healthy"), meta.ReconcileRequestAnnotation, "again")
	healthy.Ran("healthy", healthy.Witness.Jobs(healthy.Namespace, "healthy")[0], v1alpha1.PhaseSucceeded)
}

// pids are the running processes of ours.
func (s *scene) pids() map[string]int {
	pids := map[string]int{}
	for name, process := range s.Processes {
		if process.Running() {
			pids[name] = process.PID()
		}
	}
	return pids
}

// requireRefused offers the input in a namespace of its own and returns how long it took until its message was there.
func (b badInput) requireRefused(t *testing.T) time.Duration {
	t.Helper()
	s := newScene(t)
	s.Target("cluster")
	if b.prepare != nil {
		b.prepare(s)
	}
	inst := b.inst
	inst.name, inst.annotations = "bad", follows()
	manifest := inst.String()
	if strings.Contains(inst.spec, "imports:") {
		manifest = strings.Replace(manifest, "  imports: {targets: [{name: cluster, target: cluster}]}\n", "", 1)
	}
	started := time.Now()
	s.apply(manifest)
	last := s.firstError(b.retried)
	took := time.Since(started)
	for _, words := range b.says {
		assert.Contains(t, last.Message, words)
	}
	t.Logf("%s (%s): %s", last.Reason, last.Operation, last.Message)
	s.requireNothingPlanted()
	return took
}

// firstError waits until the Installation has failed or, when the problem is retried, until its item shows an error.
func (s *scene) firstError(retried bool) *v1alpha1.Error {
	s.T.Helper()
	if !retried {
		return s.Ended("bad", v1alpha1.PhaseFailed).Status.LastError
	}
	execution := s.execution("bad")
	require.NoError(s.T, s.Await(s.Ctx, execution, func() bool { return execution.Status.Phase == v1alpha1.PhaseProgressing }))
	log := s.logItems()
	var found *v1alpha1.Error
	require.Eventually(s.T, func() bool {
		log.mu.Lock()
		defer log.mu.Unlock()
		for _, state := range log.states {
			if state.Status.LastError != nil {
				found = state.Status.LastError
			}
		}
		return found != nil
	}, landscape.Patience, 5*time.Millisecond)
	return found
}

// requireNothingPlanted checks that no status and no event of the namespace shows the content of a Secret.
func (s *scene) requireNothingPlanted() {
	s.T.Helper()
	require.NotContains(s.T, s.Told(), planted)
}

func TestDeletionSparesTheExecutionOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.apply(strings.Replace(execution(mockItem("a", "Succeeded")), "name: direct", "name: one", 1))
	foreign := s.execution("one")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(foreign), foreign))
	s.apply(leaf{name: "one", value: "1", annotations: follows()}.String())
	failed := s.Ended("one", v1alpha1.PhaseFailed).Status.LastError
	for _, words := range []string{"Execution", "one", "does not belong to this installation", "delete or rename"} {
		require.Contains(t, failed.Message, words)
	}
	s.delete(s.Installation("one"))
	kept := s.execution("one")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(kept), kept))
	require.Equal(t, foreign.UID, kept.UID)
	require.Equal(t, (*metav1.Time)(nil), kept.DeletionTimestamp, fmt.Sprint(kept))
}

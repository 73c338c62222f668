// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// ownScene returns a scene on a cluster of its own, whose controller looks after Environments.
func ownScene(t *testing.T) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*landscape.Patience)
	t.Cleanup(cancel)
	p := platform.New(t, platform.Options{
		ControllerManager: true, Flux: true, Git: true, Audit: true, LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	for _, name := range []string{"ls-system", "ls-env-east"} {
		require.NoError(t, p.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: "east"}}}))
	}
	for name, command := range map[string][]string{
		landscape.Controller: {"controller", "--deployer-management"}, landscape.ManifestDeployer: {"deployer manifest"}, landscape.MockDeployer: {"deployer mock"},
	} {
		landscape.Run(ctx, t, p.Cluster, name, landscape.AllRights, command[0], command[1:]...)
	}
	return &scene{&landscape.Scene{Landscape: &landscape.Landscape{Platform: p}, T: t, Ctx: ctx, Namespace: p.Namespace(t)}}
}

// sixStates commits Installations that are named for the state in which they stay: running, waiting, failed, suspended, drifted, and fenced, behind a fence
// whose agent has gone. It returns a directory with the files, in which the value of drifted is another one.
func (s *scene) sixStates() string {
	s.T.Helper()
	s.Target("cluster")
	s.Target("yard")
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}, Spec: v1alpha1.EnvironmentSpec{Namespace: "ls-env-east"}}
	require.NoError(s.T, s.Client().Create(s.Ctx, env))
	s.Annotate(&v1alpha1.Target{ObjectMeta: s.Named("yard")}, v1alpha1.EnvironmentAnnotation, env.Name)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: v1alpha1.AgentLeasePrefix + env.Name, Namespace: env.Spec.Namespace, Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: env.Name},
	}}
	lease.Spec.LeaseDurationSeconds = ptr.To[int32](1) // nobody renews it
	require.NoError(s.T, s.Client().Create(s.Ctx, lease))
	inline := func(blueprint string) string {
		return "inline: {filesystem: {blueprint.yaml: " + quote(blueprint) + "}}"
	}
	running := map[string]any{
		"imports":          []any{map[string]any{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}},
		"exports":          landscape.DataImports("address"),
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.MockItem("item", "phase: Progressing")),
		"exportExecutions": landscape.GoTemplate("exports: {address: x}"),
	}
	files := map[string][]byte{"waiting.yaml": fmt.Appendf(nil, `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: waiting, annotations: {%s: "true"}}
spec: {blueprint: {%s}, imports: {data: [{name: address, dataRef: address}]}}
`, v1alpha1.ReconcileIfChangedAnnotation, inline(landscape.Blueprint(map[string]any{"imports": landscape.DataImports("address")})))}
	for _, l := range []leaf{
		{name: "drifted", value: "as deployed"},
		{name: "running", blueprint: inline(landscape.Blueprint(running)), spec: "  exports: {data: [{name: address, dataRef: address}]}\n"},
		{name: "failed", blueprint: inline(blueprintOf("deployItems:\n- {name: item, config: {{ .imports.nothing.here }}}\n"))},
		{name: "suspended", value: "one", spec: "  suspend: true\n"},
		{name: "fenced", target: "yard", blueprint: inline(blueprintOf("deployItems:\n- {name: item, type: example.com/fenced, target: {import: cluster}, config: {}}\n"))},
	} {
		l.annotations = follows()
		files[l.name+".yaml"] = []byte(l.String())
	}
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(s.T, err)
	_, err = repo.Commit(s.Ctx, "Six states", files)
	require.NoError(s.T, err)
	s.apply(gitRepository("shop", repo), fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec: {interval: 1h, path: ./, prune: true, targetNamespace: %s, sourceRef: {kind: GitRepository, name: shop}}
`, s.Namespace))

	s.Succeeded("drifted")
	config := &corev1.ConfigMap{ObjectMeta: s.Named("drifted")}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(config), config))
	config.Data["value"] = "by hand"
	require.NoError(s.T, s.Client().Update(s.Ctx, config))
	dir := s.T.TempDir()
	files["drifted.yaml"] = []byte(leaf{name: "drifted", value: "by commit", annotations: follows()}.String())
	for name, text := range files {
		require.NoError(s.T, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

// TestSixStatesAreShown runs each command that looks at a cluster on a landscape that stands in six states. A command is repeated until the landscape is there.
func TestSixStatesAreShown(t *testing.T) {
	t.Parallel()
	s := ownScene(t)
	dir := s.sixStates()
	applied := `is applied by Kustomization ` + s.Namespace + `/shop from main@sha1:\w+ of http://\S+/` + s.Namespace + `\.git`
	for _, test := range []struct {
		command string
		status  int
		shows   []string // as regular expressions, ^ and $ meaning lines
	}{
		{"get installations", 0, []string{
			`^drifted +True +Succeeded .* False +True +False .* Not as deployed: deploy item config$`,
			`^failed +False +Failed .* False +False +False .* template`,
			`^fenced +Unknown +Progressing .* False +False +False `,
			`^running +Unknown +Progressing .* False +False +False `,
			`^suspended +False +Waiting .* True +False +True .* spec.suspend is set`,
			`^waiting +(False|Unknown) .* running`,
		}},
		{"tree kustomization/shop", 0, []string{
			`^Kustomization shop +✔ Ready +main@sha1:`,
			`├─ Installation drifted +⚠ Succeeded +drifted `, `└─ DeployItem config +⚠ Succeeded +drifted `, `└─ ConfigMap ` + s.Namespace + `/drifted$`,
			`├─ Installation failed +✗ Failed `,
			`├─ Installation fenced +► Progressing `, `└─ DeployItem item +► \w+ +pending .*yard`, `the agent of Environment east`,
			`├─ Installation running +► Progressing `, `└─ DeployItem item +► Progressing `,
			`├─ Installation suspended +⚠ Waiting +suspended pending `,
			`└─ Installation waiting +► `,
		}},
		{"why installation/running", 0, []string{`^ +► DeployItem running-item-\w+  Progressing`, applied}},
		{"why installation/waiting", 0, []string{`► Installation running  Progressing`, `► DeployItem running-item-\w+`, applied}},
		{"why installation/failed", 0, []string{`^✗ Installation failed  Failed, RenderFailed`, `^ +> +2: - {name: item`, `^To do: Correct the blueprint\.$`, applied}},
		{"why installation/suspended", 0, []string{`^⚠ Installation suspended  Waiting, Suspended`, `^To do: Remove spec\.suspend\.$`}},
		{"why installation/drifted", 0, []string{`Not as deployed: ConfigMap ` + s.Namespace + `/drifted /data/value`, `^Means: Somebody changed or deleted`}},
		{"why installation/fenced", 0, []string{`its Target yard belongs to`, `Environment east  NotReady, AgentUnreachable`, `^To do: Look at the agent`}},
		{"trace configmap/drifted", 0, []string{`^ConfigMap ` + s.Namespace + `/drifted on Target cluster$`, `└─ Installation ` + s.Namespace + `/drifted +⚠`, applied}},
		{"events installation/failed", 0, []string{`Warning +RenderFailed +Installation failed `}},
		{"get environments", 0, []string{`^east +(registering|unreachable) +false `}},
		{"get all", 0, []string{`^installation/drifted `, `^target/yard `}},
		{"version", 0, []string{`^flux-landscaper: v`, `^landscaper\.gardener\.cloud: v1alpha1$`, `^deployer manifest\S+: .* \(by DeployItem ` + s.Namespace + `/drifted-`}},
		{"check", 1, []string{`^✔ Flux serves its sources`, `^✔ all kinds of `, `^✗ there is no controller: `, `^✔ deployer manifest\S+ carries out `, `^✗ Environment east: `}},
		{"logs installation/running", 2, []string{`has no Pod of a controller or deployer whose log you may read`}},
		{"diff -f " + dir, 1, []string{
			`^Installation ` + s.Namespace + `/drifted changed: a job starts: `, `^    ~ ConfigMap ` + s.Namespace + `/drifted changed$`, `^ +data\.value: "as deployed" → "by commit"$`,
			`^► jobs that start: 1; objects on targets added: 0, changed: 1, deleted: 0$`,
		}},
		{"diff --live -f " + dir, 1, []string{`^    ~ ConfigMap ` + s.Namespace + `/drifted changed$`}},
		{"wait installation failed", 1, []string{`^✗ Installation ` + s.Namespace + `/failed: RenderFailed: `}},
		{"wait installation drifted", 0, []string{`^✔ Installation ` + s.Namespace + `/drifted: Deployed 1 item`}},
	} {
		t.Run(test.command, func(t *testing.T) {
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				run := s.command
				if strings.HasPrefix(test.command, "version") || test.command == "check" || test.command == "get environments" {
					run = s.bare // they are about no namespace
				}
				out, status := run(strings.Fields(test.command)...)
				assert.Equal(c, test.status, status, out)
				for _, line := range test.shows {
					assert.Regexp(c, "(?m)"+line, out)
				}
			}, landscape.Patience, time.Second)
		})
	}
}

// exporting deploys a ConfigMap with a value, and exports that.
func exporting(value string) string {
	return landscape.Blueprint(map[string]any{
		"imports": append(landscape.DataImports("name"), map[string]any{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}),
		"exports": landscape.DataImports("value"),
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + manifestItem("config", "{{ .imports.name }}", value) + `
    exports:
      exports:
      - key: value
        jsonPath: data.value
        fromResource: {apiVersion: v1, kind: ConfigMap, name: "{{ .imports.name }}", namespace: "{{ .imports.cluster.metadata.namespace }}"}
`),
		"exportExecutions": landscape.GoTemplate("exports: {value: {{ .values.deployitems.config.value }}}"),
	})
}

// TestSoakDiffOfManyInstallations changes the one blueprint of 500 Installations, each of which exports something.
func TestSoakDiffOfManyInstallations(t *testing.T) {
	const many = 500
	s := ownScene(t)
	s.Target("cluster")
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	var units strings.Builder
	for i := range many {
		fmt.Fprintf(&units, `---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: unit-%03[1]d, namespace: %[2]s, annotations: {%[3]s: "true"}}
spec:
  blueprint: {sourceRef: {kind: GitRepository, name: shop}, path: blueprints/unit}
  imports: {targets: [{name: cluster, target: cluster}]}
  importDataMappings: {name: unit-%03[1]d}
  exports: {data: [{name: value, dataRef: value-%03[1]d}]}
`, i, s.Namespace, v1alpha1.ReconcileIfChangedAnnotation)
	}
	_, err = repo.Commit(s.Ctx, "A blueprint", map[string][]byte{"blueprints/unit/blueprint.yaml": []byte(exporting("one"))})
	require.NoError(t, err)
	s.apply(gitRepository("shop", repo), units.String())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all, succeeded := &v1alpha1.InstallationList{}, 0
		require.NoError(c, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace)))
		for i := range all.Items {
			if all.Items[i].Status.Phase == v1alpha1.PhaseSucceeded {
				succeeded++
			}
		}
		assert.Equal(c, many, succeeded)
	}, landscape.Patience, time.Second)
	dir := t.TempDir()
	for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", "installations/units.yaml": units.String(), "blueprints/unit/blueprint.yaml": exporting("two")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	user := "differ-of-" + s.Namespace
	config, err := s.NewUser(user, landscape.AllRights...)
	require.NoError(t, err)
	access, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubeconfig"), access, 0o600))
	cli, err := binaries.BuildCLI(s.Ctx)
	require.NoError(t, err)
	diff := exec.CommandContext(s.Ctx, cli, "diff", "-f", "installations", "--kubeconfig", "kubeconfig")
	diff.Dir = dir
	began := time.Now()

	out, _ := diff.CombinedOutput()

	took, used := time.Since(began), diff.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10 // KiB on Linux
	sent, err := s.Requests(s.Ctx, began)
	require.NoError(t, err)
	verbs := map[string]int{}
	for _, request := range sent {
		if request.User == user {
			verbs[request.Verb]++
		}
	}
	state := diff.ProcessState
	t.Logf("%s, of them computing %s, %d MiB, requests %v", took, state.UserTime()+state.SystemTime(), used, verbs)
	assert.Equal(t, 1, diff.ProcessState.ExitCode())
	assert.Contains(t, string(out), fmt.Sprintf("► jobs that start: %d; objects on targets added: 0, changed: %d, deleted: 0\n", many, many))
	assert.LessOrEqual(t, took, pace.Within(10*time.Second))
	assert.LessOrEqual(t, used, int64(300))
	assert.LessOrEqual(t, verbs["get"]+verbs["list"], 100, "there are not more of them where there are more Installations")
	assert.Len(t, verbs, 2, "nothing is written")
}

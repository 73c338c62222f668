// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// fill creates the landscape of the golden tests, without what Flux has, on a cluster without controllers. Owners get the UIDs that they have there.
func fill(t *testing.T, c client.Client) {
	t.Helper()
	require.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}))
	text, err := os.ReadFile("../../landscape/testdata/landscape.yaml")
	require.NoError(t, err)
	uids := map[string]any{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		if object.GetKind() == "Kustomization" {
			continue
		}
		owners, _, _ := unstructured.NestedSlice(object.Object, "metadata", "ownerReferences")
		for _, owner := range owners {
			owner := owner.(map[string]any)
			owner["uid"] = uids[owner["uid"].(string)]
			require.NoError(t, unstructured.SetNestedSlice(object.Object, owners, "metadata", "ownerReferences"))
		}
		former, status := string(object.GetUID()), object.Object["status"]
		require.NoError(t, c.Create(t.Context(), object))
		uids[former] = string(object.GetUID())
		if status, ok := status.(map[string]any); ok {
			status = maps.Clone(status)
			if status["observedGeneration"] != nil {
				status["observedGeneration"] = object.GetGeneration()
			}
			object.Object["status"] = status
			require.NoError(t, c.Status().Update(t.Context(), object))
		}
	}
}

// TestALandscapeIsShown runs the commands against an API server that has a landscape with something in every state: running, waiting, failed,
// suspended, drifted, behind a fence.
func TestALandscapeIsShown(t *testing.T) {
	cluster := platform.New(t, platform.Options{LandscaperCRDs: true})
	c, err := connect(cluster.RestConfig)
	require.NoError(t, err)
	fill(t, c)
	p := start(t)
	p.write("kubeconfig", string(cluster.Kubeconfig))
	run := func(line string) string {
		t.Helper()
		return p.must(append(strings.Fields(line), "--kubeconfig", "kubeconfig")...)
	}

	list := run("get inst -n team")
	for _, line := range []string{
		`database +True +Succeeded .* False +True +False `, `monitoring +Unknown +Progressing .* waiting for deploy item agent`,
		`reports +False +Waiting .* True +False +True .* spec.suspend is set`, `search +False +Failed .* import index: DataObject search-index does not exist`,
	} {
		assert.Regexp(t, "(?m)^"+line, list)
	}
	assert.Equal(t, "installation.landscaper.gardener.cloud/database\n", run("get installations -n team -l team=storage -o name"))
	assert.NotContains(t, run("get dataobjects -n team -o name"), "/"+copyOfWords)
	assert.Contains(t, run("get do -n team --copies -o name"), "/"+copyOfWords)
	var database struct{ Kind, APIVersion string }
	out := run("get installation database -n team -o json")
	require.NoError(t, json.Unmarshal([]byte(out), &database))
	assert.Equal(t, "Installation", database.Kind)
	assert.NotContains(t, out, "managedFields")
	for _, line := range []string{
		"get all -n team", "get env", "tree -n team", "why installation/monitoring -n team", "trace statefulset/data/postgres", "installation inspect -n team", "version",
	} {
		out := run(line + " -o json")
		assert.True(t, json.Valid([]byte(out)), line)
		assert.NotContains(t, out, "managedFields", line)
	}
	all := run("get all -n team")
	assert.Contains(t, all, "\ncontext/default")
	assert.Contains(t, all, "\ntarget/fenced")
	assert.Contains(t, run("get env"), "unreachable")
	assert.Contains(t, run("get env east"), "unreachable")
	assert.NotContains(t, run("get env -l none=here"), "east")
	assert.Contains(t, p.fail("get", "inst", "-w", "-o", "json", "--kubeconfig", "kubeconfig"), "--watch shows a table")
	stranger, err := cluster.NewUser("stranger")
	require.NoError(t, err)
	access, err := platform.KubeconfigFor(stranger)
	require.NoError(t, err)
	p.write("stranger", string(access))
	assert.Contains(t, p.fail("get", "inst", "-n", "team", "-o", "json", "--kubeconfig", "stranger"), "you may not list Installations in namespace team")

	assert.Regexp(t, `(?m)^│  └─ DeployItem postgres +⚠ Succeeded +drifted`, run("tree -n team"))
	assert.Contains(t, run("tree web -n team --data"), "imports DataObject database-url from database")
	assert.NotContains(t, run("tree -n team --failed"), "web-cache")
	assert.Contains(t, p.fail("tree", "deployitem/x", "--kubeconfig", "kubeconfig"), "a tree is that of a Kustomization or Installation, not of a DeployItem")

	why := run("why installation/monitoring -n team")
	assert.Contains(t, why, "Environment east  NotReady, AgentUnreachable")
	assert.Contains(t, why, "To do: Look at the agent and at the network between both clusters.")
	assert.Contains(t, run("why inst search -n team"), "no Installation exports it")
	assert.Contains(t, p.fail("why", "instalation/x", "--kubeconfig", "kubeconfig"), `"instalation" is no kind of a landscape; did you mean installation?`)
	assert.Contains(t, run("trace statefulset/data/postgres"), "Installation team/database")
	assert.Contains(t, p.fail("trace", "pod/none", "--kubeconfig", "kubeconfig"), "no deploy item in any namespace has recorded pod/none")

	item := &unstructured.Unstructured{}
	item.SetAPIVersion("landscaper.gardener.cloud/v1alpha1")
	item.SetKind("DeployItem")
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "database-postgres-abcdefgh"}, item))
	require.NoError(t, c.Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "e"}, Reason: "UpgradeSucceeded", Type: "Normal", Message: "release upgraded", LastTimestamp: metav1.Now(),
		InvolvedObject: corev1.ObjectReference{Kind: "DeployItem", Namespace: "team", Name: item.GetName(), UID: item.GetUID()},
	}))
	assert.Regexp(t, `Normal +UpgradeSucceeded +DeployItem database-postgres-abcdefgh +release upgraded`, run("events installation/database -n team"))

	namesake := item.DeepCopy()
	namesake.SetName("search-postgres-abcdefgh")
	namesake.SetResourceVersion("")
	namesake.SetOwnerReferences(nil)
	require.NoError(t, c.Create(t.Context(), namesake))
	assert.Contains(t, p.fail("why", "deployitem/postgres", "-n", "team", "--kubeconfig", "kubeconfig"),
		"there are 2 DeployItems postgres: name one, database-postgres-abcdefgh (of database) or search-postgres-abcdefgh")

	for line, offers := range map[string]string{
		"tree installation": "reports\n", "why": "installation/\n", "get dataobjects": "words\n", "events inst": "search\n",
	} {
		args := append([]string{"__complete"}, strings.Fields(line+" --kubeconfig kubeconfig -n team")...)
		assert.Contains(t, p.must(append(args, "")...), offers, line)
	}
	assert.Contains(t, p.must("__complete", "why", "--kubeconfig", "kubeconfig", "-n", "team", "installation/"), "installation/reports\n")
	assert.Contains(t, p.must("__complete", "tree", "--kubeconfig", "kubeconfig", "-n", ""), "team\n")
}

// TestManyInstallationsFitIntoMemory shows 500 Installations, each with an Execution and a DeployItem. How long that takes is in the log.
func TestManyInstallationsFitIntoMemory(t *testing.T) {
	c, p := newEstate(t)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(20)
	for i := range 500 {
		group.Go(func() error {
			inst := installation(fmt.Sprintf("i%03d", i))
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: inst.Name}}
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: inst.Name}, Spec: v1alpha1.DeployItemSpec{Type: v1alpha1.MockDeployItemType}}
			var owner client.Object
			for _, object := range []client.Object{inst, execution, item} {
				object.SetNamespace(c.namespace)
				if owner != nil {
					if err := controllerutil.SetControllerReference(owner, object, c.Scheme()); err != nil {
						return err
					}
				}
				if err := c.Create(ctx, object); err != nil {
					return err
				}
				owner = object
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	for _, command := range []string{"get", "tree"} {
		args := []string{command}
		if command == "get" {
			args = append(args, "installations")
		}
		began := time.Now()
		cmd := exec.CommandContext(t.Context(), p.binary, append(args, "--kubeconfig", "kubeconfig")...)
		cmd.Dir = p.home
		out, err := cmd.Output()
		require.NoError(t, err)
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // KiB on Linux
		t.Logf("%s: %s, %d MiB", command, time.Since(began), used>>10)
		assert.LessOrEqual(t, used>>10, int64(300), command)
		assert.Equal(t, map[string]int{"get": 501, "tree": 1001}[command], strings.Count(string(out), "\n"), command)
	}
}

// TestChangedRowsArePrintedWhileAListIsWatched has one row that changes and others that do not.
func TestChangedRowsArePrintedWhileAListIsWatched(t *testing.T) {
	c, p := newEstate(t)
	shop, other := installation("shop"), installation("other")
	shop.Namespace, other.Namespace = c.namespace, c.namespace
	require.NoError(t, c.Create(t.Context(), shop))
	require.NoError(t, c.Create(t.Context(), other))
	watch := exec.CommandContext(t.Context(), p.binary, "get", "installations", "-w", "--kubeconfig", "kubeconfig")
	watch.Dir = p.home
	out, err := watch.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, watch.Start())
	defer func() { _, _ = watch.Process.Kill(), watch.Wait() }()
	lines := bufio.NewScanner(out)
	next := func() string {
		require.True(t, lines.Scan(), "the command ended")
		return lines.Text()
	}
	assert.Contains(t, next(), "NAME")
	assert.Regexp(t, `^other `, next())
	assert.Regexp(t, `^shop .* False +False +True`, next())

	shop.Spec.Suspend = true
	require.NoError(t, c.Update(t.Context(), shop))

	assert.Regexp(t, `^shop .* True `, next())
}

// copyOfWords is the name of the copy of an import in testdata.
const copyOfWords = "ts662u52utgmrrnoxf3c2tdqlk5e2amy"

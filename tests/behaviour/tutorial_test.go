// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// shownFile is a block of a page whose first line names the file that it is.
var shownFile = regexp.MustCompile("(?s)```yaml\n# (\\S+/\\S+)\n(.*?)```\n")

// TestTheTutorial does what docs/tutorial.md tells: its files are committed, and the edits of its sed commands are made.
func TestTheTutorial(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial.md"))
	require.NoError(t, err)
	s := newScene(t)
	here := strings.NewReplacer("namespace: shop", "namespace: "+s.Namespace)
	files := map[string][]byte{}
	for _, shown := range shownFile.FindAllStringSubmatch(string(content), -1) {
		files[shown[1]] = []byte(here.Replace(shown[2]))
	}
	require.Len(t, files, 7)
	files["installations/context.yaml"] = []byte("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Context\n" +
		"metadata: {name: default, namespace: " + s.Namespace + "}\nreconcileIfChanged: true\n") // as make run has it
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace)
	require.NoError(t, err)
	s.Target("cluster")
	s.apply(fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop}
spec: {interval: 2s, url: %q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec: {interval: 10m, retryInterval: 2s, path: ./installations, prune: true, sourceRef: {kind: GitRepository, name: shop}}
---
apiVersion: v1
kind: Secret
metadata: {name: database-password}
stringData: {password: correct-horse}
`, repo.CloneURL))
	commit := func(changed map[string][]byte) {
		_, err := repo.Commit(s.Ctx, "Follow the tutorial", changed)
		require.NoError(t, err)
	}
	edit := func(file, command string) {
		t.Helper()
		require.Contains(t, string(content), "sed -i '"+command+"' "+file)
		parts := strings.Split(command, "/")
		changed := strings.ReplaceAll(string(files[file]), parts[1], parts[2])
		require.NotEqual(t, string(files[file]), changed)
		commit(map[string][]byte{file: []byte(changed)})
	}
	requireAddress := func(address string) {
		t.Helper()
		require.Contains(t, string(content), "\n"+address+"\n")
		web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "store", Name: "web"}}
		require.NoError(t, s.Await(s.Ctx, web, func() bool { return web.Data["database"] == address }))
	}

	commit(files)
	requireCommands(t, string(content), repo.Dir)
	s.Succeeded("database")
	first := s.Succeeded("web")
	requireAddress("database.store.svc:5432")
	s.RequireJobs(1, "database", "web")
	objects := &v1alpha1.DataObjectList{}
	require.NoError(t, s.Client().List(s.Ctx, objects, client.InNamespace(s.Namespace)))
	for i := range objects.Items {
		require.NotContains(t, string(objects.Items[i].Data.RawMessage), "correct-horse", objects.Items[i].Name)
	}

	edit("blueprints/database/deploy.yaml", "s/port: 5432/port: 5433/")
	second := s.Ran("web", first.Status.JobID, v1alpha1.PhaseSucceeded)
	requireAddress("database.store.svc:5433")
	s.RequireJobs(2, "database", "web")

	edit("blueprints/web/deploy.yaml", "s/imports.database/imports.databse/")
	failed := s.Ran("web", second.Status.JobID, v1alpha1.PhaseFailed)
	require.Contains(t, string(content), failed.Status.LastError.Message[:strings.Index(failed.Status.LastError.Message, "\n")])
	requireAddress("database.store.svc:5433")
	commit(map[string][]byte{"blueprints/web/deploy.yaml": files["blueprints/web/deploy.yaml"]})
	s.Ran("web", failed.Status.JobID, v1alpha1.PhaseSucceeded)

	commit(map[string][]byte{"installations/store.yaml": nil})
	for _, name := range []string{"web", "database"} {
		require.NoError(t, s.AwaitGone(s.Ctx, &v1alpha1.Installation{ObjectMeta: s.Named(name)}))
	}
	require.NoError(t, s.AwaitGone(s.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "store"}}))
}

// requireCommands runs the commands of flux-landscaper on a page in a folder.
func requireCommands(t *testing.T, page, folder string) {
	t.Helper()
	cli, err := binaries.BuildCLI(t.Context())
	require.NoError(t, err)
	shown := regexp.MustCompile(`(?m)^flux-landscaper (.*\\\n.*|.*)$`).FindAllString(page, -1)
	require.Len(t, shown, 2)
	for _, command := range shown {
		run := exec.CommandContext(t.Context(), "sh", "-c", filepath.Join(filepath.Dir(cli), command))
		run.Dir = folder
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
	}
}

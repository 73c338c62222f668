// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// many is how many Installations a landscape may have that is still shown at once, and viewers is how many people look at it.
const (
	many    = 1000
	viewers = 20
)

// large creates Installations in rows of 25, each of which imports what the one before exports, with an Execution and a DeployItem each.
func (s *scene) large() {
	s.Helper()
	group, ctx := errgroup.WithContext(s.Context())
	group.SetLimit(20)
	for i := range many {
		group.Go(func() error { return s.row(ctx, i) })
	}
	require.NoError(s, group.Wait())
}

func (s *scene) row(ctx context.Context, i int) error {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("app-%03d", i)}}
	inst.Spec.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml":"x"}`))}
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "url", DataRef: inst.Name}}
	if i%25 > 0 {
		inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "url", DataRef: fmt.Sprintf("app-%03d", i-1)}}
	}
	execution := &v1alpha1.Execution{ObjectMeta: inst.ObjectMeta}
	item := &v1alpha1.DeployItem{ObjectMeta: inst.ObjectMeta}
	item.Labels = map[string]string{v1alpha1.ExecutionManagedNameLabel: "chart"}
	item.Spec.Type = "landscaper.gardener.cloud/helm"
	status := s.status(mood{}, 0, 10, "Deployed main@sha1:4b825dc6: 1 item in 10s")
	if err := s.client.Create(ctx, inst); err != nil {
		return err
	}
	inst.Status.JobStatus, inst.Status.ObservedGeneration = status, 1
	if err := s.client.Status().Update(ctx, inst); err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(inst, execution, s.client.Scheme()); err != nil {
		return err
	}
	if err := s.client.Create(ctx, execution); err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(execution, item, s.client.Scheme()); err != nil {
		return err
	}
	return s.client.Create(ctx, item)
}

// viewer is a user with a role of every cluster in the namespace of the scene.
func (s *scene) viewer(role string) *rest.Config {
	s.Helper()
	cluster := platform.Shared(s.T).Cluster
	people, err := os.ReadFile("../../../config/rbac/people.yaml")
	require.NoError(s, err)
	require.NoError(s, cluster.ApplyYAML(s.Context(), string(people)))
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "viewer"}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.namespace}}
	require.NoError(s, s.client.Create(s.Context(), binding))
	config, err := cluster.NewUser(s.namespace)
	require.NoError(s, err)
	c, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	require.NoError(s, err)
	require.Eventually(s, func() bool { // the API server learns of bindings by and by, and the binding names a role that is put together by a controller
		return c.List(s.Context(), &v1alpha1.InstallationList{}, client.InNamespace(s.namespace)) == nil
	}, patience, 100*time.Millisecond)
	return config
}

// run starts the command line as a person does, and returns the process and the address of the page.
func (s *scene) run(config *rest.Config) (process *os.Process, address string) {
	s.Helper()
	program, err := binaries.BuildCLI(s.Context())
	require.NoError(s, err)
	text, err := platform.KubeconfigFor(config)
	require.NoError(s, err)
	kubeconfig := filepath.Join(s.TempDir(), "kubeconfig")
	require.NoError(s, os.WriteFile(kubeconfig, text, 0o600))
	cmd := exec.CommandContext(s.Context(), program, "ui", "--kubeconfig", kubeconfig, "-n", s.namespace)
	cmd.Env = append(os.Environ(), "DISPLAY=", "WAYLAND_DISPLAY=")
	said, err := cmd.StderrPipe()
	require.NoError(s, err)
	require.NoError(s, cmd.Start())
	s.Cleanup(func() {
		assert.NoError(s, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // its status says that it was interrupted
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(s, err)
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	require.NotEmpty(s, address, line)
	return cmd.Process, address
}

// TestALargeLandscapeIsDrawnAndFollowed measures what a person waits for, how much memory the command takes, and that the API server does not notice how many
// people look.
func TestALargeLandscapeIsDrawnAndFollowed(t *testing.T) {
	s := newScene(t)
	s.large()
	process, address := s.run(s.viewer("edit"))
	b := open(t, address, 1440, 900)
	began := time.Now()

	b.visit("#group=none")

	b.await(`document.body.dataset.drawn`)
	b.await(fmt.Sprintf(`document.querySelectorAll('#graph .node').length === %d`, many))
	t.Logf("%d nodes are drawn after %s", many, time.Since(began))
	b.picture("large")

	inst := &v1alpha1.Installation{}
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "app-500"}, inst))
	inst.Status.JobStatus = s.status(mood{phase: v1alpha1.PhaseFailed, reason: "RenderFailed", message: "no value"}, 0, 10, "")
	began = time.Now()
	require.NoError(t, s.client.Status().Update(t.Context(), inst))
	b.await(`document.querySelector('[data-key$="/app-500"]').classList.contains('Failing')`)
	t.Logf("a status is seen %s after it was written", time.Since(began))

	began = time.Now()
	key := url.QueryEscape("Installation/" + s.namespace + "/app-500")
	for range viewers {
		answer, err := http.Get(address + "/api/changes")
		require.NoError(t, err)
		defer answer.Body.Close()
		_, err = bufio.NewReader(answer.Body).ReadString('\n')
		require.NoError(t, err)
		detail, err := http.Get(address + "/api/object?key=" + key)
		require.NoError(t, err)
		require.NoError(t, detail.Body.Close())
		assert.Equal(t, http.StatusOK, detail.StatusCode)
	}
	requests, err := platform.Shared(t).Cluster.Requests(t.Context(), began)
	require.NoError(t, err)
	caused := 0
	for _, request := range requests {
		if request.User == s.namespace {
			caused++
		}
	}
	assert.Less(t, caused, viewers, "requests of the command while %d people begin to look", viewers)
	memory := peak(t, process)
	t.Logf("the command took %d MiB", memory)
	assert.LessOrEqual(t, memory, 150)
}

// peak is the most memory that a process has had at once, in MiB.
func peak(t *testing.T, process *os.Process) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Pid))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "VmHWM:")
	require.True(t, found)
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return kilobytes / 1024
}

// TestWhoeverMayOnlyViewIsToldWhatIsLeftOut has the role view, which may read neither Targets nor what an Installation deploys.
func TestWhoeverMayOnlyViewIsToldWhatIsLeftOut(t *testing.T) {
	s := newScene(t)
	s.install(part{name: "database", exports: []string{"database-url"}, items: []item{{name: "postgres", kind: "helm"}}})
	s.install(part{name: "shop", imports: []string{"database-url"}, mood: mood{phase: v1alpha1.PhaseFailed, reason: "RenderFailed", message: "no value for title"}})
	_, address := s.run(s.viewer("view"))
	b := open(t, address, 1440, 900)

	b.look("#node=Installation/" + s.namespace + "/shop")

	b.await(`document.querySelector('#panel')?.textContent.includes('no value for title')`)
	b.await(`document.querySelector('#graph .flow.data')`)
	assert.Contains(t, ask[string](b, `document.querySelector('#notes').textContent`), "You may not list DataObject, DeployItem")
	assert.Equal(t, []string{"Failing1", "Drifted0", "Held0", "Working0", "Well1"}, ask[[]string](b, `[...document.querySelectorAll('#states button')].map((button) => button.textContent.replaceAll(' ', ''))`))
	b.isAccessible()
	b.picture("viewer")
}

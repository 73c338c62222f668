// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// migrating runs `flux-landscaper migrate` against a former system.
type migrating struct {
	*formerSystem
	binary, kubeconfig string
}

func newMigrating(t *testing.T) (*migrating, context.CancelFunc) {
	t.Helper()
	binary, err := binaries.BuildCLI(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*landscape.Patience)
	m := &migrating{formerSystem: newFormerSystem(ctx, t), binary: binary, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	require.NoError(t, os.WriteFile(m.kubeconfig, m.Kubeconfig, 0o600))
	return m, cancel
}

// migrate returns what the command printed and its exit status.
func (m *migrating) migrate(args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(m.ctx, m.binary, append([]string{"migrate"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = []string{"HOME=" + m.t.TempDir(), "TMPDIR=" + m.t.TempDir(), "KUBECONFIG=" + m.kubeconfig}
	_ = cmd.Run() // the status says it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// check returns the findings by kind and name, as outcome and reasons.
func (m *migrating) check() (findings map[string]string, status int) {
	m.t.Helper()
	out, errs, status := m.migrate("check", "--all", "-o", "json")
	var found []struct {
		Kind, Name, Outcome string
		Why                 []string
	}
	require.NoError(m.t, json.Unmarshal([]byte(out), &found), "%s", errs)
	findings = map[string]string{}
	for _, f := range found {
		findings[f.Kind+"/"+f.Name] = strings.TrimSpace(f.Outcome + " " + strings.Join(f.Why, " "))
	}
	return findings, status
}

func (m *migrating) requireUnchanged(before map[string]*unstructured.Unstructured) {
	m.t.Helper()
	after := m.states()
	require.ElementsMatch(m.t, keys(before), keys(after))
	for name := range before {
		assert.Equal(m.t, before[name].GetResourceVersion(), after[name].GetResourceVersion(), "%s is not written", name)
	}
}

func (m *migrating) edit(apiVersion, kind, name string, change func(*unstructured.Unstructured)) {
	m.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	require.NoError(m.t, m.Client().Get(m.ctx, client.ObjectKey{Namespace: m.namespace, Name: name}, object))
	change(object)
	require.NoError(m.t, m.Client().Update(m.ctx, object))
}

func TestMigrateCheckSaysWhatBecomesOfEachObject(t *testing.T) {
	t.Parallel()
	m, cancel := newMigrating(t)
	defer cancel()
	m.requireRefusedWhileOthersRun()
	m.shop(chart(t))
	m.rehearse()
	m.working("busy", "Progressing", true)
	ours, set := v1alpha1.GroupVersion.String(), func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(o.Object, value, path...))
		}
	}
	m.edit("v1", "ConfigMap", "database", set("by hand", "data", "value"))
	require.NoError(t, m.Client().Delete(m.ctx, m.states()["ConfigMap/shop"]))
	own := m.states()["DeployItem/shop-own-h2k9x"]
	require.NoError(t, unstructured.SetNestedMap(own.Object, managed(m.config("left-over", own.GetName(), "base")), "status", "providerStatus"))
	require.NoError(t, m.Client().Status().Update(m.ctx, own))
	m.edit("v1", "ConfigMap", "web", set("by hand", "data", "value"))
	m.edit(ours, "DeployItem", "web-m4q8z-release-tq5xz", set("other", "spec", "config", "values", "value"))
	m.edit(ours, "DeployItem", "consumer-own-8fbwz", func(o *unstructured.Unstructured) {
		set(o.Object["spec"].(object)["config"].(object)["manifests"], "spec", "config", "manifest")(o)
	})
	m.edit(ours, "Installation", "consumer", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile})
	})
	m.edit(ours, "Installation", formerWeb, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	m.root("lonely", object{"blueprint": inline(object{"imports": list{object{"name": "x", "type": "date"}}})}, ended(object{}))
	m.root("ignored", object{"blueprint": inline(object{})}, ended(object{}))
	m.edit(ours, "Installation", "ignored", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{v1alpha1.IgnoreAnnotation: "true"})
	})
	m.ours("DeployItem", "program", object{"spec": object{"type": v1alpha1.ContainerDeployItemType, "config": object{}}, "status": ended(object{})})
	m.ours("DeployItem", "robot", object{"spec": object{"type": "example.com/robot", "config": object{}}, "status": ended(object{})})
	m.ours("DeployItem", "nowhere", object{"spec": object{
		"type": v1alpha1.ManifestDeployItemType, "target": object{"name": "gone"}, "config": object{"manifests": list{}},
	}, "status": ended(object{})})
	m.ours("SyncObject", "installations-1", object{"spec": object{}})
	m.ours("CriticalProblems", "critical-problems", object{"spec": object{}})
	before := m.states()

	findings, status := m.check()

	assert.Equal(t, 1, status)
	for name, want := range map[string]string{
		"DeployItem/db-7x2lp-config-v9cwt":   "Changes would update ConfigMap " + m.namespace + "/database: /data/value",
		"DeployItem/shop-own-h2k9x":          "Changes would create ConfigMap " + m.namespace + "/shop would delete ConfigMap " + m.namespace + "/left-over",
		"DeployItem/web-m4q8z-release-tq5xz": "Changes would update ConfigMap web: /data/value would update ConfigMap " + m.namespace + "/web: /data/value",
		"DeployItem/consumer-own-8fbwz":      "did you mean manifests?",
		"DeployItem/db-7x2lp-store-5kd8f":    "Kept",
		"DeployItem/busy-item-x2x2x":         "Kept",
		"DeployItem/program":                 "Unproven Its next job runs a program of yours",
		"DeployItem/robot":                   "Unproven The deployer of type example.com/robot decides",
		"DeployItem/nowhere":                 "Unproven Its target cannot be opened",
		"Installation/busy":                  "Runs Its job goes on",
		"Installation/consumer":              "Runs Its annotation asks for the operation reconcile.",
		"Installation/" + formerWeb:          "Refused It belongs to Installation shop and has no annotation",
		"Installation/" + formerDatabase:     "Kept",
		"Installation/lonely":                "Refused",
		"Installation/ignored":               "Ignored The annotation",
		"SyncObject/installations-1":         "Ignored It is a lock",
		"CriticalProblems/critical-problems": "Ignored It tells of crashes",
	} {
		assert.Contains(t, findings[name], want, name)
	}
	assert.Contains(t, findings["DeployItem/consumer-own-8fbwz"], "Refused")
	assert.Contains(t, findings["Installation/"+formerWeb], "migrate adopt sets it")
	for name, c := range rehearsed {
		found := findings["DeployItem/"+name]
		assert.Contains(t, found, c.want, name)
		if c.wantsNever != "" {
			assert.NotContains(t, found, c.wantsNever, name)
		}
	}
	m.requireUnchanged(before)
}

// requireRefusedWhileOthersRun checks that nothing is done beside a running Gardener Landscaper.
func (m *migrating) requireRefusedWhileOthersRun() {
	m.t.Helper()
	running := m.make("apps/v1", "Deployment", "landscaper-main", object{
		"metadata": object{"labels": object{"landscaper.gardener.cloud/component": "controller-main"}},
		"spec": object{"selector": object{"matchLabels": object{"app": "x"}}, "template": object{
			"metadata": object{"labels": object{"app": "x"}},
			"spec":     object{"containers": list{object{"name": "landscaper-controller", "image": "example.com/images/landscaper-controller:v0.153.0"}}},
		}},
	})
	_, errs, status := m.migrate("adopt", "-s")
	assert.Equal(m.t, 2, status)
	assert.Contains(m.t, errs, "kubectl scale deployment landscaper-main -n "+m.namespace+" --replicas 0")
	require.NoError(m.t, m.Client().Delete(m.ctx, running))

	healthy := &v1alpha1.LsHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Name: "central", Namespace: m.namespace}, Status: v1alpha1.LsHealthCheckStatusOk, Description: "ok", LastUpdateTime: metav1.Now(),
	}
	require.NoError(m.t, m.Client().Create(m.ctx, healthy))
	_, errs, status = m.migrate("check")
	assert.Equal(m.t, 1, status)
	assert.Contains(m.t, errs, "Gardener Landscaper runs, perhaps in another cluster: LsHealthCheck "+m.namespace+"/central")
	require.NoError(m.t, m.Client().Delete(m.ctx, healthy))
}

// rehearsed are charts, and what their next jobs do.
var rehearsed = map[string]struct {
	files            map[string]string // of the chart
	deployed         string            // the value of the ConfigMap of the release; empty for none, with helmDeployment: false
	want, wantsNever string
}{
	"hooked": {
		files: map[string]string{
			"templates/cm.yaml":  configTemplate("base"),
			"templates/job.yaml": hookTemplate("pre-upgrade"), "templates/test.yaml": hookTemplate("test"), "templates/first.yaml": hookTemplate("pre-install"),
		},
		deployed: "base", want: "Unproven its next job runs hooks of the chart, which decide what they change: Job/hooked-pre-upgrade", wantsNever: "Job/hooked-test",
	},
	"defined": {
		files:    map[string]string{"templates/cm.yaml": configTemplate("base"), "crds/thing.yaml": definition},
		deployed: "base", want: "Kept", wantsNever: "would",
	},
	"counted": {
		files:    map[string]string{"templates/cm.yaml": configTemplate("{{ .Release.Revision }}")},
		deployed: "1", want: "Changes would update ConfigMap counted: /data/value",
	},
	"random": {
		files:    map[string]string{"templates/cm.yaml": configTemplate("{{ randAlphaNum 20 }}")},
		deployed: "abc", want: "Unproven two renderings of the chart differ in ConfigMap random: /data/value", wantsNever: "would",
	},
	"plain": {
		files: map[string]string{"templates/cm.yaml": configTemplate("base")},
		want:  "Changes would create ConfigMap", wantsNever: "differ",
	},
	"plain-defined": {
		files: map[string]string{"templates/job.yaml": hookTemplate("pre-upgrade"), "crds/thing.yaml": definition},
		want:  "Changes would create CustomResourceDefinition things.example.com would create Job",
	},
	"plain-random": {
		files: map[string]string{"templates/cm.yaml": strings.ReplaceAll(configTemplate("x"), "name: ", "name: {{ randAlpha 9 | lower }}-")},
		want:  "two renderings of the chart differ in ConfigMap", wantsNever: "Kept",
	},
}

const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n" +
	"  group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n" +
	"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"

func configTemplate(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {value: \"" + value + "\"}\n"
}

func hookTemplate(event string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: {{ .Release.Name }}-" + event + ", annotations: {helm.sh/hook: " + event + "}}\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: example.com/x}]}}}\n"
}

// rehearse makes the DeployItems of the charts, as they were left.
func (m *migrating) rehearse() {
	m.t.Helper()
	for name, c := range rehearsed {
		files := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: config\nversion: 1.0.0\n")}}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		packed, err := servers.PackageChart(files)
		require.NoError(m.t, err)
		m.ours("DeployItem", name, object{"status": ended(object{}), "spec": object{
			"type": v1alpha1.HelmDeployItemType, "target": object{"name": "cluster"}, "config": object{
				"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration", "name": name, "namespace": m.namespace,
				"chart": object{"archive": object{"raw": base64.StdEncoding.EncodeToString(packed)}}, "helmDeployment": c.deployed != "",
			},
		}})
		if c.deployed != "" {
			m.release(name, c.deployed)
		}
	}
}

// killer is the way of a process to an API server. It kills the process at its first write, before that arrives or after.
type killer struct {
	http.Handler
	process chan *os.Process
	before  bool
	arrived int
}

func (k *killer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		k.Handler.ServeHTTP(w, request)
		return
	}
	process := <-k.process
	if !k.before {
		k.arrived++
		k.Handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	_, _ = io.Copy(io.Discard, request.Body) // the server notices the end of a connection once it has read the request
	_ = process.Kill()
	<-request.Context().Done()
}

func TestMigrateAdoptGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	m, cancel := newMigrating(t)
	defer cancel()
	m.shop(chart(t))
	for _, name := range []string{formerWeb, formerDatabase} {
		m.edit(v1alpha1.GroupVersion.String(), "Installation", name, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	}
	hooks := &unstructured.Unstructured{}
	hooks.SetAPIVersion("admissionregistration.k8s.io/v1")
	hooks.SetKind("ValidatingWebhookConfiguration")
	hooks.SetName("landscaper-validation-webhook")
	require.NoError(t, m.Client().Create(m.ctx, hooks))
	unasked := m.states()
	_, errs, status := m.migrate("adopt")
	assert.Equal(t, 2, status)
	assert.Contains(t, errs, "Do these 3 writes? [y/N]")
	assert.Contains(t, errs, "nobody answered, and nothing was done")
	m.requireUnchanged(unasked)

	backend, err := url.Parse(m.RestConfig.Host)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.Transport, err = rest.TransportFor(m.RestConfig)
	require.NoError(t, err)
	killing := &killer{Handler: proxy, process: make(chan *os.Process, 1)}
	server := httptest.NewServer(killing)
	defer server.Close()
	access, err := platform.KubeconfigFor(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	mortal := filepath.Join(t.TempDir(), "mortal")
	require.NoError(t, os.WriteFile(mortal, access, 0o600))
	for _, killing.before = range []bool{true, false, true, false} {
		cmd := exec.CommandContext(m.ctx, m.binary, "migrate", "adopt", "-s", "--kubeconfig", mortal)
		cmd.Env = []string{"HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
		require.NoError(t, cmd.Start())
		killing.process <- cmd.Process
		require.ErrorContains(t, cmd.Wait(), "signal: killed")
	}
	assert.Equal(t, 2, killing.arrived)

	_, errs, status = m.migrate("adopt", "-s")
	assert.Zero(t, status, errs)
	assert.Equal(t, 1, strings.Count(errs, "annotate Installation"), errs)
	assert.True(t, apierrors.IsNotFound(m.Client().Get(m.ctx, client.ObjectKeyFromObject(hooks), hooks)))
	for name, template := range map[string]string{formerWeb: "web", formerDatabase: "db"} {
		assert.Equal(t, template, m.states()["Installation/"+name].GetAnnotations()[v1alpha1.SubinstallationNameAnnotation], name)
	}
	before := m.states()
	_, errs, status = m.migrate("adopt", "-s")
	assert.Zero(t, status, errs)
	m.requireUnchanged(before)
	findings, status := m.check()
	assert.Zero(t, status, findings)
	for name, finding := range findings {
		assert.Equal(t, "Kept", finding, name)
	}
	assert.Contains(t, findings, "DeployItem/web-m4q8z-release-tq5xz")
	assert.Contains(t, findings, "Installation/shop")
	m.requireUnchanged(before)

	m.takeOver()
	m.settled("shop", "consumer")
	assert.Equal(t, formerJob, m.installation(formerWeb, func(*v1alpha1.Installation) bool { return true }).Status.JobIDFinished)
}

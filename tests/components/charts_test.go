// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

const chartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// tour returns a path in the chapter of the guided tour about components.
func (s *scene) tour(path string) string {
	s.T.Helper()
	return filepath.Join(landscape.Corpus(s.T), "guided-tour", "components", "helm-chart", path)
}

// echo is the component of the tour as its constructor describes it, with access to the chart instead of the one there, unless that is
// nil. Its blueprint deploys into the namespace of the scene.
func (s *scene) echo(access object) (name string, component *built) {
	s.T.Helper()
	raw, err := os.ReadFile(s.tour("commands/component-constructor.yaml"))
	require.NoError(s.T, err)
	var constructor struct {
		Components []struct {
			Name, Version string
			Resources     []struct {
				Name, Type, Version string
				Access              object
			}
		}
	}
	require.NoError(s.T, yaml.Unmarshal(raw, &constructor))
	written := constructor.Components[0]
	component = build(written.Name, written.Version)
	for _, resource := range written.Resources {
		switch {
		case resource.Name == "blueprint":
			component.local(resource.Name, resource.Type, blueprintMediaType, archive(s.echoBlueprint()))
		case resource.Type == "helmChart" && access != nil:
			component.resource(resource.Name, resource.Type, access, object{"version": resource.Version})
		default:
			component.resource(resource.Name, resource.Type, resource.Access, object{"version": resource.Version})
		}
	}
	return written.Name, component
}

func (s *scene) echoBlueprint() map[string]string {
	s.T.Helper()
	files := map[string]string{}
	for _, name := range []string{"blueprint.yaml", "deploy-execution.yaml"} {
		raw, err := os.ReadFile(s.tour("blueprint/" + name))
		require.NoError(s.T, err)
		files[name] = string(raw)
	}
	const namespace = "namespace: example\n"
	require.Contains(s.T, files["deploy-execution.yaml"], namespace)
	files["deploy-execution.yaml"] = strings.Replace(files["deploy-execution.yaml"], namespace, "namespace: "+s.Namespace+"\n", 1)
	return files
}

// echoChart packs the chart of the tour.
func (s *scene) echoChart() []byte {
	s.T.Helper()
	packed, err := servers.PackageChart(os.DirFS(s.tour("chart/echo-server")))
	require.NoError(s.T, err)
	return packed
}

// installEcho applies Context and Installation of the tour and checks what they deploy.
func (s *scene) installEcho(name string) {
	s.T.Helper()
	s.Put("Context", "landscaper-examples", object{"repositoryContext": object{"type": "ociRegistry", "baseUrl": s.Registry.Host + "/" + s.base()}})
	s.Target("my-cluster")
	s.install("echo-server", of(name, "1.0.0", "blueprint", object{
		"context": "landscaper-examples", "imports": object{"targets": list{object{"name": "cluster", "target": "my-cluster"}}},
	}))
	s.succeededWithPods("echo-server")
	deployment := &appsv1.Deployment{ObjectMeta: s.Named("echo-server")}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(deployment), deployment))
	assert.Equal(s.T, "hashicorp/http-echo:0.2.3", deployment.Spec.Template.Spec.Containers[0].Image)
	release := &corev1.Secret{ObjectMeta: s.Named("sh.helm.release.v1.echo-server.v1")}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(release), release))
	s.Delete(s.Installation("echo-server"))
	s.Gone(s.Installation("echo-server"), deployment, release)
}

// succeededWithPods stands in for the node that the cluster does not have, until an Installation has ended: it reports Pods as ready.
func (s *scene) succeededWithPods(name string) {
	s.T.Helper()
	inst := s.Installation(name)
	require.Eventually(s.T, func() bool {
		s.reportReady()
		err := s.Client().Get(s.Ctx, client.ObjectKeyFromObject(inst), inst)
		return err == nil && inst.Status.JobID != "" && inst.Status.IsIdle()
	}, landscape.Patience, tick)
	require.Equal(s.T, v1alpha1.PhaseSucceeded, inst.Status.Phase, inst.Status.LastError)
}

func (s *scene) reportReady() {
	pods := &corev1.PodList{}
	_ = s.Client().List(s.Ctx, pods, client.InNamespace(s.Namespace)) // the next round asks again
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodRunning {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_ = s.Client().Status().Update(s.Ctx, pod)
	}
}

func TestA13ComponentWithBlueprintChartAndImage(t *testing.T) {
	s := newScene(t)
	name, component := s.echo(nil)
	s.publish(component)
	const chart = "sap-gcp-cp-k8s-stable-hub/landscaper-examples/examples/charts/guided-tour/echo-server"
	_, err := s.Registry.PushHelmChart(s.Ctx, chart, "1.0.0", s.echoChart())
	require.NoError(t, err)
	s.installEcho(name)
}

func TestA14ComponentWithChartInAHelmRepository(t *testing.T) {
	s := newScene(t)
	packed := s.echoChart()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/charts/index.yaml":
			_, _ = fmt.Fprintf(w, "entries: {echo-server: [{version: 1.0.0, urls: [echo-server.tgz], digest: %x}]}\n", sha256.Sum256(packed))
		case "/charts/echo-server.tgz":
			_, _ = w.Write(packed)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	name, component := s.echo(object{"type": "helm", "helmRepository": server.URL + "/charts", "helmChart": "echo-server", "version": "1.0.0"})
	s.publish(component)
	s.installEcho(name)
}

// note packs a chart with a ConfigMap that holds a text.
func (s *scene) note(version, text string) []byte {
	s.T.Helper()
	packed, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: note\nversion: " + version + "\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {text: " + text + "}\n",
	}))
	require.NoError(s.T, err)
	return packed
}

// noteItem deploys the chart that a template finds as a release.
func (s *scene) noteItem(name, key string) string {
	return fmt.Sprintf(`- name: %[1]s
  type: landscaper.gardener.cloud/helm
  target: {import: cluster}
  config:
    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    name: %[1]s
    namespace: %[2]s
    chart: {resourceRef: {{ getResourceKey %[3]s }}}
`, name, s.Namespace, "`"+key+"`")
}

func TestA15ResourceWithExtraIdentity(t *testing.T) {
	s := newScene(t)
	charts := build("example.com/charts", "1.0.0")
	for _, flavour := range []string{"small", "large"} {
		charts.local("note", "helmChart", chartMediaType, s.note("1.0.0", flavour))
		resources := charts.descriptor["resources"].(list)
		resources[len(resources)-1].(object)["extraIdentity"] = object{"flavour": flavour}
	}
	items := s.noteItem("by-yaml", `resource: {name: note, flavour: large}
referencePath: [{name: charts}]`) + s.noteItem("by-json", `{"resource": {"name": "note", "flavour": "small"}, "referencePath": [{"name": "charts"}]}`)
	s.publish(charts, build("example.com/notes", "1.0.0").refers("charts", "example.com/charts", "1.0.0", nil).blueprint("blueprint", object{
		"imports": list{clusterImport()}, "deployExecutions": goTemplate("deployItems:\n" + items),
	}, nil))
	s.useRegistry(nil)
	s.Target("cluster")
	s.install("notes", of("example.com/notes", "1.0.0", "blueprint", object{"imports": onCluster()}))
	s.succeeded("notes")
	assert.Equal(t, "large", s.config("by-yaml")["text"])
	assert.Equal(t, "small", s.config("by-json")["text"])
}

func TestChartOfAComponentFromASourceFollowsIt(t *testing.T) {
	s := newScene(t)
	version := func(version, text string) *built {
		return build("example.com/followed", version).local("note", "helmChart", chartMediaType, s.note(version, text)).
			blueprint("blueprint", object{"imports": list{clusterImport()},
				"deployExecutions": goTemplate("deployItems:\n" + s.noteItem("followed", "cd://resources/note"))}, nil)
	}
	s.publish(version("1.0.0", "one"))
	source := s.follow("followed", "example.com/followed", "1.x")
	s.Target("cluster")
	s.install("followed", object{
		"componentDescriptor": object{"sourceRef": object{"kind": "OCIRepository", "name": "followed"}},
		"blueprint":           object{"ref": object{"resourceName": "blueprint"}}, "imports": onCluster(),
	})
	first := s.succeeded("followed")
	assert.Equal(t, "one", s.config("followed")["text"])

	s.publish(version("1.1.0", "two"))
	s.Refresh(source)
	s.Ran("followed", first.Status.JobID, v1alpha1.PhaseSucceeded)
	assert.Equal(t, "two", s.config("followed")["text"])
}

func TestChartOfAnInlineComponent(t *testing.T) {
	s := newScene(t)
	published := build("example.com/inline", "1.0.0").local("note", "helmChart", chartMediaType, s.note("1.0.0", "beside"))
	s.publish(published)
	published.descriptor["repositoryContexts"] = list{s.repository()}
	s.Target("cluster")
	s.install("inline", object{
		"componentDescriptor": object{"inline": published.document()},
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": document(object{
			"imports": list{clusterImport()}, "deployExecutions": goTemplate("deployItems:\n" + s.noteItem("inline", "cd://resources/note")),
		})}}},
		"imports": onCluster(),
	})
	s.succeeded("inline")
	assert.Equal(t, "beside", s.config("inline")["text"])
}

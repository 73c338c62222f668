// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"encoding/json"
	"io"
	"path"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// landscapeFiles is a blueprint directory with all that a blueprint reads from its files: templates in both languages, files that they
// include, schemas, and a sub-installation with a blueprint of its own.
func landscapeFiles(namespace string) map[string]string {
	below := object{
		"imports":          list{object{"name": "cpu", "type": "data", "schema": object{"type": "integer"}}},
		"exports":          list{object{"name": "out", "type": "data", "schema": object{"type": "string"}}},
		"deployExecutions": goTemplate(mockTemplate("{cpu: {{ .imports.cpu }}}")),
		"exportExecutions": goTemplate(`exports: {out: "cpu {{ .values.deployitems.item.cpu }}"}`),
	}
	spiff := text(object{"deployItems": list{object{
		"name": "spiff", "type": "landscaper.gardener.cloud/mock", "labels": object{"made-by": "spiff"}, "dependsOn": list{"config"},
		"config": object{"apiVersion": "mock.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
			"export": object{"double": "(( imports.size.cpu * 2 ))"}},
	}}})
	return map[string]string{
		"blueprint.yaml": document(object{
			"localTypes": object{"cpu": object{"type": "integer", "maximum": 10}},
			"imports": list{clusterImport(), object{"name": "size", "type": "data", "schema": object{"$ref": "blueprint://schemas/size.json"}},
				object{"name": "color", "type": "data", "required": false, "default": object{"value": "blue"}, "schema": object{"type": "string"}}},
			"exports": list{object{"name": "summary", "type": "data", "schema": object{"type": "string"}}},
			"deployExecutions": list{
				object{"name": "config", "type": "GoTemplate", "file": "/deploy.yaml"},
				object{"name": "spiff", "type": "Spiff", "file": "/spiff.yaml"},
			},
			"exportExecutions": goTemplate(`exports: {summary: "{{ .values.deployitems.spiff.double }} {{ .dataobjects.below }}"}`),
			"subinstallations": list{object{"file": "/below/installation.yaml"}},
		}),
		"schemas/size.json": `{"type": "object", "properties": {"cpu": {"$ref": "local://cpu"}}, "required": ["cpu"]}`,
		"spiff.yaml":        spiff,
		"deploy.yaml": configTemplate(namespace, "landscape",
			`size: {{ .imports.size | toJson | quote }}`, `color: {{ .imports.color }}`,
			`included: {{ include "/parts/greeting.txt" (dict "name" "you") }}`,
			`read: {{ readFile "/parts/plain.txt" | toString | quote }}`),
		"parts/greeting.txt": "hello {{ .name }}",
		"parts/plain.txt":    "a plain text\n",
		"below/installation.yaml": text(object{
			"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "InstallationTemplate", "name": "below",
			"blueprint":          object{"filesystem": object{"blueprint.yaml": document(below)}},
			"imports":            object{"data": list{object{"name": "size", "dataRef": "size"}}},
			"importDataMappings": object{"cpu": "(( size.cpu ))"},
			"exports":            object{"data": list{object{"name": "out", "dataRef": "below"}}},
		}),
	}
}

// text writes a document: JSON is YAML.
func text(content object) string {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// published publishes the files in one way and returns the fields of an Installation that name them.
type published func(s *scene, files map[string]string) object

// addSource creates a Flux source.
func (s *scene) addSource(source client.Object) {
	s.T.Helper()
	source.SetNamespace(s.Namespace)
	require.NoError(s.T, s.Client().Create(s.Ctx, source))
}

// commit makes a GitRepository of the files.
func (s *scene) commit(name string, files map[string]string) {
	s.T.Helper()
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace+"/"+name)
	require.NoError(s.T, err)
	content := map[string][]byte{}
	for file, text := range files {
		content[file] = []byte(text)
	}
	_, err = repo.Commit(s.Ctx, "Begin", content)
	require.NoError(s.T, err)
	s.addSource(&sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: sourcev1.GitRepositorySpec{
		URL: repo.CloneURL, Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
	}})
}

// below puts files into a folder.
func below(folder string, files map[string]string) map[string]string {
	moved := map[string]string{}
	for name, text := range files {
		moved[path.Join(folder, name)] = text
	}
	return moved
}

func inGit(s *scene, files map[string]string) object {
	s.commit("landscape", below("deep/blueprint", files))
	return object{"blueprint": object{"sourceRef": object{"kind": "GitRepository", "name": "landscape"}, "path": "./deep/blueprint"}}
}

func asArtifact(s *scene, files map[string]string) object {
	_, err := s.Registry.PushFluxArtifact(s.Ctx, s.Namespace+"/landscape", "1.0.0", servers.Files(files))
	require.NoError(s.T, err)
	s.addSource(&sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Name: "landscape"}, Spec: sourcev1.OCIRepositorySpec{
		URL: s.Registry.URL(s.Namespace + "/landscape"), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
		Reference: &sourcev1.OCIRepositoryRef{SemVer: "1.x"},
	}})
	return object{"blueprint": object{"sourceRef": object{"kind": "OCIRepository", "name": "landscape"}}}
}

func asComponent(s *scene, files map[string]string) object {
	s.publish(build("example.com/landscape", "1.0.0").local("blueprint", blueprintType, blueprintMediaType, archive(files)))
	s.useRegistry(nil)
	return of("example.com/landscape", "1.0.0", "blueprint", nil)
}

func asCTF(s *scene, files map[string]string) object {
	written := fileSink{}
	version := s.version(build("example.com/landscape", "1.0.0").local("blueprint", blueprintType, blueprintMediaType, archive(files)))
	require.NoError(s.T, component.WriteCTF(written, []component.Version{version}, component.SchemaV3))
	s.commit("components", below("ctf", written))
	return object{
		"componentDescriptor": object{"sourceRef": object{"kind": "GitRepository", "name": "components"}, "path": "ctf"},
		"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
	}
}

func inBucket(s *scene, files map[string]string) object {
	store := servers.StartObjectStore(s.T)
	store.CreateBucket(s.T, "landscapes")
	store.Put(s.T, "landscapes", below("shop/blueprint", files))
	s.secret("bucket", map[string]string{"accesskey": "reader", "secretkey": "open sesame"})
	s.addSource(&sourcev1.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "landscapes"}, Spec: sourcev1.BucketSpec{
		Provider: sourcev1.BucketProviderGeneric, BucketName: "landscapes", Endpoint: store.Endpoint, Insecure: true, Region: "us-east-1",
		Interval: metav1.Duration{Duration: time.Hour}, SecretRef: &fluxmeta.LocalObjectReference{Name: "bucket"},
	}})
	return object{"blueprint": object{"sourceRef": object{"kind": "Bucket", "name": "landscapes"}, "path": "shop/blueprint"}}
}

// fileSink collects the files of an archive.
type fileSink map[string]string

// Put implements component.Sink.
func (f fileSink) Put(name string, _ int64, content io.Reader) error {
	raw, err := io.ReadAll(content)
	f[name] = string(raw)
	return err
}

// outcome is what an Installation led to, without what belongs to one namespace or job.
type outcome struct {
	Items, Below []v1alpha1.DeployItemTemplate
	Labels       map[string]string
	Annotations  map[string]string
	Config       map[string]string
	Summary      string
}

// outcomeOf reads what the Installation "landscape" led to, with the word NAMESPACE for the namespace.
func (s *scene) outcomeOf() outcome {
	s.T.Helper()
	child := s.Child("landscape", "below")
	require.NotNil(s.T, child)
	execution := s.execution("landscape")
	delete(execution.Annotations, v1alpha1.JobAnnotation)
	found := outcome{
		Items: s.items(execution), Below: s.items(s.execution(child.Name)), Labels: execution.Labels, Annotations: execution.Annotations,
		Config: s.config("landscape"), Summary: s.value("summary"),
	}
	raw, err := json.Marshal(found)
	require.NoError(s.T, err)
	var neutral outcome
	require.NoError(s.T, json.Unmarshal([]byte(strings.ReplaceAll(string(raw), s.Namespace, "NAMESPACE")), &neutral))
	return neutral
}

func (s *scene) execution(name string) *v1alpha1.Execution {
	s.T.Helper()
	execution := &v1alpha1.Execution{}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, execution))
	return execution
}

func (s *scene) items(execution *v1alpha1.Execution) []v1alpha1.DeployItemTemplate {
	s.T.Helper()
	items, err := storage.Unpack(&execution.Spec)
	require.NoError(s.T, err)
	return items
}

func TestTheSameLandscapeComesOutOfEverySource(t *testing.T) {
	t.Parallel()
	ways := map[string]published{
		"git source": inGit, "OCI artifact": asArtifact, "component": asComponent, "CTF in a git source": asCTF, "bucket": inBucket,
	}
	outcomes := make(chan outcome, len(ways))
	t.Run("ways", func(t *testing.T) {
		for name, publish := range ways {
			t.Run(name, func(t *testing.T) {
				s := newScene(t)
				s.Target("cluster")
				s.Put("DataObject", "size", object{"data": object{"cpu": 4}})
				spec := publish(s, landscapeFiles(s.Namespace))
				spec["imports"] = object{"targets": list{object{"name": "cluster", "target": "cluster"}}, "data": list{object{"name": "size", "dataRef": "size"}}}
				spec["exports"] = object{"data": list{object{"name": "summary", "dataRef": "summary"}}}
				s.install("landscape", spec)
				s.succeeded("landscape")
				outcomes <- s.outcomeOf()
			})
		}
	})
	close(outcomes)
	first, ok := <-outcomes
	require.True(t, ok)
	assert.Equal(t, `"8 cpu 4"`, first.Summary)
	assert.Equal(t, map[string]string{
		"size": `{"cpu":4}`, "color": "blue", "included": "hello you", "read": "a plain text\n",
	}, first.Config)
	require.Len(t, first.Items, 2)
	require.Len(t, first.Below, 1)
	compared := 1
	for other := range outcomes {
		assert.Equal(t, first, other)
		compared++
	}
	assert.Equal(t, len(ways), compared)
}

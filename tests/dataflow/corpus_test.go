// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// tour is a walk through a chapter of the guided tour of existing users. Their manifests are applied as they are, except that an
// Installation, or a template of one, that names a blueprint of a component gets that same blueprint in place.
type tour struct {
	*scene
	chapter string
	values  map[string]string
}

// corpusDir is the folder with the manifests of existing users, which lies beside the checkout or where FLUX_LANDSCAPER_CORPUS says.
func corpusDir() string {
	if dir := os.Getenv("FLUX_LANDSCAPER_CORPUS"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared", "corpus")
}

// walk opens a chapter of the guided tour, with Targets of the cluster itself.
func (s *scene) walk(chapter string) *tour {
	s.T.Helper()
	if _, err := os.Stat(corpusDir()); err != nil {
		s.T.Skipf("THE CORPUS IS NOT HERE: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	config, err := s.NewUser(s.Deployer(), "system:masters")
	require.NoError(s.T, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.T, err)
	return &tour{scene: s, chapter: chapter, values: map[string]string{
		"namespace": s.Namespace, "targetNamespace": s.Namespace, "kubeconfig": indent(6, string(kubeconfig)),
		"repoBaseUrl": "example.com/components", "name": "my-cluster",
	}}
}

// read returns a file of the chapter with its placeholders filled in.
func (w *tour) read(path string) string {
	w.T.Helper()
	raw, err := os.ReadFile(filepath.Join(corpusDir(), "guided-tour", w.chapter, path))
	require.NoError(w.T, err)
	text := string(raw)
	for name, value := range w.values {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}

// apply applies manifests of the chapter, as a user of kubectl does.
func (w *tour) apply(paths ...string) {
	w.T.Helper()
	for _, path := range paths {
		require.NoError(w.T, w.ApplyYAML(w.Ctx, w.read(path)))
	}
}

// colours applies the Target of the chapter once for each colour.
func (w *tour) colours(names ...string) {
	w.T.Helper()
	for _, name := range names {
		w.values["color"] = name
		w.apply("component/installation/target.yaml.tpl")
	}
}

// blueprint is a blueprint that a manifest holds in place: the content of its files by path.
type blueprint map[string]string

// blueprint reads the files of a blueprint of the chapter.
func (w *tour) blueprint(path string) blueprint {
	w.T.Helper()
	files := blueprint{}
	entries, err := os.ReadDir(filepath.Join(corpusDir(), "guided-tour", w.chapter, path))
	require.NoError(w.T, err)
	for _, entry := range entries {
		files[entry.Name()] = w.read(filepath.Join(path, entry.Name()))
	}
	return files
}

// replace changes a text that a file has once.
func (w *tour) replace(files blueprint, file, from, to string) {
	w.T.Helper()
	require.Equal(w.T, 1, strings.Count(files[file], from), "%q in %s:\n%s", from, file, files[file])
	files[file] = strings.Replace(files[file], from, to, 1)
}

// nest puts a blueprint in place of references to it: in templates written as they are, and in templates that are rendered by a file
// beside them, whose content is not rendered with them.
func (w *tour) nest(files blueprint, reference string, nested blueprint) {
	w.T.Helper()
	raw, err := json.Marshal(nested)
	require.NoError(w.T, err)
	count := 0
	for name, text := range files {
		place := string(raw)
		if strings.Contains(text, "{{") {
			place = `{{ readFile "/nested.json" | toString }}`
		}
		count += strings.Count(text, "ref: "+reference)
		files[name] = strings.ReplaceAll(text, "ref: "+reference, "filesystem: "+place)
	}
	require.Positive(w.T, count, "references to %s", reference)
	files["nested.json"] = string(raw)
}

// install applies an Installation of the chapter with its blueprint in place and returns its name.
func (w *tour) install(path string, files blueprint, changes ...func(spec object)) string {
	w.T.Helper()
	installation := &unstructured.Unstructured{}
	require.NoError(w.T, yaml.Unmarshal([]byte(w.read(path)), &installation.Object))
	spec := installation.Object["spec"].(object)
	delete(spec, "componentDescriptor")
	filesystem := object{}
	for name, text := range files {
		filesystem[name] = text
	}
	spec["blueprint"] = object{"inline": object{"filesystem": filesystem}}
	for _, change := range changes {
		change(spec)
	}
	require.NoError(w.T, w.Apply(w.Ctx, installation))
	return installation.GetName()
}

// succeed installs like install and waits until the job that the manifest asks for has succeeded.
func (w *tour) succeed(path string, files blueprint, changes ...func(spec object)) string {
	w.T.Helper()
	former := &v1alpha1.InstallationList{}
	require.NoError(w.T, w.Client().List(w.Ctx, former, client.InNamespace(w.Namespace)))
	jobs := map[string]string{}
	for _, inst := range former.Items {
		jobs[inst.Name] = inst.Status.JobID
	}
	name := w.install(path, files, changes...)
	w.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == v1alpha1.PhaseSucceeded && inst.Status.IsIdle() && inst.Status.ObservedGeneration == inst.Generation &&
			inst.Annotations[v1alpha1.OperationAnnotation] == "" && inst.Status.JobID != jobs[name]
	})
	return name
}

// remove deletes an Installation, as a user of kubectl does, and waits until it and all that it made is gone.
func (w *tour) remove(name string) {
	w.T.Helper()
	w.Delete(w.Installation(name))
	w.Gone(w.Installation(name))
	require.Eventually(w.T, func() bool { return len(w.objectsOf()) == 0 }, landscapePatience, tick, "%v", w.objectsOf())
}

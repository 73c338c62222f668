// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	helmengine "helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

const notesFile = "NOTES.txt"

// packedChart is a chart as it was found: an archive, or files. Only children look into it.
type packedChart struct {
	Archive []byte
	Files   []*loader.BufferedFile
}

// load reads the chart.
func (p packedChart) load() (*helmchart.Chart, error) {
	var chart *helmchart.Chart
	var err error
	if p.Archive != nil {
		chart, err = loader.LoadArchive(bytes.NewReader(p.Archive))
	} else if chart, err = loader.LoadFiles(p.Files); err == nil {
		err = action.CheckDependencies(chart, chart.Metadata.Dependencies)
	}
	if err == nil {
		err = chart.Validate()
	}
	if err != nil {
		return nil, err
	}
	if chart.Metadata.Type == "library" {
		return nil, fmt.Errorf("%s is a library chart; name a chart of type application", chart.Name())
	}
	return chart, nil
}

// describe tells the parent what it has to know of a chart.
func (w *worker) describe(chart *helmchart.Chart) {
	w.product.Name, w.product.Version = chart.Name(), chart.Metadata.Version
	w.product.IsDynamic, w.product.HasDefinitions = isDynamic(chart), len(chart.CRDObjects()) > 0
}

// isDynamic reports whether the chart may ask for API versions, or brings kinds that its own templates may then use.
func isDynamic(chart *helmchart.Chart) bool {
	return len(chart.CRDObjects()) > 0 || asksForKinds(chart) || slices.ContainsFunc(chart.Dependencies(), isDynamic)
}

func asksForKinds(chart *helmchart.Chart) bool {
	asks := func(file *helmchart.File) bool { return asksForKindsIn(file.Data) }
	return slices.ContainsFunc(chart.Raw, asks) || slices.ContainsFunc(chart.Dependencies(), asksForKinds)
}

// asksForKindsIn reports whether a text asks for API versions if it is rendered as a template.
func asksForKindsIn(text []byte) bool {
	return bytes.Contains(text, []byte("APIVersions")) || capabilities.Match(text)
}

// capabilities finds .Capabilities as a whole, as in toYaml .Capabilities, and not one of its fields.
var capabilities = regexp.MustCompile(`\.Capabilities([^.\w]|$)`)

// definitions returns the objects of the crds directories. A dependency that the values switch off has no part in the release.
func (w *worker) definitions(chart *helmchart.Chart) error {
	w.parent.Begin("dependencies of the chart")
	if err := chartutil.ProcessDependenciesWithMerge(chart, w.values); err != nil {
		return fmt.Errorf("%w: %w", ErrRender, err)
	}
	return w.crds(chart)
}

func (w *worker) crds(chart *helmchart.Chart) (err error) {
	var found []map[string]any
	for _, crd := range chart.CRDObjects() {
		if found, err = appendObjects(found, crd.Filename, string(crd.File.Data)); err != nil {
			return fmt.Errorf("%w: %w", ErrRender, err)
		}
	}
	w.product.Definitions, err = json.Marshal(found)
	return err
}

// seen returns what templates see, as plain JSON: .Values, .Release and .Chart (with both name and Name).
func (w *worker) seen(chart *helmchart.Chart) error {
	values, err := w.templateValues(chart)
	if err != nil {
		return err
	}
	plain := map[string]any{}
	for _, key := range []string{"Values", "Release", "Chart"} {
		raw, err := json.Marshal(values[key])
		if err != nil {
			return fmt.Errorf("chart %s: the %s cannot be written as JSON: %w", chart.Name(), key, err)
		}
		var value any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
			return fmt.Errorf("chart %s: the %s cannot be read as JSON: %w", chart.Name(), key, err)
		}
		plain[key] = value
	}
	// Templates know the fields of Chart.yaml by names that begin in upper case.
	if fields, ok := plain["Chart"].(map[string]any); ok {
		for key, value := range maps.Clone(fields) {
			fields[strings.ToUpper(key[:1])+key[1:]] = value
		}
	}
	w.product.Seen, err = json.Marshal(plain)
	return err
}

// templateValues returns what templates see. The chart is left without the dependencies that have no part in the release.
func (w *worker) templateValues(chart *helmchart.Chart) (chartutil.Values, error) {
	w.parent.Begin("dependencies of the chart")
	if err := chartutil.ProcessDependenciesWithMerge(chart, w.values); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRender, err)
	}
	w.parent.Begin("values of the chart and their schema")
	capabilities := cmp.Or(w.task.Capabilities, chartutil.DefaultCapabilities)
	values, err := chartutil.ToRenderValuesWithSchemaValidation(chart, w.values, w.task.Options, capabilities, w.task.SkipSchema)
	if err != nil && strings.Contains(err.Error(), "values don't meet the specifications of the schema") {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRender, err)
	}
	if all, ok := values["Values"].(chartutil.Values); ok {
		w.product.Secrets, w.given = sensitive(all), all
	}
	return values, nil
}

// lookupQuestion is the question of a child for objects of the cluster.
const lookupQuestion = "lookup"

// sought are the arguments of the function lookup of templates.
type sought struct{ APIVersion, Kind, Namespace, Name string }

// markKind is the kind by which a template says that it begins. Nobody looks up such a kind.
const markKind = "\x00begins"

// mark goes before the text of each template and renders to nothing.
const mark = `{{with lookup "" "` + `\x00begins` + `" "" .Template.Name}}{{end}}`

// asking is the function lookup of templates in a child: it hands each question over to the parent.
type asking struct {
	parent *confined.Parent
	// asked becomes true with the first question.
	asked *bool
}

// GetClientFor returns a client for a kind. Whether that has namespaces is known to the parent only.
func (a asking) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return askingClient{asking: a, sought: sought{APIVersion: apiVersion, Kind: kind}}, true, nil
}

// askingClient reads objects of one kind.
type askingClient struct {
	dynamic.NamespaceableResourceInterface
	asking
	sought sought
}

// Namespace returns the client for one namespace.
func (a askingClient) Namespace(namespace string) dynamic.ResourceInterface {
	a.sought.Namespace = namespace
	return a
}

// Get reads one object.
func (a askingClient) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if a.sought.Kind == markKind {
		a.parent.Begin("template " + name)
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	a.sought.Name = name
	return a.ask()
}

// List reads all objects.
func (a askingClient) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	found, err := a.ask()
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetUnstructuredContent(found.Object)
	return list, nil
}

func (a askingClient) ask() (*unstructured.Unstructured, error) {
	*a.asked = true
	answer, err := confined.Ask[sought, json.RawMessage](a.parent, lookupQuestion, a.sought)
	if err != nil {
		return nil, err
	}
	found := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(answer, &found); err != nil {
		return nil, errors.New("the answer cannot be read")
	}
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, a.sought.Name)
	}
	return &unstructured.Unstructured{Object: found}, nil
}

// render returns what the templates render to, by the names of their files.
func (w *worker) render(chart *helmchart.Chart) (map[string]string, error) {
	values, err := w.templateValues(chart)
	if err != nil {
		return nil, err
	}
	w.parent.Begin("templates of the chart")
	eachTemplate(chart, addMark)
	defer eachTemplate(chart, removeMark)
	asked := false
	files, err := helmengine.RenderWithClientProvider(chart, values, asking{w.parent, &asked})
	if err == nil {
		return files, nil
	}
	// What the cluster has, and the kinds that it serves, may be others at another time.
	mayPass := asked || asksForKinds(chart) || asksForKindsIn(fmt.Append(nil, w.values))
	text := unmarked(err.Error())
	if mayPass && !strings.HasPrefix(text, "parse error at ") {
		return nil, errors.New(text)
	}
	return nil, fmt.Errorf("%w: %s", ErrRender, text)
}

// eachTemplate changes the templates of a chart and of its dependencies, but for those that only others include.
func eachTemplate(chart *helmchart.Chart, change func(*helmchart.File)) {
	for _, template := range chart.Templates {
		if template != nil && !strings.HasPrefix(path.Base(template.Name), "_") {
			change(template)
		}
	}
	for _, dependency := range chart.Dependencies() {
		eachTemplate(dependency, change)
	}
}

// addMark makes a template say when it begins. Dependencies with several names share their templates.
func addMark(template *helmchart.File) {
	if !bytes.HasPrefix(template.Data, []byte(mark)) {
		template.Data = append([]byte(mark), template.Data...)
	}
}

func removeMark(template *helmchart.File) {
	template.Data = bytes.TrimPrefix(template.Data, []byte(mark))
}

// firstLine finds places in the first lines of templates, where the mark shifts what follows.
var firstLine = regexp.MustCompile(`(:1:)(\d+)\b`)

// unmarked makes an error tell the places where the text of a chart has them.
func unmarked(text string) string {
	return firstLine.ReplaceAllStringFunc(text, func(place string) string {
		column, err := strconv.Atoi(place[len(":1:"):])
		if err != nil || column < len(mark) {
			return place
		}
		return ":1:" + strconv.Itoa(column-len(mark))
	})
}

// objects renders all objects.
func (w *worker) objects(chart *helmchart.Chart) error {
	files, err := w.render(chart)
	if err != nil {
		return err
	}
	if err := w.crds(chart); err != nil {
		return err
	}
	var rendered []map[string]any
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, notesFile) || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		before := len(rendered)
		if rendered, err = appendObjects(rendered, name, files[name]); err != nil {
			return fmt.Errorf("%w: %w", ErrRender, err)
		}
		for _, object := range Flat(rendered[before:]) {
			if err := complete(name, object.GetAPIVersion(), object.GetKind(), object.GetName()); err != nil {
				return err
			}
		}
	}
	if rendered, err = w.postRender(lastOfEach(rendered)); err != nil {
		return err
	}
	w.product.Objects, err = json.Marshal(rendered)
	return err
}

// lastOfEach returns objects without those that a later one takes the place of, such as a hook of the name of an object: the later one counts when they are
// applied, too, and kustomize refuses both.
func lastOfEach(objects []map[string]any) []map[string]any {
	type identity struct {
		kind            schema.GroupKind
		namespace, name string
	}
	identityOf := func(fields map[string]any) identity {
		object := unstructured.Unstructured{Object: fields}
		return identity{object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}
	}
	last := map[identity]int{}
	for i, object := range objects {
		last[identityOf(object)] = i
	}
	var kept []map[string]any
	for i, object := range objects {
		if at := last[identityOf(object)]; at == i || (&unstructured.Unstructured{Object: object}).IsList() {
			kept = append(kept, object)
		}
	}
	return kept
}

// release renders what Helm records of a revision, as Helm does.
func (w *worker) release(chart *helmchart.Chart) error {
	if err := w.checkVersion(chart); err != nil {
		return err
	}
	files, err := w.render(chart)
	if err != nil {
		return err
	}
	w.product.Notes = files[path.Join(chart.Name(), "templates", notesFile)]
	maps.DeleteFunc(files, func(name string, _ string) bool { return strings.HasSuffix(name, notesFile) })
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRender, err)
	}
	if len(hooks) > 0 {
		w.product.Given = textsIn(nil, w.given, shortestText, true)
	}
	var all bytes.Buffer
	for _, manifest := range manifests {
		if err := completeHead(manifest); err != nil {
			return err
		}
		fmt.Fprintf(&all, "---\n# Source: %s\n%s\n", manifest.Name, manifest.Content)
	}
	manifest, err := w.postRendered(all.String())
	if err != nil {
		return fmt.Errorf("error while running post render on files: %w", err)
	}
	return w.keepRevision(chart, hooks, manifest)
}

// complete refuses an object without what every API server asks for. It would be tried again until the time is up.
func complete(file, apiVersion, kind, name string) error {
	missing := "metadata.name, and generateName would make another object in each job"
	switch {
	case kind == "":
		missing = "kind"
	case apiVersion == "":
		missing = "apiVersion"
	case name != "":
		return nil
	}
	return fmt.Errorf("%w: file %s of the chart renders to an object without %s", ErrRender, file, missing)
}

// completeHead is complete for a document of a release. Lists need no name, and one with comments alone is no object.
func completeHead(manifest releaseutil.Manifest) error {
	head, name := manifest.Head, ""
	if head.Kind == "" {
		if objects, err := ParseManifest(manifest.Content); err == nil && len(objects) == 0 {
			return nil
		}
	}
	if strings.HasSuffix(head.Kind, "List") {
		name = head.Kind
	} else if head.Metadata != nil {
		name = head.Metadata.Name
	}
	return complete(manifest.Name, head.Version, head.Kind, name)
}

// keepRevision makes a revision the product of the task, if the parent can afford to parse it.
func (w *worker) keepRevision(chart *helmchart.Chart, hooks []*release.Hook, manifest string) (err error) {
	w.parent.Begin("manifest of the chart")
	all := manifest
	for _, hook := range hooks {
		all += "\n---\n" + hook.Manifest
	}
	if len(all) > maxProduct {
		return fmt.Errorf("%w: the manifest of the chart is larger than %d MiB; make less of it", ErrUnaffordable, maxProduct>>20)
	}
	if err := foreign.Afford([]byte(all)); errors.Is(err, foreign.ErrTooMuch) {
		return fmt.Errorf("%w: the manifest of the chart %w; resolve its aliases", ErrUnaffordable, err)
	}
	if err := tryTypes(manifest); err != nil {
		return err
	}
	w.product.Manifest = manifest
	if w.product.Hooks, err = json.Marshal(hooks); err != nil {
		return err
	}
	w.product.Record, err = json.Marshal(chart)
	return err
}

// hugeNumber finds what may be a quantity that takes hours to work out, or ends the process.
var hugeNumber = regexp.MustCompile(`[0-9.]{65}|[eE][-+]?[0-9]{3}`)

// tryTypes turns the objects of a manifest into Go types, as Helm does in the parent, so that what takes for ever there ends here.
func tryTypes(manifest string) (err error) {
	if !hugeNumber.MatchString(manifest) {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%w: an object has a quantity that cannot be worked out; write it shorter, such as 500m or 2Gi", ErrRender)
		}
	}()
	objects, err := ParseManifest(manifest)
	for _, object := range Flat(objects) {
		if typed, unknown := scheme.Scheme.New(object.GroupVersionKind()); unknown == nil {
			_ = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed) // the API server says what is wrong
			_, _ = json.Marshal(typed)
		}
	}
	return err
}

func (w *worker) checkVersion(chart *helmchart.Chart) error {
	wanted, has := chart.Metadata.KubeVersion, w.task.Capabilities.KubeVersion.String()
	if wanted != "" && !chartutil.IsCompatibleRange(wanted, has) {
		return fmt.Errorf("%w: chart requires kubeVersion: %s which is incompatible with Kubernetes %s", ErrChart, wanted, has)
	}
	return nil
}

// postRendered returns a manifest as the request wants its objects.
func (w *worker) postRendered(manifest string) (string, error) {
	if len(w.task.PostRenderers) == 0 && w.task.Metadata == nil {
		return manifest, nil
	}
	objects, err := ParseManifest(manifest)
	if err != nil {
		return "", err
	}
	if objects, err = w.postRender(objects); err != nil {
		return "", err
	}
	written, err := writeManifest(objects)
	return string(written), err
}

// postRender returns rendered objects as the request wants them: post-rendered, and then with its metadata.
func (w *worker) postRender(objects []map[string]any) ([]map[string]any, error) {
	w.parent.Begin("post renderers")
	return postRender(objects, w.task.PostRenderers, w.task.Metadata)
}

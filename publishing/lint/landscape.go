// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// Place is a directory or file to check.
type Place struct {
	// Artifact is the tree around it, such as a Git repository: paths of blueprints do not leave it.
	Artifact fs.FS
	// Path of the place in the artifact.
	Path string
	// Name of the place in findings.
	Name string
}

// Landscape checks the blueprints and the objects of a landscape in places, and what connects them. Objects are those of the API of this project, and the
// ConfigMaps and Secrets that they read. Folders of charts, files of Kustomize with the patches that they name, and what begins with a dot are left out.
// An error means that a place could not be read; what is wrong there is in the report.
func Landscape(ctx context.Context, places []Place) (*Report, error) {
	l := newLandscape(places)
	l.ctx = ctx
	if err := l.read(); err != nil {
		return nil, err
	}
	for _, o := range l.objects {
		l.check(o)
	}
	l.connect()
	l.report.sort()
	return l.report, ctx.Err()
}

// read takes what lies in the places.
func (l *landscape) read() error {
	if err := v1alpha1.AddToScheme(l.scheme); err != nil {
		return err
	}
	for _, p := range l.places {
		w := &walk{landscape: l, Place: p, blueprints: map[string]bool{}, patches: map[string]bool{}}
		if err := w.all(); err != nil {
			return err
		}
	}
	return nil
}

// landscape is what lies in the places.
type landscape struct {
	reporter
	ctx    context.Context
	places []Place
	scheme *runtime.Scheme
	// isUnchecked says that blueprints are left alone.
	isUnchecked bool
	// files are those that are read.
	files   map[string]bool
	objects []*object
	// named are the objects by kind and name, exported what Installations export.
	named    map[string][]*object
	exported map[string][]reference
}

// walk goes through one place.
type walk struct {
	*landscape
	Place
	// blueprints are folders that are checked, patches are files that Kustomize merges into others.
	blueprints, patches map[string]bool
}

// name is what people call a path of the artifact.
func (p Place) name(at string) string {
	return path.Join(p.Name, strings.TrimPrefix(strings.TrimPrefix(at, path.Clean(p.Path)), "/"))
}

var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func (w *walk) all() error {
	if path.Base(w.Path) == model.FileName {
		w.Name, w.Path = path.Dir(w.Name), path.Dir(w.Path)
	}
	return fs.WalkDir(w.Artifact, w.Path, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != w.Path && strings.HasPrefix(entry.Name(), "."), entry.IsDir() && w.has(at, "Chart.yaml"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			w.kustomization(at)
			if w.has(at, model.FileName) {
				return w.blueprint(at)
			}
			return nil
		case w.inBlueprint(at) || w.patches[at] || slices.Contains(kustomizations, entry.Name()):
			return nil
		case at != w.Path && !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(at)):
			return nil
		}
		file := w.name(at)
		if w.files[file] {
			return nil // places may lie in each other
		}
		w.files[file] = true
		text, err := fs.ReadFile(w.Artifact, at)
		if err == nil {
			w.documents(file, text)
		}
		return err
	})
}

func (w *walk) has(folder, file string) bool {
	info, err := fs.Stat(w.Artifact, path.Join(folder, file))
	return err == nil && info.Mode().IsRegular()
}

// inBlueprint reports whether a file belongs to a blueprint.
func (w *walk) inBlueprint(at string) bool {
	for at != "." && at != "/" {
		if at = path.Dir(at); w.blueprints[at] {
			return true
		}
	}
	return false
}

// blueprint checks the blueprint in a folder, unless one that names the folder was checked before.
func (w *walk) blueprint(folder string) error {
	w.report.Blueprints++
	if w.blueprints[folder] {
		return nil
	}
	w.blueprints[folder] = true
	if w.isUnchecked {
		return nil
	}
	files, err := fs.Sub(w.Artifact, folder)
	if err != nil {
		return err
	}
	c := &checker{
		reporter: reporter{report: w.report}, ctx: w.ctx, files: files, artifact: w.Artifact, folder: folder, checked: w.blueprints,
		seen: map[string]bool{}, prefix: strings.TrimPrefix(w.name(folder)+"/", "./"),
	}
	c.run(Options{})
	return nil
}

// kustomization notes what the file of Kustomize in a folder says of others: patches are no whole objects, and generated ConfigMaps are there.
func (w *walk) kustomization(folder string) {
	var file struct {
		Patches, PatchesJson6902 []struct {
			Path string `json:"path"`
		}
		PatchesStrategicMerge []string
		ConfigMapGenerator    []struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		}
	}
	for _, name := range kustomizations {
		text, err := fs.ReadFile(w.Artifact, path.Join(folder, name))
		if err != nil || yaml.Unmarshal(text, &file) != nil {
			continue
		}
		for _, patch := range append(file.Patches, file.PatchesJson6902...) {
			w.patches[path.Join(folder, patch.Path)] = true
		}
		for _, patch := range file.PatchesStrategicMerge {
			w.patches[path.Join(folder, patch)] = true
		}
		for _, made := range file.ConfigMapGenerator {
			o := &object{kind: "ConfigMap", namespace: made.Namespace, name: made.Name}
			w.named[o.key()] = append(w.named[o.key()], o)
		}
	}
}

var separator = regexp.MustCompile(`(?m)^---[ \t]*(?:#.*)?\r?$`)

// documents takes the objects of a file. Each document begins with as many empty lines as stand before it, so that its lines are those of the file.
func (w *walk) documents(file string, text []byte) {
	starts := append(separator.FindAllIndex(text, -1), []int{len(text)})
	begin := 0
	for _, next := range starts {
		document := append(bytes.Repeat([]byte("\n"), bytes.Count(text[:begin], []byte("\n"))), text[begin:next[0]]...)
		begin = next[len(next)-1]
		w.object(file, document)
	}
}

// ours is a document of the API, even one that is no YAML.
var ours = regexp.MustCompile(`(?m)^apiVersion: *["']?` + regexp.QuoteMeta(v1alpha1.GroupName) + `/`)

// object takes an object that matters; of others nothing is said.
func (w *walk) object(file string, text []byte) {
	raw, err := foreign.ToJSON(text)
	if err != nil {
		if ours.Match(text) {
			message, at := splitLine(err.Error())
			w.add(Error, file, at, "", "it %s", message)
		}
		return
	}
	var header struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		Sops             any
	}
	if yaml.Unmarshal(raw, &header) != nil {
		return
	}
	group, version, _ := strings.Cut(header.APIVersion, "/")
	o := &object{document: parseDocument(file, text), kind: header.Kind, namespace: header.Metadata.Namespace, name: header.Metadata.Name, raw: raw, isSealed: header.Sops != nil}
	isOurs := group == v1alpha1.GroupName && o.kind != model.Kind && o.kind != "InstallationTemplate"
	if !isOurs && (header.APIVersion != "v1" || o.kind != "ConfigMap" && o.kind != "Secret") {
		return
	}
	if o.typed = w.typeOf(o, isOurs, version); o.typed == nil {
		return
	}
	w.report.Objects++
	w.objects = append(w.objects, o)
	if o.name != "" {
		w.duplicate(o)
		w.named[o.key()] = append(w.named[o.key()], o)
	}
}

// duplicate reports an object that is there already.
func (w *walk) duplicate(o *object) {
	for _, other := range w.named[o.key()] {
		if o.group() != v1alpha1.GroupName || other.namespace != o.namespace || other.document == nil {
			continue
		}
		twice, severity := reporter{w.report, ruleDuplicate}, Warning
		if other.file == o.file {
			severity = Error
		}
		twice.in(o.document, severity, "metadata.name", "%s is also in %s; remove one, unless each is for another cluster", o, other.where())
		return
	}
}

// where an object is, for people.
func (o *object) where() string { return fmt.Sprintf("%s:%d", o.file, o.at("metadata.name").line) }

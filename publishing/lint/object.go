// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	names "github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

// object is one in a file, or, without a document, one that Kustomize generates.
type object struct {
	*document
	kind, namespace, name string
	raw                   []byte
	// isSealed is true where SOPS has encrypted values.
	isSealed bool
	// typed is the object as its Go type.
	typed any
	// blueprint of an Installation, with its files; nil where it is not known.
	blueprint *model.Blueprint
	files     fs.FS
}

func (o *object) key() string { return o.kind + "/" + o.name }

// String names the object for people.
func (o *object) String() string {
	if o.namespace == "" {
		return o.kind + " " + o.name
	}
	return fmt.Sprintf("%s %s/%s", o.kind, o.namespace, o.name)
}

func (o *object) group() string {
	switch o.typed.(type) {
	case *corev1.ConfigMap, *corev1.Secret, nil:
		return ""
	}
	return v1alpha1.GroupName
}

// near reports whether two objects may be in one namespace: a Kustomization or kubectl gives one to those without.
func near(a, b string) bool { return a == b || a == "" || b == "" }

// isFilledIn reports whether Flux or a script writes something into a text later.
func isFilledIn(text string) bool { return strings.Contains(text, "${") }

// typeOf reads an object into its Go type. It returns nil, and reports why, where that cannot be done.
func (l *landscape) typeOf(o *object, isOurs bool, version string) any {
	if !isOurs {
		into := any(&corev1.ConfigMap{})
		if o.kind == "Secret" {
			into = &corev1.Secret{}
		}
		if json.Unmarshal(o.raw, into) != nil {
			return nil
		}
		return into
	}
	if version != v1alpha1.GroupVersion.Version {
		l.in(o.document, Error, "apiVersion", "%s/%s does not exist; use %s", v1alpha1.GroupName, version, v1alpha1.GroupVersion)
		return nil
	}
	into, err := l.scheme.New(v1alpha1.GroupVersion.WithKind(o.kind))
	if err != nil {
		var known []string
		for kind := range l.scheme.KnownTypes(v1alpha1.GroupVersion) {
			known = append(known, kind)
		}
		l.in(o.document, Error, "kind", "there is no kind %q in %s; %s", o.kind, v1alpha1.GroupName, cure(o.kind, known))
		return nil
	}
	if err := json.Unmarshal(o.raw, into); err != nil {
		l.in(o.document, Error, "", "it cannot be read: %v", err)
		return nil
	}
	return into
}

// check looks at an object for itself.
func (l *landscape) check(o *object) {
	if o.group() == "" {
		return
	}
	l.rule = ruleDocument
	l.unknownKeys(o.document, o.typed)
	if o.name == "" && o.at("metadata.generateName") == o.at("metadata") {
		l.in(o.document, Error, "metadata.name", "the object has no name; give it one")
	}
	l.schema(o)
	switch typed := o.typed.(type) {
	case *v1alpha1.Installation:
		l.problems(o, typed.Undecoded, validation.Installation(typed))
		for _, warning := range validation.InstallationWarnings(typed) {
			at, message, _ := strings.Cut(warning, " ")
			l.in(o.document, Warning, at, "it %s", message)
		}
		l.installation(o, typed)
	case *v1alpha1.Target:
		l.problems(o, typed.Undecoded, validation.Target(typed))
	case *v1alpha1.DeployItem:
		l.problems(o, typed.Undecoded, validation.DeployItem(typed))
		l.item(o, "spec.config", v1alpha1.DeployItemTemplate{Name: o.name, Type: typed.Spec.Type, Configuration: typed.Spec.Configuration})
	case *v1alpha1.Execution:
		l.problems(o, typed.Undecoded, validation.DeployItemTemplates(typed.Spec.DeployItems))
		for i := range typed.Spec.DeployItems {
			l.item(o, fmt.Sprintf("spec.deployItems[%d].config", i), typed.Spec.DeployItems[i])
		}
	case *v1alpha1.DataObject:
		l.problems(o, typed.Undecoded, nil)
	case *v1alpha1.Context:
		l.problems(o, typed.Undecoded, nil)
	case *v1alpha1.TargetSync:
		l.problems(o, typed.Undecoded, nil)
	case *v1alpha1.Environment:
		l.problems(o, typed.Undecoded, nil)
	case *v1alpha1.DeployerRegistration:
		l.problems(o, typed.Undecoded, nil)
	case *v1alpha1.ComponentVersionOverwrites:
		l.problems(o, typed.Undecoded, nil)
	}
}

// problems reports what could not be read of an object, and which rules it breaks.
func (l *landscape) problems(o *object, undecoded v1alpha1.Undecoded, broken field.ErrorList) {
	unread := map[string]bool{}
	for _, problem := range undecoded {
		at, message, _ := strings.Cut(problem, " ")
		unread[at] = true
		l.in(o.document, Error, at, "it %s", message)
	}
	for _, problem := range broken {
		if !unread[problem.Field] {
			l.in(o.document, Error, problem.Field, "%s", problem.ErrorBody())
		}
	}
}

// listed is an index in the way to a value, as schemas write it.
var listed = regexp.MustCompile(`\.(\d+)(\.|$)`)

// schema checks an object against the schema of its kind. Of unknown keys, and values of another type, is told already.
func (l *landscape) schema(o *object) {
	raw, err := fs.ReadFile(Schemas(), strings.ToLower(o.kind)+".json")
	var value any
	if err != nil || foreign.DecodeJSON(o.raw, &value) != nil {
		return
	}
	mismatch, ok := errors.AsType[*schema.Error](schema.New(schema.Options{}).Validate(raw, value))
	if !ok {
		return
	}
	for _, problem := range mismatch.Problems {
		field, message, _ := strings.Cut(problem, ": ")
		if !strings.HasPrefix(message, "must not have the property") && !strings.HasPrefix(message, "must be of type") {
			l.in(o.document, Error, listed.ReplaceAllString(field, "[$1]$2"), "it %s", message)
		}
	}
}

func (l *landscape) item(o *object, field string, item v1alpha1.DeployItemTemplate) {
	if err := Item(&item); err != nil {
		l.in(o.document, Error, field, "%v", err)
	}
}

// installation finds and checks the blueprint of an Installation, and how they fit.
func (l *landscape) installation(o *object, inst *v1alpha1.Installation) {
	switch b := &inst.Spec.Blueprint; {
	case b.Inline != nil:
		l.inline(o, b)
	case b.SourceReference != nil:
		l.inPlaces(o, b)
	}
	if o.blueprint == nil {
		return
	}
	l.rule = ruleReferences
	s := &inst.Spec
	connections{&s.Imports, s.ImportDataMappings, &s.Exports, s.ExportDataMappings}.check(o.blueprint, "the blueprint of this Installation",
		func(severity Severity, field, format string, args ...any) bool {
			l.in(o.document, severity, "spec."+field, format, args...)
			return severity == Warning
		})
}

func (l *landscape) inline(o *object, b *v1alpha1.BlueprintDefinition) {
	const field = "spec.blueprint.inline.filesystem"
	files, err := model.Inline(b.Inline.Filesystem.RawMessage)
	if err != nil {
		l.in(o.document, Error, field, "%v", err)
		return
	}
	artifact := files
	if files, err = model.Folder(files, b.Path); err != nil {
		l.in(o.document, Error, "spec.blueprint.path", "%v", err)
		return
	}
	own, err := Blueprint(l.ctx, files, Options{Artifact: artifact, Folder: path.Clean(b.Path)})
	if err != nil {
		return // it was cancelled
	}
	l.report.Blueprints++
	for _, f := range own.Findings {
		f.File = path.Join(b.Path, f.File)
		l.report.Findings = append(l.report.Findings, o.inside(field, f))
	}
	o.open(files)
}

// open takes the blueprint in files. What is wrong with it is reported where it lies.
func (o *object) open(files fs.FS) {
	if blueprint, err := model.Load(files); err == nil {
		o.blueprint, o.files = blueprint, files
	}
}

// inPlaces looks for a blueprint in the artifacts of the places, and below the places. Whether the Flux source of an Installation is one of them is not known.
func (l *landscape) inPlaces(o *object, b *v1alpha1.BlueprintDefinition) {
	var near []string
	for _, p := range l.places {
		for _, root := range []string{".", p.Path} {
			files, err := model.Folder(p.Artifact, path.Join(root, b.Path))
			if err == nil {
				if _, err = fs.Stat(files, model.FileName); err == nil {
					o.open(files)
					return
				}
			}
			beside, _ := fs.ReadDir(p.Artifact, path.Join(root, path.Dir(path.Clean(b.Path))))
			for _, entry := range beside {
				near = append(near, entry.Name())
			}
		}
	}
	if meant := names.Nearest(path.Base(b.Path), slices.Compact(slices.Sorted(slices.Values(near)))); meant != "" && b.Path != "" && !isFilledIn(b.Path) {
		l.in(o.document, Warning, "spec.blueprint.path", "there is no blueprint in %s; did you mean %s?", b.Path, path.Join(path.Dir(b.Path), meant))
	}
}

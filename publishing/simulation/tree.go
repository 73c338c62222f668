// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// ExportTemplates say what deploy items and Installations export, in the place of deployers.
type ExportTemplates struct {
	// DeployItems give {exports: {…}}.
	DeployItems []ExportTemplate `json:"deployItems,omitempty"`
	// Installations give {dataExports: {…}, targetExports: {…}}, which win over what the blueprint makes.
	Installations []ExportTemplate `json:"installations,omitempty"`
}

// ExportTemplate is a GoTemplate for all that its selector fits. It sees imports, installationPath, templateName, cd, components, and deployItem.
type ExportTemplate struct {
	// Name of the template.
	Name string `json:"name"`
	// Selector is a regular expression for the path: root/<sub-installation>/…, and behind that the name of a deploy item.
	Selector string `json:"selector"`
	// Template is the text.
	Template string `json:"template"`
}

// Step is one Installation of a tree.
type Step struct {
	// Path is root, or root/<sub-installation>/….
	Path string `json:"path"`
	Result
	// DataExports and TargetExports are what it gives to its parent.
	DataExports   map[string]any                   `json:"dataExports,omitempty"`
	TargetExports map[string]render.TargetTemplate `json:"targetExports,omitempty"`
	// IgnoredExports are names that export executions give and the blueprint does not declare.
	IgnoredExports []string `json:"ignoredExports,omitempty"`
}

// maxDepth is how deep sub-installations may lie in each other.
const maxDepth = 16

// Tree renders the blueprint at the root of files and those of its sub-installations, each after those whose exports it imports. Blueprints of
// sub-installations come from the component of the options, which has to be given for them.
func Tree(ctx context.Context, files fs.FS, options Options, exports ExportTemplates) ([]Step, error) {
	items, err := exportersOf(exports.DeployItems)
	if err != nil {
		return nil, err
	}
	installations, err := exportersOf(exports.Installations)
	if err != nil {
		return nil, err
	}
	root, err := rootOf(files, options)
	if err != nil {
		return nil, err
	}
	w := &walk{items: items, installations: installations}
	_, err = w.installation(ctx, root)
	return w.steps, err
}

// walk is one simulation.
type walk struct {
	items, installations []exporter
	steps                []Step
}

type exporter struct {
	ExportTemplate
	selector *regexp.Regexp
}

func exportersOf(templates []ExportTemplate) (out []exporter, err error) {
	for _, t := range templates {
		selector, err := regexp.Compile(t.Selector)
		if err != nil {
			return nil, fmt.Errorf("export template %q: selector: %w", t.Name, err)
		}
		out = append(out, exporter{t, selector})
	}
	return out, nil
}

// installation renders a node with all below it, and returns its exports.
func (w *walk) installation(ctx context.Context, n *node) (*render.ExportValues, error) {
	made, err := n.render(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.path, err)
	}
	at := len(w.steps)
	w.steps = append(w.steps, Step{Path: n.path, Result: *made.result()})
	inputs := render.ExportInputs{DeployItems: map[string]any{}, Mappings: n.exportMappings}
	for i := range made.DeployItems {
		if err := w.itemExports(ctx, n, made, &made.DeployItems[i], inputs.DeployItems); err != nil {
			return nil, err
		}
	}
	inside := scopeOf(n.blueprint, made.values)
	if err := w.children(ctx, n, made.Subinstallations, inside); err != nil {
		return nil, err
	}
	inputs.DataObjects, inputs.Targets = inside.data, inside.objects()
	exports, _, err := renderer().Exports(ctx, made.env, made.values, inputs, nil)
	if err == nil {
		err = w.ownExports(ctx, n, made, exports)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.path, err)
	}
	w.steps[at].DataExports, w.steps[at].TargetExports, w.steps[at].IgnoredExports = exports.Data, exports.Targets, exports.Ignored
	return exports, nil
}

// itemExports adds what the templates say of a deploy item to exports.
func (w *walk) itemExports(ctx context.Context, n *node, made *rendered, item *v1alpha1.DeployItemTemplate, exports map[string]any) error {
	path := n.path + "/" + item.Name
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range w.items {
		if !e.selector.MatchString(path) {
			continue
		}
		var out struct {
			Exports map[string]any `json:"exports"`
		}
		if err := e.run(ctx, n, made, map[string]any{"deployItem": object}, &out); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		merged, _ := exports[item.Name].(map[string]any)
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, out.Exports)
		exports[item.Name] = merged
	}
	return nil
}

// ownExports puts what the templates say of an Installation into exports.
func (w *walk) ownExports(ctx context.Context, n *node, made *rendered, exports *render.ExportValues) error {
	for _, e := range w.installations {
		if !e.selector.MatchString(n.path) {
			continue
		}
		var out struct {
			DataExports   map[string]any                   `json:"dataExports"`
			TargetExports map[string]render.TargetTemplate `json:"targetExports"`
		}
		if err := e.run(ctx, n, made, nil, &out); err != nil {
			return err
		}
		maps.Copy(exports.Data, out.DataExports)
		maps.Copy(exports.Targets, out.TargetExports)
	}
	return nil
}

// run executes the template into out.
func (e exporter) run(ctx context.Context, n *node, made *rendered, more map[string]any, out any) error {
	bindings := map[string]any{
		"imports": made.values.Template(), "installationPath": n.path, "templateName": e.Name,
		"cd": made.env.ComponentDescriptor, "components": made.env.Components,
	}
	maps.Copy(bindings, more)
	output, err := renderer().Execute(ctx, templating.KindGoTemplate, templating.Input{Name: e.Name, Source: e.Template, Values: bindings, RejectNoValue: true, Unmasked: true})
	if err == nil {
		err = foreign.DecodeJSON(output.Document, out)
	}
	if err != nil {
		return fmt.Errorf("export template %q: %w", e.Name, err)
	}
	return nil
}

// children renders the sub-installations of a node, and adds their exports to its scope.
func (w *walk) children(ctx context.Context, parent *node, templates []model.InstallationTemplate, inside *scope) error {
	if len(templates) > 0 && parent.depth == maxDepth {
		return fmt.Errorf("%s: sub-installations lie more than %d deep in each other", parent.path, maxDepth)
	}
	for waiting := templates; len(waiting) > 0; {
		var later []model.InstallationTemplate
		var missing error
		for i := range waiting {
			t := &waiting[i]
			imports, err := inside.give(t.Imports)
			if err != nil {
				missing = errors.Join(missing, fmt.Errorf("%s/%s: %w", parent.path, t.Name, err))
				later = append(later, *t)
				continue
			}
			if err := w.child(ctx, parent, t, imports, inside); err != nil {
				return err
			}
		}
		if len(later) == len(waiting) {
			return fmt.Errorf("%w\ngive what others export by export templates", missing)
		}
		waiting = later
	}
	return nil
}

func (w *walk) child(ctx context.Context, parent *node, t *model.InstallationTemplate, imports *render.Imports, inside *scope) error {
	n := &node{
		path: parent.path + "/" + t.Name, depth: parent.depth + 1, namespace: parent.namespace, imports: imports,
		importMappings: t.ImportDataMappings, exportMappings: t.ExportDataMappings,
	}
	var err error
	if t.Blueprint.Path != "" {
		err = n.openBeside(parent, t.Blueprint.Path)
	} else {
		n.files, n.component, err = open(ctx, parent, t)
		n.artifact, n.folder = n.files, "."
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.path, err)
	}
	if n.blueprint, err = model.Load(n.files); err != nil {
		return fmt.Errorf("%s: %w", n.path, err)
	}
	exports, err := w.installation(ctx, n)
	if err != nil {
		return err
	}
	if err := exports.Check(t.Exports); err != nil {
		return fmt.Errorf("%s: %w", n.path, err)
	}
	return inside.take(t.Exports, exports)
}

// openBeside opens the blueprint in a folder of the artifact of the parent.
func (n *node) openBeside(parent *node, to string) (err error) {
	n.artifact, n.component = parent.artifact, parent.component
	if n.folder, err = model.Beside(parent.folder, to); err == nil {
		n.files, err = model.Folder(n.artifact, n.folder)
	}
	if err != nil {
		return fmt.Errorf("blueprint.path: %w", err)
	}
	return nil
}

// open returns the blueprint of a sub-installation, and its component.
func open(ctx context.Context, parent *node, t *model.InstallationTemplate) (fs.FS, *repository.Component, error) {
	if t.Blueprint.Ref == "" {
		files, err := model.Inline(t.Blueprint.Filesystem.RawMessage)
		return files, parent.component, err
	}
	own := parent.component
	if own == nil {
		return nil, nil, fmt.Errorf("blueprint.ref %q: give the component with --component or --component-descriptor", t.Blueprint.Ref)
	}
	way, err := component.ParseReference(t.Blueprint.Ref)
	if err != nil {
		return nil, nil, fmt.Errorf("blueprint.ref %q: %w", t.Blueprint.Ref, err)
	}
	d, resource, err := own.Closed.Locate(own.Root.Descriptor, way)
	if err != nil {
		return nil, nil, fmt.Errorf("blueprint.ref %q: %w", t.Blueprint.Ref, err)
	}
	files, _, err := own.Session.Blueprint(ctx, d, resource)
	if err != nil || d == own.Root.Descriptor {
		return files, own, err
	}
	closed, err := own.Session.Closure(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	root := &repository.Root{Descriptor: d, Repository: own.Root.Repository, Definition: v1alpha1.ComponentDescriptorDefinition{
		Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: d.Name, Version: d.Version},
	}}
	return files, &repository.Component{Root: root, Closed: closed, Session: own.Session, Standard: own.Standard}, nil
}

// scope is what sub-installations of one Installation may import, by the names that they use for it.
type scope struct {
	data    map[string]any
	targets map[string]render.Target
	lists   map[string][]render.Target
	byKey   map[string]map[string]render.Target
}

func scopeOf(blueprint *model.Blueprint, values *render.Values) *scope {
	return &scope{data: values.DataImports(blueprint), targets: maps.Clone(values.Targets), lists: values.TargetLists, byKey: values.TargetMaps}
}

// objects are the Targets as export executions see them.
func (s *scope) objects() map[string]any {
	out := map[string]any{}
	for name, target := range s.targets {
		out[name] = target.Object
	}
	return out
}

// give returns the imports of a sub-installation. It fails while one of them is missing.
func (s *scope) give(wanted v1alpha1.InstallationImports) (*render.Imports, error) {
	given := render.NewImports()
	for _, d := range wanted.Data {
		value, has := s.data[d.DataRef]
		if !has {
			return nil, fmt.Errorf("import %q: there is no data %q", d.Name, d.DataRef)
		}
		given.Data[d.Name] = value
	}
	for i := range wanted.Targets {
		if err := s.giveTargets(&given, &wanted.Targets[i]); err != nil {
			return nil, fmt.Errorf("import %q: %w", wanted.Targets[i].Name, err)
		}
	}
	return &given, nil
}

func (s *scope) giveTargets(given *render.Imports, wanted *v1alpha1.TargetImport) error {
	var err error
	switch {
	case wanted.Targets != nil:
		list := make([]render.Target, len(wanted.Targets))
		for i, name := range wanted.Targets {
			if list[i], err = s.target(name); err != nil {
				return err
			}
		}
		given.TargetLists[wanted.Name] = list
	case wanted.TargetMap != nil:
		byKey := map[string]render.Target{}
		for _, key := range slices.Sorted(maps.Keys(wanted.TargetMap)) {
			if byKey[key], err = s.target(wanted.TargetMap[key]); err != nil {
				return err
			}
		}
		given.TargetMaps[wanted.Name] = byKey
	case wanted.TargetListReference != "":
		list, has := s.lists[wanted.TargetListReference]
		if !has {
			return fmt.Errorf("there is no target list %q", wanted.TargetListReference)
		}
		given.TargetLists[wanted.Name] = list
	case wanted.TargetMapReference != "":
		byKey, has := s.byKey[wanted.TargetMapReference]
		if !has {
			return fmt.Errorf("there is no target map %q", wanted.TargetMapReference)
		}
		given.TargetMaps[wanted.Name] = byKey
	default:
		given.Targets[wanted.Name], err = s.target(wanted.Target)
	}
	return err
}

func (s *scope) target(name string) (render.Target, error) {
	if found, has := s.targets[name]; has {
		return found, nil
	}
	return render.Target{}, fmt.Errorf("there is no Target %q", name)
}

// take adds exports of a sub-installation.
func (s *scope) take(wanted v1alpha1.InstallationExports, exports *render.ExportValues) error {
	for _, e := range wanted.Data {
		s.data[e.DataRef] = exports.Data[e.Name]
	}
	for _, e := range wanted.Targets {
		made := exports.Targets[e.Name]
		target, err := shown(&v1alpha1.Target{
			ObjectMeta: metav1.ObjectMeta{Name: e.Target, Labels: made.Labels, Annotations: made.Annotations},
			Spec: v1alpha1.TargetSpec{
				Type: made.Type, Configuration: made.Configuration, SecretRef: made.SecretRef, ServiceAccountName: made.ServiceAccountName,
			},
		})
		if err != nil {
			return fmt.Errorf("target export %q: %w", e.Name, err)
		}
		s.targets[e.Target] = target
	}
	return nil
}

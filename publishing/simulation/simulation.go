// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulation renders blueprints without a cluster, with the code of the controller.
package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Options say what an Installation of the blueprint would have.
type Options struct {
	// Imports by name, as JSON-like data: of an import of type data its value, of a target a Target as it is written for a cluster, of a
	// targetList a list of those, and of a targetMap Targets by their keys.
	Imports map[string]any
	// Component of the Installation; nil when there is none.
	Component *repository.Component
	// Namespace of the Installation, for references to Targets.
	Namespace string
	// Artifact holds the blueprint in Folder, and those that sub-installations name by a path; nil where there are no others.
	Artifact fs.FS
	Folder   string
}

// Result is what an Installation of the blueprint would make.
type Result struct {
	// Imports are the values that templates see, with what import executions computed.
	Imports map[string]any `json:"imports,omitempty"`
	// DeployItems in the order of the executions.
	DeployItems []v1alpha1.DeployItemTemplate `json:"deployItems,omitempty"`
	// Subinstallations are not rendered themselves.
	Subinstallations []model.InstallationTemplate `json:"subinstallations,omitempty"`
}

// renderer runs templates in child processes.
var renderer = sync.OnceValue(func() *rendering.Renderer { return rendering.New(confined.Limits{}) })

// Render renders the blueprint at the root of files as the first job of an Installation does. Functions that issue kubeconfigs fail.
func Render(ctx context.Context, files fs.FS, options Options) (*Result, error) {
	root, err := rootOf(files, options)
	if err != nil {
		return nil, err
	}
	made, err := root.render(ctx)
	if err != nil {
		return nil, err
	}
	return made.result(), nil
}

// node is an Installation to render.
type node struct {
	// path is root, or root/<sub-installation>/….
	path           string
	depth          int
	namespace      string
	blueprint      *model.Blueprint
	files          fs.FS
	artifact       fs.FS
	folder         string
	component      *repository.Component
	imports        *render.Imports
	importMappings map[string]v1alpha1.AnyJSON
	exportMappings map[string]v1alpha1.AnyJSON
}

// rootOf returns the Installation that the options describe.
func rootOf(files fs.FS, options Options) (*node, error) {
	blueprint, err := model.Load(files)
	if err != nil {
		return nil, err
	}
	given, err := importsOf(blueprint, options.Imports)
	root := &node{
		path: "root", namespace: options.Namespace, blueprint: blueprint, files: files, artifact: options.Artifact, folder: options.Folder,
		component: options.Component, imports: given,
	}
	if root.artifact == nil {
		root.artifact, root.folder = files, "."
	}
	return root, err
}

// rendered is what the templates of an Installation made, and what they saw.
type rendered struct {
	env    *render.Environment
	values *render.Values
	*render.Plan
}

func (r *rendered) result() *Result {
	return &Result{Imports: r.values.Template(), DeployItems: r.DeployItems, Subinstallations: r.Subinstallations}
}

// render computes imports, deploy items and sub-installations.
func (n *node) render(ctx context.Context) (*rendered, error) {
	env, err := environment(n.blueprint, n.files, n.component, n.namespace)
	if err != nil {
		return nil, err
	}
	values, err := renderer().Satisfy(ctx, env, n.imports, n.importMappings)
	if err != nil {
		return nil, err
	}
	plan, err := renderer().Plan(ctx, env, values, nil)
	if err == nil {
		err = lint.Unknown(append(slices.Clone(n.blueprint.Unknown), plan.Unknown...))
	}
	for i := 0; i < len(plan.DeployItems) && err == nil; i++ {
		err = lint.Item(&plan.DeployItems[i])
	}
	return &rendered{env: env, values: values, Plan: plan}, err
}

// environment is what the templates of an Installation see.
func environment(blueprint *model.Blueprint, files fs.FS, found *repository.Component, namespace string) (*render.Environment, error) {
	env := &render.Environment{
		Blueprint: blueprint, Files: files, Namespace: namespace, BlueprintDefinition: map[string]any{}, Unmasked: true,
		Schemas: schema.New(schema.Options{LocalTypes: blueprint.LocalTypes, Blueprint: files}),
	}
	if found == nil {
		return env, nil
	}
	_, err := repository.Show(env, *found)
	return env, err
}

// importsOf sorts values by the types of the imports that the blueprint declares.
func importsOf(blueprint *model.Blueprint, values map[string]any) (*render.Imports, error) {
	types, given := map[string]model.FieldType{}, render.NewImports()
	for _, definition := range render.Flatten(blueprint.Imports) {
		types[definition.Name] = definition.Type
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kind, declared := types[name]
		if !declared {
			return nil, fmt.Errorf("the blueprint has no import %q; it has: %s", name, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		}
		if err := add(&given, kind, name, values[name]); err != nil {
			return nil, fmt.Errorf("import %q of type %s: %w", name, kind, err)
		}
	}
	return &given, nil
}

// add adds the value of an import to given.
func add(given *render.Imports, kind model.FieldType, name string, value any) error {
	switch kind {
	case model.TypeTarget:
		target, err := targetOf(name, value)
		given.Targets[name] = target
		return err
	case model.TypeTargetList:
		list, isList := value.([]any)
		if !isList {
			return errors.New("write a list of Targets")
		}
		targets := make([]render.Target, len(list))
		for i := range list {
			var err error
			if targets[i], err = targetOf(fmt.Sprintf("%s-%d", name, i), list[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		given.TargetLists[name] = targets
	case model.TypeTargetMap:
		byKey, isMap := value.(map[string]any)
		if !isMap {
			return errors.New("write Targets by their keys")
		}
		targets := map[string]render.Target{}
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			target, err := targetOf(name+"-"+key, byKey[key])
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			targets[key] = target
		}
		given.TargetMaps[name] = targets
	default:
		given.Data[name] = value
	}
	return nil
}

// targetOf reads a Target. One without name gets that which is given.
func targetOf(name string, value any) (render.Target, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return render.Target{}, err
	}
	target := &v1alpha1.Target{}
	if err := json.Unmarshal(raw, target); err != nil || target.Spec.Type == "" {
		return render.Target{}, errors.New("write a Target, with spec.type and spec.config")
	}
	target.Name = cmp.Or(target.Name, name)
	return shown(target)
}

// shown returns a Target as templates see it.
func shown(target *v1alpha1.Target) (render.Target, error) {
	target.APIVersion, target.Kind = v1alpha1.GroupVersion.String(), "Target"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(target)
	return render.Target{Name: target.Name, Object: object}, err
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	containerconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	helmconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifestconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mockconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// deployItem is a deploy item as templates write it.
type deployItem struct {
	v1alpha1.DeployItemTemplate
	// Target hides the field of the template.
	Target *targetReference `json:"target,omitempty"`
}

// targetReference names a Target by its name, or through an import of the blueprint.
type targetReference struct {
	Name   string  `json:"name,omitempty"`
	Import string  `json:"import,omitempty"`
	Index  *int    `json:"index,omitempty"`
	Key    *string `json:"key,omitempty"`
}

// Plan is what a blueprint deploys.
type Plan struct {
	// DeployItems and Subinstallations are the children to make.
	DeployItems      []v1alpha1.DeployItemTemplate
	Subinstallations []model.InstallationTemplate
	// Stored is the state that templates left, also when they failed.
	Stored State
	// Unknown are keys without effect in what the templates made.
	Unknown []document.Key
}

// Planned is DeployItems followed by Subinstallations. The plan is returned also together with an error.
func Planned(ctx context.Context, env *Environment, values *Values, previous State) (*Plan, error) {
	items, stored, err := DeployItems(ctx, env, values, previous)
	out := &Plan{DeployItems: items, Stored: State{}}
	maps.Copy(out.Stored, stored)
	if err != nil {
		return out, err
	}
	out.Subinstallations, stored, err = Subinstallations(ctx, env, values, previous)
	maps.Copy(out.Stored, stored)
	out.Unknown = env.Unknown
	return out, err
}

// DeployItems runs the deploy executions. The items of all come in the order of the executions. The state is what the executors
// stored; it is returned also together with an error.
func DeployItems(ctx context.Context, env *Environment, values *Values, previous State) ([]v1alpha1.DeployItemTemplate, State, error) {
	if previous == nil {
		previous = State{}
	}
	x := execution{env: env, field: "deployExecutions", previous: previous, rejectNoValue: true}
	var items []v1alpha1.DeployItemTemplate
	stored, err := x.run(ctx, env.Blueprint.DeployExecutions, func() map[string]any { return env.bindings(values) }, func(made json.RawMessage) error {
		written, err := decodeItems(made)
		if err == nil {
			err = x.noteMade(made, &deployItemsMade{})
		}
		if err != nil {
			return err
		}
		resolved, err := resolveAll(env, values, written)
		items = append(items, resolved...)
		return err
	})
	if err != nil {
		return nil, stored, err
	}
	return items, stored, validateItems(items)
}

func decodeItems(made json.RawMessage) ([]deployItem, error) {
	var out struct {
		DeployItems []json.RawMessage `json:"deployItems"`
	}
	if err := decode(made, &out); err != nil {
		return nil, err
	}
	return decodeEach[deployItem](out.DeployItems, "deploy item", "deployItems")
}

// ItemsOf returns the deploy items of one output of a deploy execution, without their Targets. The error says what a job would say of them.
func ItemsOf(made json.RawMessage) ([]v1alpha1.DeployItemTemplate, error) {
	written, err := decodeItems(made)
	if err != nil {
		return nil, err
	}
	items := make([]v1alpha1.DeployItemTemplate, len(written))
	for i := range written {
		items[i] = written[i].DeployItemTemplate
	}
	return items, validateItems(items)
}

func resolveAll(env *Environment, values *Values, items []deployItem) ([]v1alpha1.DeployItemTemplate, error) {
	var out []v1alpha1.DeployItemTemplate
	for i := range items {
		item := items[i].DeployItemTemplate
		if ref := items[i].Target; ref != nil {
			name, err := ref.resolve(values)
			if err != nil {
				return nil, fmt.Errorf("target of deploy item %q: %w", item.Name, err)
			}
			item.Target = &v1alpha1.ObjectReference{Name: name, Namespace: env.Namespace}
		}
		out = append(out, item)
	}
	return out, nil
}

// resolve returns the name of the original Target object.
func (r *targetReference) resolve(values *Values) (string, error) {
	switch {
	case r.Import != "" && r.Index != nil:
		return r.fromList(values)
	case r.Import != "" && r.Key != nil:
		return r.fromMap(values)
	case r.Import != "":
		target, ok := values.Targets[r.Import]
		if !ok {
			return "", fmt.Errorf("target import %q not found; correct target.import, or add the import to the blueprint", r.Import)
		}
		return target.Name, nil
	case r.Name != "":
		return r.Name, nil
	}
	return "", errors.New("empty target reference; set name or import")
}

func (r *targetReference) fromList(values *Values) (string, error) {
	targets, ok := values.TargetLists[r.Import]
	if !ok {
		return "", fmt.Errorf("targetlist import %q not found", r.Import)
	}
	if *r.Index < 0 || *r.Index >= len(targets) {
		return "", fmt.Errorf("index %d out of bounds, targetlist import %q has %d targets", *r.Index, r.Import, len(targets))
	}
	return targets[*r.Index].Name, nil
}

func (r *targetReference) fromMap(values *Values) (string, error) {
	targets, ok := values.TargetMaps[r.Import]
	if !ok {
		return "", fmt.Errorf("targetmap import %q not found", r.Import)
	}
	target, ok := targets[*r.Key]
	if !ok {
		return "", fmt.Errorf("key %q not found in targetmap import %q", *r.Key, r.Import)
	}
	return target.Name, nil
}

// MeantType returns the type of a deployer of this project that the author of another one has probably meant, empty where none is near. A misspelt type would
// delete what the item has deployed, and wait for a deployer that does not exist.
func MeantType(given string) string {
	near := document.Nearest(given, []string{v1alpha1.ContainerDeployItemType, v1alpha1.HelmDeployItemType, v1alpha1.ManifestDeployItemType, v1alpha1.MockDeployItemType})
	if near == given {
		return ""
	}
	return near
}

// Misplaced fills in Meant of unknown keys of deploy items that belong into their config.
func Misplaced(unknown []document.Key) []document.Key {
	for _, like := range []any{helmconfig.ProviderConfiguration{}, manifestconfig.ProviderConfiguration{}, containerconfig.ProviderConfiguration{}, mockconfig.ProviderConfiguration{}} {
		unknown = document.Elsewhere(unknown, like, func(path string) string {
			item, name, _ := strings.Cut(path, "].")
			if !strings.HasPrefix(item, "deployItems[") || strings.ContainsAny(name, ".[") {
				return ""
			}
			return item + "].config." + name
		})
	}
	return unknown
}

// validateItems checks names, types, dependencies, and whether there is a configuration.
func validateItems(items []v1alpha1.DeployItemTemplate) error {
	dependencies := map[string][]string{}
	for i := range items {
		item := &items[i]
		if item.Name == "" {
			return fmt.Errorf("deployItems[%d] has no name; give it one", i)
		}
		if item.Type == "" {
			return fmt.Errorf("deploy item %q has no type; give it one, for example landscaper.gardener.cloud/helm", item.Name)
		}
		if meant := MeantType(item.Type); meant != "" {
			return fmt.Errorf("deploy item %q: type %q is unknown; did you mean %s?", item.Name, item.Type, meant)
		}
		if _, taken := dependencies[item.Name]; taken {
			return fmt.Errorf("there is another deploy item named %q; rename one of them", item.Name)
		}
		dependencies[item.Name] = item.DependsOn
	}
	if err := validateDependencies(items, dependencies); err != nil {
		return err
	}
	for i := range items {
		if problems := content.IsLabelValue(items[i].Name); len(problems) > 0 {
			return fmt.Errorf("deploy item %q: its name is not a valid label value: %s; change it", items[i].Name, strings.Join(problems, "; "))
		}
		config := items[i].Configuration
		if config == nil || len(config.Raw) == 0 {
			return fmt.Errorf("deploy item %q has no config; give it one, for type %s", items[i].Name, items[i].Type)
		}
		if config.Raw[0] != '{' {
			return fmt.Errorf("deploy item %q: config is no object of keys and values; write one, for type %s", items[i].Name, items[i].Type)
		}
	}
	return nil
}

func validateDependencies(items []v1alpha1.DeployItemTemplate, dependencies map[string][]string) error {
	for i := range items {
		for _, name := range items[i].DependsOn {
			if _, ok := dependencies[name]; !ok {
				return fmt.Errorf("deploy item %q depends on %q, which does not exist; correct its dependsOn", items[i].Name, name)
			}
		}
	}
	if cycle := validation.Cycle(dependencies); cycle != nil {
		return &CycleError{Names: cycle}
	}
	return nil
}

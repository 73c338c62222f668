// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
	"github.com/flux-landscaper/flux-landscaper/publishing/ocm"
	"github.com/flux-landscaper/flux-landscaper/publishing/simulation"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// What blueprint render prints.
const (
	showAll              = "all"
	showImports          = "imports"
	showDeployItems      = "deployitems"
	showSubinstallations = "subinstallations"
)

// shownParts are what blueprint render can print, by their names.
var shownParts = map[string]string{
	showAll: showAll, showImports: showImports, showDeployItems: showDeployItems, "di": showDeployItems,
	showSubinstallations: showSubinstallations, "subinst": showSubinstallations, "inst": showSubinstallations,
}

// renderFlags are the flags of blueprint render.
type renderFlags struct {
	registry    registryFlags
	files       []string
	set         []string
	component   string
	repository  string
	descriptor  string
	descriptors []string
	namespace   string
	artifact    string
	exports     string
	output      string
	dir         string
}

func renderCommand() *cobra.Command {
	f := &renderFlags{}
	cmd := &cobra.Command{
		Use:   "render DIR [all | imports | deployitems | subinstallations]",
		Short: "Show what a blueprint makes of its imports, without a cluster",
		Long: "Show, without a cluster, the deploy items and sub-installations that the first job of an Installation of the blueprint in DIR makes. Files\n" +
			"have the values of imports below the key imports; the value of a target is a Target. --export-templates names a file that says what\n" +
			"deployers export; with it sub-installations are rendered as well, and exports are shown.",
		Example: "  flux-landscaper blueprint render ./blueprint -f values.yaml --set replicas=3\n" +
			"  flux-landscaper blueprint render ./blueprint deployitems -f values.yaml -w ./out \\\n" +
			"    --component example.com/shop:1.2.0 --repository oci://registry.example.com/components",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.render(cmd, args)
			if err == nil {
				return nil
			}
			if report, failed := check(cmd, args[0], lint.Options{}); failed == nil && !report.Valid() {
				printFindings(cmd.ErrOrStderr(), report) // with file and line, which what templates made does not have
			}
			return err
		},
	}
	f.registry.bindFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, "A YAML file with the values of imports below imports; later files win.")
	flags.StringArrayVar(&f.set, "set", nil, "name=value of an import, with a value in YAML; wins over files.")
	flags.StringVar(&f.component, "component", "", "The component version of the Installation: NAME[:VERSION] with --repository, or REPOSITORY//NAME[:VERSION].")
	flags.StringVar(&f.repository, "repository", "", "The repository, as oci://host/path, or a CTF or component archive: a directory, .tar or .tgz.")
	flags.StringVarP(&f.descriptor, "component-descriptor", "c", "", "A file with the component descriptor instead.")
	flags.StringArrayVarP(&f.descriptors, "additional-component-descriptor", "a", nil, "A file with component descriptors that the first one refers to. Others may be missing as long as no template asks for them.")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "The namespace that the Installation would have.")
	bindArtifact(flags, &f.artifact)
	flags.StringVarP(&f.exports, "export-templates", "e", "", "A YAML file with GoTemplates for what deploy items and Installations export.")
	flags.StringVarP(&f.output, "output", "o", "yaml", "How to print the result: yaml or json.")
	flags.StringVarP(&f.dir, "write", "w", "", "A directory to write to instead, one file for each deploy item and sub-installation.")
	cmd.MarkFlagsMutuallyExclusive("component", "component-descriptor")
	return cmd
}

func (f *renderFlags) render(cmd *cobra.Command, args []string) error {
	if err := checkOutput(f.output, "yaml", "json"); err != nil {
		return err
	}
	part, known := showAll, true
	if len(args) == 2 {
		if part, known = shownParts[args[1]]; !known {
			return fmt.Errorf("%q cannot be shown; use all, imports, deployitems or subinstallations", args[1])
		}
	}
	options := simulation.Options{Namespace: f.namespace}
	var err error
	if options.Imports, err = f.imports(); err != nil {
		return err
	}
	root, err := os.OpenRoot(args[0])
	if err != nil {
		return fmt.Errorf("directory %s cannot be opened: %w", args[0], err)
	}
	defer func() { _ = root.Close() }()
	artifact, folder, err := openArtifact(args[0], f.artifact)
	if err != nil {
		return err
	}
	defer func() { _ = artifact.Close() }()
	options.Artifact, options.Folder = artifact.FS(), folder
	return f.withComponent(cmd, func(reader *ocm.Reader, key component.Key) error {
		if reader != nil {
			if options.Component, err = reader.Component(cmd.Context(), key); err != nil {
				return err
			}
			for _, key := range options.Component.Closed.Missing {
				printAction(cmd, "going on without the descriptor of component %s", key)
			}
		}
		if f.exports != "" {
			steps, err := f.tree(cmd, root.FS(), options)
			if err != nil {
				return withMissing(err, options.Component)
			}
			for _, step := range steps {
				for _, name := range step.IgnoredExports {
					printAction(cmd, "%s: the blueprint has no export %q, so what an export execution gives is ignored", step.Path, name)
				}
			}
			return f.show(cmd, part, steps, steps)
		}
		result, err := simulation.Render(cmd.Context(), root.FS(), options)
		if err != nil {
			return withMissing(err, options.Component)
		}
		only := []simulation.Step{{Result: *result}}
		return f.show(cmd, part, only, &only[0].Result)
	})
}

// withMissing says how to give a component descriptor that was needed and is not there.
func withMissing(err error, component *repository.Component) error {
	if component == nil {
		return err
	}
	for _, key := range component.Closed.Missing {
		if strings.Contains(err.Error(), key.String()) {
			return fmt.Errorf("the descriptor of component %s is missing, give it with --additional-component-descriptor (-a): %w", key, err)
		}
	}
	return err
}

// tree renders the blueprint with those of its sub-installations.
func (f *renderFlags) tree(cmd *cobra.Command, files fs.FS, options simulation.Options) ([]simulation.Step, error) {
	text, err := readFile("--export-templates", f.exports)
	if err != nil {
		return nil, err
	}
	var templates simulation.ExportTemplates
	if err := yaml.UnmarshalStrict(text, &templates); err != nil {
		return nil, fmt.Errorf("--export-templates: %s: %w", f.exports, err)
	}
	return simulation.Tree(cmd.Context(), files, options, templates)
}

// imports reads the values of imports.
func (f *renderFlags) imports() (map[string]any, error) {
	values := map[string]any{}
	for _, name := range f.files {
		text, err := readFile("--file", name)
		if err != nil {
			return nil, err
		}
		var file struct {
			Imports map[string]any `json:"imports"`
		}
		if err := yaml.UnmarshalStrict(text, &file, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }); err != nil {
			return nil, fmt.Errorf("--file: %s: write imports: {name: value}: %w", name, err)
		}
		if err := cmp.Or(foreign.CheckNumbers(text), utiljson.ConvertMapNumbers(file.Imports, 0)); err != nil {
			return nil, fmt.Errorf("--file: %s %w", name, err)
		}
		maps.Copy(values, file.Imports)
	}
	set, err := parseValues(f.set)
	maps.Copy(values, set)
	return values, err
}

// withComponent calls use with a reader of the component, nil where there is none.
func (f *renderFlags) withComponent(cmd *cobra.Command, use func(*ocm.Reader, component.Key) error) error {
	switch {
	case f.component != "":
		lookup := lookupFlags{registry: f.registry, repository: f.repository}
		return lookup.read(f.component, use)
	case f.repository != "" || f.descriptor == "" && len(f.descriptors) > 0:
		return errors.New("give the component with --component NAME:VERSION, or its descriptor with --component-descriptor")
	case f.descriptor == "":
		return use(nil, component.Key{})
	}
	var texts [][]byte
	for _, name := range append([]string{f.descriptor}, f.descriptors...) {
		text, err := readFile("--component-descriptor", name)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	place, key, err := ocm.DescriptorPlace(texts...)
	if err != nil {
		return err
	}
	return (&lookupFlags{registry: f.registry}).open(place, key, use)
}

// show prints or writes a part of the steps. As JSON it prints them as whole, which shares their content.
func (f *renderFlags) show(cmd *cobra.Command, part string, steps []simulation.Step, whole any) error {
	for i := range steps {
		keep(part, &steps[i])
	}
	if f.output == "json" && f.dir == "" {
		return printJSON(cmd, whole)
	}
	for i := range steps {
		if err := f.each(&steps[i], func(kind, name string, value any) error { return f.document(cmd, kind, name, value) }); err != nil {
			return err
		}
	}
	return nil
}

// keep removes from a step what is not to be shown.
func keep(part string, step *simulation.Step) {
	if part != showImports {
		step.Imports = nil
	}
	if part != showAll && part != showDeployItems {
		step.DeployItems = nil
	}
	if part != showAll && part != showSubinstallations {
		step.Subinstallations = nil
	}
	if part != showAll {
		step.DataExports, step.TargetExports = nil, nil
	}
}

// each calls show with each document of a step: its kind, behind the path of the step, and its name.
func (f *renderFlags) each(step *simulation.Step, show func(kind, name string, value any) error) error {
	if step.Imports != nil {
		if err := show(step.Path, showImports, step.Imports); err != nil {
			return err
		}
	}
	for i := range step.DeployItems {
		if err := show(path.Join(step.Path, showDeployItems), step.DeployItems[i].Name, &step.DeployItems[i]); err != nil {
			return err
		}
	}
	for i := range step.Subinstallations {
		if err := show(path.Join(step.Path, showSubinstallations), step.Subinstallations[i].Name, &step.Subinstallations[i]); err != nil {
			return err
		}
	}
	if len(step.DataExports)+len(step.TargetExports) == 0 {
		return nil
	}
	return show(step.Path, "exports", map[string]any{"dataExports": step.DataExports, "targetExports": step.TargetExports})
}

// document prints a document, or writes it to a file below the directory. The name may come from a template: it never leads out of there.
func (f *renderFlags) document(cmd *cobra.Command, kind, name string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	if f.dir == "" {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "---\n# %s\n%s", path.Join(kind, strings.Join(strings.Fields(name), " ")), text)
		return err
	}
	if name == "" || strings.ContainsAny(name, `/\`) {
		return fmt.Errorf("%q is not a valid name of a file; rename the deploy item or sub-installation", name)
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(filepath.FromSlash(path.Join(".", kind)), 0o755); err != nil {
		return err
	}
	return root.WriteFile(filepath.FromSlash(path.Join(kind, name+".yaml")), text, 0o600)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/publishing/ocm"
	"github.com/flux-landscaper/flux-landscaper/publishing/simulation"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
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
	output      string
	dir         string
}

func renderCommand() *cobra.Command {
	f := &renderFlags{}
	cmd := &cobra.Command{
		Use:   "render DIR [all | imports | deployitems | subinstallations]",
		Short: "Show what a blueprint makes of its imports, without a cluster",
		Long: "Show the deploy items and sub-installations that an Installation of the blueprint in DIR would make first, without a cluster. Files with\n" +
			"values have them below imports; of a target the value is a Target. Sub-installations are shown and not rendered themselves.",
		Example: "  flux-landscaper blueprint render ./blueprint -f values.yaml --set replicas=3\n" +
			"  flux-landscaper blueprint render ./blueprint deployitems -f values.yaml -w ./out \\\n" +
			"    --component example.com/shop:1.2.0 --repository oci://registry.example.com/components",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.render(cmd, args) },
	}
	f.registry.bindFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, "A YAML file with the values of imports below imports; later files win.")
	flags.StringArrayVar(&f.set, "set", nil, "name=value of an import, with a value in YAML; wins over files.")
	flags.StringVar(&f.component, "component", "", "The component version of the Installation: NAME[:VERSION] with --repository, or REPOSITORY//NAME[:VERSION].")
	flags.StringVar(&f.repository, "repository", "", "The repository, as oci://host/path, or a CTF or component archive: a directory, .tar or .tgz.")
	flags.StringVarP(&f.descriptor, "component-descriptor", "c", "", "A file with the component descriptor instead.")
	flags.StringArrayVarP(&f.descriptors, "additional-component-descriptor", "a", nil, "A file with a component descriptor that the first one refers to.")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "The namespace that the Installation would have.")
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
	return f.withComponent(cmd, func(reader *ocm.Reader, key component.Key) error {
		if reader != nil {
			if options.Component, err = reader.Component(cmd.Context(), key); err != nil {
				return err
			}
		}
		result, err := simulation.Render(cmd.Context(), root.FS(), options)
		if err != nil {
			return err
		}
		return f.show(cmd, part, result)
	})
}

// imports reads the values of imports.
func (f *renderFlags) imports() (map[string]any, error) {
	values := map[string]any{}
	for _, path := range f.files {
		text, err := readFile("--file", path)
		if err != nil {
			return nil, err
		}
		var file struct {
			Imports map[string]any `json:"imports"`
		}
		if err := yaml.UnmarshalStrict(text, &file); err != nil {
			return nil, fmt.Errorf("--file: %s: write imports: {name: value}: %w", path, err)
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
	for _, path := range append([]string{f.descriptor}, f.descriptors...) {
		text, err := readFile("--component-descriptor", path)
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

// show prints or writes a part of the result.
func (f *renderFlags) show(cmd *cobra.Command, part string, result *simulation.Result) error {
	if part != showImports {
		result.Imports = nil
	}
	if part != showAll && part != showDeployItems {
		result.DeployItems = nil
	}
	if part != showAll && part != showSubinstallations {
		result.Subinstallations = nil
	}
	if f.output == "json" && f.dir == "" {
		return printJSON(cmd, result)
	}
	return f.each(result, func(name string, value any) error {
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		if f.dir == "" {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "---\n# %s\n%s", name, text)
			return err
		}
		return writeBelow(f.dir, name+".yaml", text)
	})
}

// each calls show with each document of a result, and a name for it.
func (f *renderFlags) each(result *simulation.Result, show func(name string, value any) error) error {
	if result.Imports != nil {
		if err := show(showImports, result.Imports); err != nil {
			return err
		}
	}
	for i := range result.DeployItems {
		if err := show(showDeployItems+"/"+result.DeployItems[i].Name, &result.DeployItems[i]); err != nil {
			return err
		}
	}
	for i := range result.Subinstallations {
		if err := show(showSubinstallations+"/"+result.Subinstallations[i].Name, &result.Subinstallations[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeBelow writes a file below a directory, which templates may have named: it never leaves the directory.
func writeBelow(dir, name string, text []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if strings.Count(name, "/") > 1 || strings.Contains(name, `\`) {
		return fmt.Errorf("%q is no name of a file; rename the deploy item or sub-installation", name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, text, 0o600)
}

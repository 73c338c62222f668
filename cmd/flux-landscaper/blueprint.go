// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
)

func blueprintCommand() *cobra.Command {
	return group("blueprint", "Check, render, publish and compare blueprints", []string{"blueprints", "bp"},
		validateCommand(), renderCommand(), pushBlueprintCommand(), pullCommand(), diffCommand())
}

func validateCommand() *cobra.Command {
	var output, around string
	var set []string
	cmd := &cobra.Command{
		Use:   "validate DIR",
		Short: "Check a blueprint without running it",
		Long: "Check the blueprint in DIR without running it: the rules for blueprint.yaml, the syntax of all templates, the imports,\n" +
			"Targets and exports that they name, schemas, defaults and sub-installations. Exit status 1 means that an installation would fail.",
		Example: "  flux-landscaper blueprint validate ./blueprint\n" +
			"  flux-landscaper blueprint validate ./blueprint --set replicas=3 -o json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			values, err := parseValues(set)
			if err != nil {
				return err
			}
			options := lint.Options{Values: values}
			artifact, folder, err := openArtifact(args[0], around)
			if err != nil {
				return err
			}
			defer func() { _ = artifact.Close() }()
			options.Artifact, options.Folder = artifact.FS(), folder
			return validate(cmd, args[0], output, options)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "How to print the result: text or json.")
	cmd.Flags().StringArrayVar(&set, "set", nil, "name=value of a data import, with a value in YAML, to check against its schema.")
	bindArtifact(cmd.Flags(), &around)
	return cmd
}

func bindArtifact(flags *pflag.FlagSet, around *string) {
	flags.StringVar(around, "artifact", "", "The directory that the artifact with the blueprint is made of: paths of sub-installations do not leave it.\n"+
		"By default the Git repository around DIR, else the directory above it.")
}

// openArtifact opens the directory around a blueprint that its sub-installations may name folders of, and tells the folder of the blueprint in it.
func openArtifact(dir, around string) (*os.Root, string, error) {
	own, err := realPath(dir)
	if err != nil {
		return nil, "", fmt.Errorf("directory %s cannot be opened: %w", dir, err)
	}
	artifact := filepath.Dir(own)
	for at := own; around == "" && filepath.Dir(at) != at; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			artifact = at
			break
		}
	}
	if around != "" {
		if artifact, err = realPath(around); err != nil {
			return nil, "", fmt.Errorf("--artifact: directory %s cannot be opened: %w", around, err)
		}
	}
	folder, err := filepath.Rel(artifact, own)
	if err != nil || !filepath.IsLocal(folder) {
		return nil, "", fmt.Errorf("--artifact: the blueprint in %s does not lie in %s; name a directory around it", dir, around)
	}
	root, err := os.OpenRoot(artifact)
	return root, filepath.ToSlash(folder), err
}

func realPath(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// parseValues reads name=value pairs.
func parseValues(pairs []string) (map[string]any, error) {
	values := map[string]any{}
	for _, pair := range pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("--set %q is not of the form name=value", pair)
		}
		var value any
		if err := foreign.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("--set %s: the value %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

func check(cmd *cobra.Command, dir string, options lint.Options) (*lint.Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %s cannot be opened: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	return lint.Blueprint(cmd.Context(), root.FS(), options)
}

func validate(cmd *cobra.Command, dir, output string, options lint.Options) error {
	report, err := check(cmd, dir, options)
	if err != nil {
		return err
	}
	if output == "json" {
		err = printJSON(cmd, struct {
			Valid bool `json:"valid"`
			*lint.Report
		}{report.Valid(), report})
	} else {
		printFindings(cmd.OutOrStdout(), report)
	}
	if output == "text" && report.Valid() {
		fmt.Fprintf(cmd.OutOrStdout(), "✔ blueprint is valid: %d imports, %d exports, %d executions, %d sub-installations\n",
			report.Imports, report.Exports, report.Executions, report.Subinstallations)
	}
	if err == nil && !report.Valid() {
		return errReported
	}
	return err
}

func printFindings(w io.Writer, report *lint.Report) {
	for _, f := range report.Findings {
		mark := "✗"
		if f.Severity == lint.Warning {
			mark = "⚠"
		}
		fmt.Fprintln(w, mark, f)
	}
}

func printJSON(cmd *cobra.Command, value any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// pushFlags are the flags of blueprint push.
type pushFlags struct {
	registry    registryFlags
	options     publishing.BlueprintOptions
	format      string
	created     string
	annotations []string
	output      string
	unchecked   bool
}

func pushBlueprintCommand() *cobra.Command {
	f := &pushFlags{}
	cmd := &cobra.Command{
		Use:   "push OCI_URL -f DIR --source URL --revision REVISION",
		Short: "Publish a blueprint as an OCI artifact",
		Long: "Publish the directory of a blueprint as an OCI artifact that an OCIRepository of Flux takes. The same directory and flags\n" +
			"give the same digest. The blueprint is validated first.",
		Example: "  flux-landscaper blueprint push oci://registry.example.com/blueprints/shop:1.2.0 -f ./blueprint \\\n" +
			"    --source \"$(git config --get remote.origin.url)\" --revision \"1.2.0@sha1:$(git rev-parse HEAD)\"",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.push(cmd, args[0]) },
	}
	f.registry.bindFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVarP(&f.options.Dir, "path", "f", "", "The directory of the blueprint.")
	flags.StringVar(&f.options.Source, "source", "", "Where the directory comes from, such as the URL of the Git repository.")
	flags.StringVar(&f.options.Revision, "revision", "", "Its revision, such as main@sha1:<commit>.")
	flags.StringVar(&f.created, "created", "", "The time of that revision in RFC 3339; by default none, so that the digest stays the same.")
	flags.StringVar(&f.format, "media-type", string(publishing.Flux), "The media types of the artifact: flux, or landscaper for what landscaper-cli made.")
	flags.StringArrayVarP(&f.annotations, "annotations", "a", nil, "key=value of further annotations.")
	flags.StringVarP(&f.output, "output", "o", "", "How to print the result: json, or by default the URL with the digest.")
	flags.BoolVar(&f.unchecked, "skip-validation", false, "Publish also what is not a valid blueprint.")
	bindIgnore(cmd, &f.options.Pack)
	for _, name := range []string{"path", "source", "revision"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func bindIgnore(cmd *cobra.Command, o *publishing.PackOptions) {
	o.Defaults = true
	cmd.Flags().StringSliceVar(&o.Ignore, "ignore-paths", nil,
		"Patterns of files to leave out, as in .gitignore, beside files of version control and those that .sourceignore names.")
}

func (f *pushFlags) complete() error {
	if err := checkOutput(f.output, "json", ""); err != nil {
		return err
	}
	f.options.Format = publishing.Format(f.format)
	f.options.Annotations = map[string]string{}
	for _, pair := range f.annotations {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return fmt.Errorf("--annotations %q is not of the form key=value", pair)
		}
		f.options.Annotations[key] = value
	}
	if f.created == "" {
		return nil
	}
	var err error
	if f.options.Created, err = time.Parse(time.RFC3339, f.created); err != nil {
		return fmt.Errorf("--created %q is not a time in RFC 3339; write it like 2026-01-31T12:00:00Z, as git log -1 --format=%%cI does", f.created)
	}
	return nil
}

func (f *pushFlags) push(cmd *cobra.Command, url string) error {
	if err := f.complete(); err != nil {
		return err
	}
	if !f.unchecked {
		report, err := check(cmd, f.options.Dir, lint.Options{})
		if err != nil {
			return err
		}
		if !report.Valid() {
			printFindings(cmd.ErrOrStderr(), report)
			return errors.New("the blueprint is not valid and was not pushed; correct it, or add --skip-validation")
		}
	}
	registry, done, err := f.registry.open(url)
	if err != nil {
		return err
	}
	defer done()
	printAction(cmd, "pushing %s to %s", f.options.Dir, url)
	pushed, err := publishing.PushBlueprint(cmd.Context(), registry, url, f.options)
	if err != nil {
		return explainLogin(err)
	}
	printDone(cmd, "blueprint pushed: %d files, digest %s", pushed.Files, pushed.Digest)
	if f.output == "json" {
		return printJSON(cmd, pushed)
	}
	fmt.Fprintln(cmd.OutOrStdout(), pushed.URL)
	return nil
}

func pullCommand() *cobra.Command {
	var registry registryFlags
	var dir string
	var force bool
	cmd := &cobra.Command{
		Use:     "pull OCI_URL -o DIR",
		Short:   "Get the files of a published blueprint",
		Example: "  flux-landscaper blueprint pull oci://registry.example.com/blueprints/shop:1.2.0 -o ./shop",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opened, done, err := registry.open(args[0])
			if err != nil {
				return err
			}
			defer done()
			return pull(cmd, opened, args[0], dir, force)
		},
	}
	registry.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&dir, "output", "o", "", "The directory to write to; it must not exist or be empty.")
	cmd.Flags().BoolVar(&force, "force", false, "Write into a directory that has files, and replace those of the same name.")
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

func pull(cmd *cobra.Command, registry publishing.Registry, url, dir string, force bool) error {
	printAction(cmd, "pulling %s", url)
	pulled, err := publishing.PullBlueprint(cmd.Context(), registry, url)
	if err != nil {
		return explainLogin(err)
	}
	defer func() { _ = pulled.Close() }()
	count, err := publishing.WriteBlueprint(pulled.FS(), dir, force)
	if err != nil {
		return err
	}
	printDone(cmd, "%d files of %s written to %s", count, pulled.URL, dir)
	return nil
}

func diffCommand() *cobra.Command {
	var registry registryFlags
	var dir, output string
	options := publishing.PackOptions{}
	cmd := &cobra.Command{
		Use:     "diff OCI_URL -f DIR",
		Short:   "Compare a published blueprint with a directory; exit status 1 if they differ",
		Example: "  flux-landscaper blueprint diff oci://registry.example.com/blueprints/shop:1.2.0 -f ./blueprint",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			opened, done, err := registry.open(args[0])
			if err != nil {
				return err
			}
			defer done()
			changes, err := publishing.DiffBlueprint(cmd.Context(), opened, args[0], dir, options)
			if err != nil {
				return explainLogin(err)
			}
			return printChanges(cmd, changes, output)
		},
	}
	registry.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&dir, "path", "f", "", "The directory to compare with.")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "How to print the result: text or json.")
	bindIgnore(cmd, &options)
	_ = cmd.MarkFlagRequired("path")
	return cmd
}

func printChanges(cmd *cobra.Command, changes []publishing.Change, output string) error {
	switch {
	case output == "json":
		if err := printJSON(cmd, changes); err != nil {
			return err
		}
	case len(changes) == 0:
		printDone(cmd, "no difference")
	default:
		for _, c := range changes {
			fmt.Fprintf(cmd.OutOrStdout(), "%-7s  %s\n", c.Kind, c.Path)
		}
		for _, c := range changes {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s", c.Text)
		}
	}
	if len(changes) > 0 {
		return errReported
	}
	return nil
}

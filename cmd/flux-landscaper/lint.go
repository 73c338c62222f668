// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	paths  []string
	strict bool
	output string
}

func lintCommand() *cobra.Command {
	f := &lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint -f DIR",
		Short: "Find mistakes in a landscape in Git, without a cluster",
		Long: "Check directories and files of a Git repository: Installations, Targets, DataObjects, Contexts and other objects of landscapes, the ConfigMaps\n" +
			"and Secrets that they read, blueprints in folders and in place, and what connects them: missing imports and\n" +
			"exports, cycles, values that do not match their schemas. What may exist in the cluster only is a warning. Charts,\n" +
			"kustomization.yaml files and the patches that they name are left out. Exit status 1 means that there are errors.",
		Example: "  flux-landscaper lint -f .\n" +
			"  flux-landscaper lint -f installations -f blueprints --strict -o github",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.lint(cmd) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.paths, "path", "f", nil, "A directory or file to check; may be given several times. Paths of blueprints are those of the Git repository around it.")
	flags.BoolVar(&f.strict, "strict", false, "Treat warnings as errors.")
	flags.StringVarP(&f.output, "output", "o", "text", "How to print the result: text, json, sarif, or github for annotations of a workflow.")
	_ = cmd.MarkFlagRequired("path")
	return cmd
}

func (f *lintFlags) lint(cmd *cobra.Command) error {
	if err := checkOutput(f.output, "text", "json", "sarif", "github"); err != nil {
		return err
	}
	var places []lint.Place
	for _, name := range f.paths {
		artifact, at, err := openArtifact(name, "")
		if err != nil {
			return err
		}
		defer func() { _ = artifact.Close() }()
		if _, err := fs.Stat(artifact.FS(), at); err != nil {
			return fmt.Errorf("--path %s cannot be read: %w", name, err)
		}
		places = append(places, lint.Place{Artifact: artifact.FS(), Path: at, Name: filepath.ToSlash(filepath.Clean(name))})
	}
	report, err := lint.Landscape(cmd.Context(), places)
	if err != nil {
		return err
	}
	if f.strict {
		for i := range report.Findings {
			report.Findings[i].Severity = lint.Error
		}
	}
	if err := f.print(cmd, report); err != nil || report.Valid() {
		return err
	}
	return errReported
}

func (f *lintFlags) print(cmd *cobra.Command, report *lint.Report) error {
	errors, warnings := report.Count(lint.Error), report.Count(lint.Warning)
	switch f.output {
	case "json":
		return printJSON(cmd, map[string]any{
			"valid": report.Valid(), "findings": report.Findings, "objects": report.Objects, "blueprints": report.Blueprints,
		})
	case "sarif":
		return printJSON(cmd, sarif(report))
	case "github":
		printAnnotations(cmd.OutOrStdout(), report)
	default:
		printFindings(cmd.OutOrStdout(), report)
	}
	summary := fmt.Sprintf("objects: %d, blueprints: %d, errors: %d, warnings: %d", report.Objects, report.Blueprints, errors, warnings)
	switch {
	case errors > 0:
		printError(cmd.ErrOrStderr(), fmt.Errorf("%s", summary))
	case warnings > 0:
		printWarning(cmd, "%s", summary)
	default:
		printDone(cmd, "%s", summary)
	}
	return nil
}

// printAnnotations writes workflow commands, which GitHub shows in the files of a pull request.
func printAnnotations(w io.Writer, report *lint.Report) {
	value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range report.Findings {
		at := "file=" + property.Replace(f.File)
		if f.Line > 0 {
			at += fmt.Sprintf(",line=%d", f.Line)
		}
		if f.Line > 0 && f.Column > 0 {
			at += fmt.Sprintf(",col=%d", f.Column)
		}
		message := f.Message
		if f.Field != "" {
			message = f.Field + ": " + message
		}
		fmt.Fprintf(w, "::%s %s,title=%s::%s\n", f.Severity, at, property.Replace("flux landscaper lint: "+f.Rule), value.Replace(message))
	}
}

// sarif is a report in the Static Analysis Results Interchange Format, version 2.1.0.
func sarif(report *lint.Report) map[string]any {
	rules := []any{}
	for _, name := range slices.Sorted(maps.Keys(lint.Rules)) {
		rules = append(rules, map[string]any{"id": name, "shortDescription": map[string]any{"text": lint.Rules[name]}})
	}
	results := []any{}
	for _, f := range report.Findings {
		location := map[string]any{"artifactLocation": map[string]any{"uri": (&url.URL{Path: f.File}).EscapedPath()}}
		region := map[string]any{"startLine": max(f.Line, 1)}
		if f.Line > 0 && f.Column > 0 {
			region["startColumn"] = f.Column
		}
		location["region"] = region
		message := f.Message
		if f.Field != "" {
			message = f.Field + ": " + message
		}
		results = append(results, map[string]any{
			"ruleId": f.Rule, "level": f.Severity, "message": map[string]any{"text": message},
			"locations": []any{map[string]any{"physicalLocation": location}},
		})
	}
	return map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool": map[string]any{"driver": map[string]any{
				"name": "flux landscaper lint", "version": version, "informationUri": "https://github.com/flux-landscaper/flux-landscaper", "rules": rules,
			}},
			"results": results,
		}},
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
)

func schemaCommand() *cobra.Command {
	return group("schema", "Give editors the schemas of documents", nil, exportSchemasCommand())
}

func exportSchemasCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR",
		Short: "Write the JSON schemas of blueprints, objects and configurations of deploy items",
		Long: "Write the JSON schemas (draft 7) of Blueprint, InstallationTemplate, every kind of the API and every configuration of deploy items into DIR, which is made\n" +
			"if it is missing. Existing files are replaced. Editors with the YAML language server check and complete a file that begins with the line\n\n" +
			"  # yaml-language-server: $schema=<path to DIR>/blueprint.json\n\n" +
			"or with installation.json, installationtemplate.json, target.json and so on. blueprint validate and lint find more than schemas can say.",
		Example: "  flux-landscaper schema export .schemas",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := fs.ReadDir(lint.Schemas(), ".")
			if err != nil {
				return err
			}
			err = os.MkdirAll(args[0], 0o755)
			for _, entry := range entries {
				text, readErr := fs.ReadFile(lint.Schemas(), entry.Name())
				file := filepath.Join(args[0], entry.Name())
				if err = errors.Join(err, readErr); err == nil {
					err = os.WriteFile(file, text, 0o644) // #nosec G306 -- schemas are for everybody
				}
				if err != nil {
					return fmt.Errorf("schemas cannot be written: %w", err)
				}
				fmt.Fprintln(cmd.OutOrStdout(), file)
			}
			printDone(cmd, "%d schemas written; begin a file with # yaml-language-server: $schema=%s", len(entries), filepath.Join(args[0], "blueprint.json"))
			return nil
		},
	}
}

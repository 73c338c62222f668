// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command docs writes the generated parts of docs/: the tables of fields, flags, reasons, tests and rights, and the list of public names; and the JSON
// schemas that the command line exports.
// Prose around them stays.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flux-landscaper/flux-landscaper/tests/quality"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	module, err := quality.Load()
	if err != nil {
		return err
	}
	return errors.Join(writeFields(module), writeSchemas(module), writePublicNames(module), writeTroubleshooting(module), writeAcceptance(module),
		writeSecurity(module),
		writeFlags(ctx, module), writeCLI(ctx, module))
}

func writeFields(module *quality.Module) error {
	pages, err := quality.Pages()
	if err != nil {
		return err
	}
	comments := quality.NewComments(module)
	for _, page := range pages {
		text, err := page.Render(module, comments)
		if err != nil {
			return err
		}
		if err := write(module.Path(page.Path), text); err != nil {
			return err
		}
	}
	return nil
}

func writeSchemas(module *quality.Module) error {
	schemas, err := quality.Schemas(module, quality.NewComments(module))
	for name, text := range schemas {
		err = errors.Join(err, write(filepath.Join(module.Path(quality.SchemasFolder), name), text))
	}
	return err
}

func writePublicNames(module *quality.Module) error {
	files, err := quality.Sources()
	if err != nil {
		return err
	}
	text, err := quality.PublicNames(files)
	if err != nil {
		return err
	}
	return write(module.Path(quality.PublicNamesPage), text)
}

func writeTroubleshooting(module *quality.Module) error {
	files, err := quality.Sources()
	if err != nil {
		return err
	}
	reasons, err := quality.Reasons(module, files)
	if err != nil {
		return err
	}
	explanations, err := quality.Explanations(module)
	if err != nil {
		return err
	}
	text, err := quality.RenderTroubleshooting(module, reasons, explanations)
	if err != nil {
		return err
	}
	return write(module.Path(quality.ReasonsPage), text)
}

func writeSecurity(module *quality.Module) error {
	holders, err := quality.Holders(module)
	if err != nil {
		return err
	}
	text, err := quality.RenderSecurity(module, holders)
	if err != nil {
		return err
	}
	return write(module.Path(quality.SecurityPage), text)
}

func writeAcceptance(module *quality.Module) error {
	files, err := quality.Sources()
	if err != nil {
		return err
	}
	chapters, err := quality.Acceptance(module)
	if err != nil {
		return err
	}
	text, err := quality.RenderAcceptance(module, chapters, files)
	if err != nil {
		return err
	}
	return write(module.Path(quality.AcceptancePage), text)
}

func writeFlags(ctx context.Context, module *quality.Module) error {
	flags, err := quality.Flags(ctx)
	if err != nil {
		return err
	}
	text, err := quality.RenderFlags(module, flags)
	if err != nil {
		return err
	}
	return write(module.Path(quality.FlagsPage), text)
}

func writeCLI(ctx context.Context, module *quality.Module) error {
	commands, err := quality.Commands(ctx)
	if err != nil {
		return err
	}
	text, err := quality.RenderCLI(module, commands)
	if err != nil {
		return err
	}
	return write(module.Path(quality.CLIPage), text)
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

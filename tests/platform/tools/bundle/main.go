// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command bundle builds what a browser loads of the page, by esbuild: the first argument is the folder with the sources, the second one the folder that
// is written.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("give the folder with the sources, and the one to write")
	}
	from, to := os.Args[1], os.Args[2]
	banner := "/* Made of landscape/page/web by make generate. Copyright 2026 The flux-landscaper Authors, Apache-2.0. */"
	built := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(from, "main.js"), OutputPath: "page"},
			{InputPath: filepath.Join(from, "layout.js"), OutputPath: "layout"},
			{InputPath: filepath.Join(from, "page.css"), OutputPath: "page"},
			{InputPath: filepath.Join(from, "index.html"), OutputPath: "index"},
			{InputPath: filepath.Join(from, "../../../docs/icon.svg"), OutputPath: "icon"},
		},
		Outdir: to, Bundle: true, Write: true, Format: api.FormatESModule, Target: api.ES2022, LegalComments: api.LegalCommentsInline,
		MinifyWhitespace: true, MinifySyntax: true, Charset: api.CharsetUTF8,
		Loader: map[string]api.Loader{".html": api.LoaderCopy, ".svg": api.LoaderCopy},
		Banner: map[string]string{"js": banner, "css": banner}, LogLevel: api.LogLevelInfo,
	})
	if len(built.Errors) > 0 {
		os.Exit(1)
	}
}

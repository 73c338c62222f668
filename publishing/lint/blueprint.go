// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks a blueprint without running it: the document with its rules, templates, schemas and sub-installations. What it
// finds names file, line, field and cure.
package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
)

// Options choose what is checked beside the blueprint.
type Options struct {
	// Values of data imports by name, JSON-like data, to check against their schemas.
	Values map[string]any
	// Artifact holds the blueprint in Folder, and those that sub-installations name by a path; nil where there are no others.
	Artifact fs.FS
	Folder   string
}

// maxNesting is how many blueprints may lie in each other in place.
const maxNesting = 16

// Blueprint checks the blueprint at the root of files. An error means that the check itself could not be done; what is wrong with the
// blueprint is in the report.
func Blueprint(ctx context.Context, files fs.FS, options Options) (*Report, error) {
	c := &checker{
		reporter: reporter{report: &Report{Findings: []Finding{}}}, ctx: ctx, files: files, artifact: options.Artifact, folder: options.Folder,
		checked: map[string]bool{}, seen: map[string]bool{},
	}
	if c.artifact == nil {
		c.artifact, c.folder = files, "."
	}
	c.run(options)
	c.report.sort()
	return c.report, ctx.Err()
}

// checker is one walk over one blueprint.
type checker struct {
	reporter
	ctx   context.Context
	files fs.FS
	// artifact is what the files are a folder of. Around are the folders of the blueprints that this one is a sub-installation of, by a path, and
	// checked are the folders that are checked already.
	artifact fs.FS
	folder   string
	around   []string
	checked  map[string]bool
	// prefix leads to a blueprint that is written in place inside another one.
	prefix    string
	nesting   int
	document  *document
	blueprint *model.Blueprint
	// broken is true where blueprint.yaml breaks a rule.
	broken bool
	// seen are files that were checked as GoTemplates.
	seen map[string]bool
}

// inDocument reports about a field of blueprint.yaml.
func (c *checker) inDocument(severity Severity, field, format string, args ...any) {
	c.in(c.document, severity, field, format, args...)
}

func (c *checker) run(options Options) {
	if c.rule = ruleDocument; !c.load() {
		return
	}
	c.count()
	c.rule = ruleSchema
	c.schemas(options.Values)
	c.rule = ruleTemplate
	c.executors("importExecutions", c.blueprint.ImportExecutions)
	c.executors("subinstallationExecutions", c.blueprint.SubinstallationExecutions)
	c.executors("deployExecutions", c.blueprint.DeployExecutions)
	c.executors("exportExecutions", c.blueprint.ExportExecutions)
	c.rule = ruleReferences
	c.subinstallations()
}

// load reads the document; false means that there is nothing further to check.
func (c *checker) load() bool {
	blueprint, err := model.Load(c.files)
	text, readErr := templating.ReadFile(c.files, model.FileName)
	c.document = parseDocument(c.prefix+model.FileName, text)
	if readErr != nil {
		c.add(Error, c.document.file, place{}, "", "%s", cmp.Or(err, readErr))
		return false
	}
	var invalid *model.ValidationError
	switch {
	case errors.As(err, &invalid):
		c.broken = true
		for _, p := range invalid.Problems {
			c.inDocument(Error, p.Path, "%s", p.Message)
		}
	case err != nil:
		message, at := splitLine(err.Error())
		c.add(Error, c.document.file, at, "", "%s", strings.TrimPrefix(message, model.FileName+": "))
		return false
	}
	if c.files, _, err = model.Snapshot(c.files); err != nil {
		c.add(Error, c.document.file, place{}, "", "%s", err)
		return false
	}
	c.blueprint = blueprint
	c.unknownKeys(c.document, c.blueprint)
	return true
}

func (c *checker) count() {
	b, r := c.blueprint, c.report
	r.Imports, r.Exports = r.Imports+len(b.Imports), r.Exports+len(b.Exports)
	r.Subinstallations += len(b.Subinstallations)
	r.Executions += len(b.ImportExecutions) + len(b.SubinstallationExecutions) + len(b.DeployExecutions) + len(b.ExportExecutions)
}

// errComponent stands for a schema in a component, which only an installation can resolve.
var errComponent = errors.New("a component is needed")

func noComponent(context.Context, string) ([]byte, error) { return nil, errComponent }

// schemas compiles all schemas and checks defaults and given values against them.
func (c *checker) schemas(values map[string]any) {
	validator := validator{ctx: c.ctx, options: schema.Options{
		LocalTypes: c.blueprint.LocalTypes, Blueprint: c.files,
		Resource: noComponent,
	}}
	for _, name := range slices.Sorted(maps.Keys(c.blueprint.LocalTypes)) {
		c.compile(validator, "localTypes."+name, c.blueprint.LocalTypes[name].RawMessage, nil)
	}
	known := map[string]bool{}
	c.imports(validator, "imports", c.blueprint.Imports, values, known)
	exports := map[string]bool{}
	for i := range c.blueprint.Exports {
		e, at := &c.blueprint.Exports[i], fmt.Sprintf("exports[%d]", i)
		c.name(at, "export", e.Name, exports)
		if e.Schema != nil {
			c.compile(validator, at+".schema", e.Schema.RawMessage, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			c.inDocument(Error, "imports", "there is no data import %q to set; check its name", name)
		}
	}
}

// name warns about what is declared twice; where the two differ, a rule is broken, and reported already.
func (c *checker) name(at, what, name string, names map[string]bool) {
	if names[name] && !c.broken {
		twice := reporter{c.report, ruleDuplicate}
		twice.in(c.document, Warning, at, "the %s %q is declared twice in the same words; remove one", what, name)
	}
	names[name] = true
}

// imports checks those of a list; known gets the names of data. Two optional imports may have the same conditional one.
func (c *checker) imports(v validator, path string, imports []model.ImportDefinition, values map[string]any, known map[string]bool) {
	names := map[string]bool{}
	for i := range imports {
		d := &imports[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		c.name(at, "import", d.Name, names)
		if d.Schema != nil {
			known[d.Name] = true
			c.dataImport(v, at, d, values)
		}
		c.imports(v, at+".imports", d.ConditionalImports, values, known)
	}
}

func (c *checker) dataImport(v validator, at string, d *model.ImportDefinition, values map[string]any) {
	if !c.compile(v, at+".schema", d.Schema.RawMessage, nil) {
		return
	}
	if raw := d.Default.Value.RawMessage; len(raw) > 0 {
		if d.IsRequired() {
			c.inDocument(Warning, at+".default", "the default is never used, because the import is required; add required: false")
		}
		var value any
		if err := foreign.DecodeJSON(raw, &value); err == nil {
			c.matches(v, at+".default.value", "the default", d.Schema.RawMessage, value)
		}
	}
	if value, given := values[d.Name]; given {
		c.matches(v, at, fmt.Sprintf("the value set for %q", d.Name), d.Schema.RawMessage, value)
	}
}

// renderer runs what may not end in child processes.
var renderer = sync.OnceValue(func() *rendering.Renderer { return rendering.New(confined.Limits{}) })

// validator checks data against schemas.
type validator struct {
	ctx     context.Context
	options schema.Options
}

// Validate is schema.Validator.Validate.
func (v validator) Validate(raw []byte, value any) error {
	return renderer().Validate(v.ctx, v.options, raw, value)
}

// compile reports whether the schema can be used.
func (c *checker) compile(v validator, at string, raw []byte, value any) bool {
	for _, warning := range schema.Warnings(v.options, raw) {
		c.inDocument(Warning, at, "%s", warning)
	}
	err := v.Validate(raw, value)
	var mismatch *schema.Error
	switch {
	case err == nil || errors.As(err, &mismatch):
		return true
	case strings.Contains(err.Error(), errComponent.Error()):
		c.inDocument(Warning, at, "the schema refers to a component (cd://), which cannot be checked here")
	default:
		c.inDocument(Error, at, "the schema cannot be used: %s", strings.TrimPrefix(err.Error(), "the JSON schema cannot be used: "))
	}
	return false
}

func (c *checker) matches(v validator, at, what string, raw []byte, value any) {
	var mismatch *schema.Error
	if err := v.Validate(raw, value); errors.As(err, &mismatch) {
		for _, p := range mismatch.Problems {
			c.inDocument(Error, at, "%s does not match its schema: %s", what, p)
		}
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// subinstallations checks the listed templates, each for itself and then, where no template adds further ones, against each other.
func (c *checker) subinstallations() {
	sound := true
	for i := range c.blueprint.Subinstallations {
		s := &c.blueprint.Subinstallations[i]
		at := fmt.Sprintf("subinstallations[%d]", i)
		if s.File != "" {
			sound = c.templateFile(at, s.File) && sound
			continue
		}
		sound = c.installationTemplate(c.document, at+".", &s.InstallationTemplate) && sound
	}
	if sound && len(c.blueprint.Subinstallations) > 0 && len(c.blueprint.SubinstallationExecutions) == 0 {
		c.siblings()
	}
}

// templateFile reports whether the file holds a usable template.
func (c *checker) templateFile(at, name string) bool {
	text, err := templating.ReadFile(c.files, name)
	if err != nil {
		c.inDocument(Error, at+".file", "%v", err)
		return false
	}
	d := parseDocument(c.prefix+clean(name), text)
	loaded := &model.InstallationTemplate{}
	if err := foreign.Unmarshal(text, loaded); err != nil {
		message, at := splitLine(err.Error())
		c.add(Error, d.file, at, "", "it %s", message)
		return false
	}
	c.unknownKeys(d, &model.InstallationTemplate{})
	if loaded.Kind != "" && loaded.Kind != "InstallationTemplate" {
		c.in(d, Error, "kind", "the kind is %q; it must be InstallationTemplate", loaded.Kind)
		return false
	}
	return c.installationTemplate(d, "", loaded)
}

// installationTemplate checks name and blueprint of one template; field is the path to it in the document.
func (c *checker) installationTemplate(d *document, field string, t *model.InstallationTemplate) bool {
	problem := func(severity Severity, name, format string, args ...any) bool {
		c.in(d, severity, field+name, format, args...)
		return severity == Warning
	}
	given := t.Blueprint.Given()
	switch {
	case t.Name == "":
		return problem(Error, "name", "the sub-installation has no name; give it one")
	case given == 0:
		return problem(Error, "blueprint", "the sub-installation has no blueprint; set ref (cd://…), filesystem or path")
	case given > 1:
		return problem(Error, "blueprint", "more than one of ref, filesystem and path is given; keep one")
	case t.Blueprint.Path != "":
		return c.beside(problem, t)
	case t.Blueprint.Ref == "":
		return c.inPlace(d, field+"blueprint.filesystem", problem, t)
	}
	if _, err := component.ParseReference(t.Blueprint.Ref); err != nil {
		return problem(Error, "blueprint.ref", "%v; write it as cd://componentReferences/<name>/resources/<name>", err)
	}
	return true
}

// found reports about a field of a template or Installation. It reports whether that is usable nevertheless.
type found func(severity Severity, field, format string, args ...any) bool

// inPlace checks a blueprint that is written inside the template.
func (c *checker) inPlace(d *document, field string, problem found, t *model.InstallationTemplate) bool {
	if c.nesting >= maxNesting {
		return problem(Error, "blueprint.filesystem", "more than %d blueprints lie in each other; put the inner ones into files", maxNesting)
	}
	files, err := model.Inline(t.Blueprint.Filesystem.RawMessage)
	if err != nil {
		return problem(Error, "blueprint.filesystem", "%v", err)
	}
	for _, f := range c.inside(&checker{files: files, artifact: files, folder: ".", checked: map[string]bool{}}) {
		c.report.Findings = append(c.report.Findings, d.inside(field, f))
	}
	connected(files, t, problem)
	return true
}

// inside checks a blueprint that this one holds or names.
func (c *checker) inside(inner *checker) []Finding {
	inner.ctx, inner.nesting, inner.report, inner.seen = c.ctx, c.nesting+1, &Report{}, map[string]bool{}
	inner.run(Options{})
	return inner.report.Findings
}

// beside checks a blueprint in another folder of the artifact.
func (c *checker) beside(problem found, t *model.InstallationTemplate) bool {
	to := t.Blueprint.Path
	folder, err := model.Beside(c.folder, to)
	if err != nil {
		return problem(Error, "blueprint.path", "%v", err)
	}
	files, err := model.Folder(c.artifact, folder)
	switch {
	case err != nil:
		return problem(Error, "blueprint.path", "%v", err)
	case slices.Contains(c.around, folder):
		return problem(Error, "blueprint.path", "the blueprint in %s is a sub-installation of itself", folder)
	case !c.checked[folder]:
		c.checked[folder] = true
		c.report.Findings = append(c.report.Findings, c.inside(&checker{
			files: files, artifact: c.artifact, folder: folder, around: append(slices.Clone(c.around), c.folder), checked: c.checked,
			prefix: path.Join(c.prefix, to) + "/",
		})...)
	}
	connected(files, t, problem)
	return true
}

// connected checks the imports and exports of a template against the blueprint in files.
func connected(files fs.FS, t *model.InstallationTemplate, problem found) {
	blueprint, err := model.Load(files)
	if err != nil {
		return // reported where the blueprint is
	}
	own := fmt.Sprintf("the blueprint of sub-installation %q", t.Name)
	connections{&t.Imports, t.ImportDataMappings, &t.Exports, t.ExportDataMappings}.check(blueprint, own, problem)
}

// siblings lets the renderer check the connections between the templates, with a value for every import.
func (c *checker) siblings() {
	env := &render.Environment{Blueprint: c.blueprint, Files: c.files}
	_, _, err := render.Subinstallations(c.ctx, env, everyImport(c.blueprint), nil)
	if err != nil {
		c.inDocument(Error, "subinstallations", "%v", err)
	}
}

func everyImport(b *model.Blueprint) *render.Values {
	values := &render.Values{Imports: render.Imports{Data: map[string]any{}}}
	var add func([]model.ImportDefinition)
	add = func(definitions []model.ImportDefinition) {
		for _, d := range definitions {
			values.Data[d.Name] = ""
			add(d.ConditionalImports)
		}
	}
	add(b.Imports)
	return values
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	keys "github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// document is a YAML text with the places of its values.
type document struct {
	// file in which it is.
	file string
	text []byte
	root *yamlv3.Node
}

func parseDocument(file string, text []byte) *document {
	d := &document{file: file, text: text}
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) == nil && len(root.Content) > 0 {
		d.root = root.Content[0]
	}
	return d
}

// fieldStep is a step of a field like imports[0].schema or files[deploy.yaml].
var fieldStep = regexp.MustCompile(`\[[^\]]*\]|[^.\[\]]+`)

func stepsOf(field string) []string {
	steps := fieldStep.FindAllString(field, -1)
	for i := range steps {
		steps[i] = strings.Trim(steps[i], "[]")
	}
	return steps
}

// at returns the place of a field, or of its nearest parent that is there.
func (d *document) at(field string) place {
	if d.root == nil {
		return place{}
	}
	node, at := d.root, place{d.root.Line, d.root.Column}
	for _, step := range stepsOf(field) {
		next, key := model.Child(node, step)
		if next == nil {
			break
		}
		node, at = next, place{key.Line, key.Column}
	}
	return at
}

// node returns the value of a field, nil where there is none.
func (d *document) node(field string) *yamlv3.Node {
	node := d.root
	for _, step := range stepsOf(field) {
		if node == nil {
			return nil
		}
		node, _ = model.Child(node, step)
	}
	return node
}

// block returns where the text of a field that is written as a block (|) begins: the place before its first line and column. It reports
// whether the field is one.
func (d *document) block(field string) (place, bool) {
	node := d.node(field)
	if node == nil || node.Style != yamlv3.LiteralStyle {
		return place{}, false
	}
	lines := strings.Split(string(d.text), "\n")
	for i, inside := range strings.Split(node.Value, "\n") {
		if at := node.Line + i; inside != "" && at < len(lines) && strings.HasSuffix(strings.TrimRight(lines[at], "\r"), inside) {
			return place{node.Line, len(strings.TrimRight(lines[at], "\r")) - len(inside)}, true
		}
	}
	return place{line: node.Line}, true
}

// inside returns a finding about a file of a file system that the field holds in place as one about the document.
func (d *document) inside(field string, f Finding) Finding {
	own := field + "[" + strings.ReplaceAll(f.File, "/", "][") + "]"
	at := d.at(own)
	if start, isBlock := d.block(own); isBlock && f.Line > 0 {
		at = place{start.line + f.Line, 0}
		if f.Column > 0 {
			at.column = start.column + f.Column
		}
	} else if f.Field != "" {
		at = d.at(own + "." + f.Field)
	}
	if f.Field != "" {
		own += "." + f.Field
	}
	f.File, f.Line, f.Column, f.Field = d.file, at.line, at.column, own
	return f
}

var lineNumber = regexp.MustCompile(`,? ?\bline (\d+):? ?`)

// splitLine takes the first line number out of a message.
func splitLine(message string) (string, place) {
	found := lineNumber.FindStringSubmatchIndex(message)
	if found == nil {
		return message, place{}
	}
	line, _ := strconv.Atoi(message[found[2]:found[3]])
	before, after := strings.TrimRight(message[:found[0]], ": ,"), message[found[1]:]
	return strings.TrimPrefix(before+": "+after, ": "), place{line: line}
}

// unknownKeys reports keys that appear twice, and keys that the type of like does not have.
func (r *reporter) unknownKeys(d *document, like any) {
	if _, err := yaml.YAMLToJSONStrict(d.text); err != nil {
		message, at := splitLine(err.Error())
		r.add(Error, d.file, at, "", "%s", message)
		return
	}
	raw, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return
	}
	for _, key := range keys.Keys(raw, like) {
		switch {
		case strings.HasPrefix(key.Path, "status."), key.Path == "sops":
			continue // what somebody took from a cluster, and what Flux takes out when it decrypts
		case strings.HasPrefix(key.Path, "spec.blueprint.ref."):
			key.Published, key.Meant = true, "" // early releases had more there
		}
		r.in(d, severityOf(key), key.Path, "%s", key.Problem())
	}
}

// severityOf an unknown key: those that published manifests have never had an effect.
func severityOf(key keys.Key) Severity {
	if key.Published {
		return Warning
	}
	return Error
}

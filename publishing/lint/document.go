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
	text []byte
	root *yamlv3.Node
}

func parseDocument(text []byte) *document {
	d := &document{text: text}
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) == nil && len(root.Content) > 0 {
		d.root = root.Content[0]
	}
	return d
}

var fieldStep = regexp.MustCompile(`[^.\[\]]+`)

// line returns the line of a field like imports[0].schema, or of its nearest parent that is there.
func (d *document) line(field string) int {
	if d.root == nil {
		return 0
	}
	node, line := d.root, d.root.Line
	for _, step := range fieldStep.FindAllString(field, -1) {
		next, at := model.Child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line
}

var lineNumber = regexp.MustCompile(`,? ?\bline (\d+):? ?`)

// splitLine takes the first line number out of a message; 0 when it has none.
func splitLine(message string) (string, int) {
	found := lineNumber.FindStringSubmatchIndex(message)
	if found == nil {
		return message, 0
	}
	line, _ := strconv.Atoi(message[found[2]:found[3]])
	before, after := strings.TrimRight(message[:found[0]], ": ,"), message[found[1]:]
	return strings.TrimPrefix(before+": "+after, ": "), line
}

// unknownKeys reports keys that appear twice, and keys that the type of like does not have.
func (c *checker) unknownKeys(file string, d *document, like any) {
	if _, err := yaml.YAMLToJSONStrict(d.text); err != nil {
		message, line := splitLine(err.Error())
		c.add(Error, file, line, "", "%s", message)
		return
	}
	raw, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return
	}
	for _, key := range keys.Keys(raw, like) {
		severity := Error
		if key.Published {
			severity = Warning
		}
		c.add(severity, file, d.line(key.Path), key.Path, "%s", key.Problem())
	}
}

// blockOffset returns the line before the first one of a text written as a block (|), and whether it is one.
func (d *document) blockOffset(field string) (int, bool) {
	node := d.root
	for _, step := range fieldStep.FindAllString(field, -1) {
		if node == nil {
			return 0, false
		}
		node, _ = model.Child(node, step)
	}
	if node == nil || node.Style != yamlv3.LiteralStyle {
		return 0, false
	}
	return node.Line, true
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"encoding/json"
	"regexp"

	yamlv3 "go.yaml.in/yaml/v3"
)

// CoreToJSON does the same as ToJSON for documents of the core schema of YAML 1.2, where yes, no, on, off, y and n are texts and not truth
// values. The OCM tools read their documents like that.
func CoreToJSON(text []byte) ([]byte, error) {
	quoted, err := quoted(text)
	if err != nil {
		return nil, err
	}
	return toJSON(quoted)
}

// CoreUnmarshal does the same as Unmarshal for documents of the core schema of YAML 1.2.
func CoreUnmarshal(text []byte, into any) error {
	quoted, err := quoted(text)
	if err != nil {
		return err
	}
	return unmarshal(quoted, into)
}

// quoted returns a text for readers of YAML 1.1, within the limit Usual.
func quoted(text []byte) ([]byte, error) {
	if err := Usual.afford(text, firstDocument); err != nil {
		return nil, err
	}
	return quoteWords(text)
}

// word finds, among others, all places where a text may have a plain scalar that is a truth value in YAML 1.1 and a text in YAML 1.2.
var word = regexp.MustCompile(`(?i)(^|[\s\[{,:])(y|n|yes|no|on|off)([\s\]},:]|$)`)

// quoteWords puts these scalars of the first document in quotes. Most documents have none and stay as they are.
func quoteWords(text []byte) ([]byte, error) {
	if !word.Match(text) || json.Valid(text) {
		return text, nil
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, misread(notYAML, err)
	}
	if !quoteIn(&document) {
		return text, nil
	}
	quoted, err := yamlv3.Marshal(&document)
	if err != nil {
		return nil, misread(notYAML, err)
	}
	return quoted, nil
}

// quoteIn reports whether there was anything to quote. What an alias stands for is met where it is written out.
func quoteIn(node *yamlv3.Node) bool {
	if node.Kind == yamlv3.ScalarNode && node.Style == 0 && node.ShortTag() == "!!str" && word.MatchString(node.Value) {
		node.Style = yamlv3.DoubleQuotedStyle
		return true
	}
	found := false
	for _, child := range node.Content {
		found = quoteIn(child) || found
	}
	return found
}

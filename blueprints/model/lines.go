// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// explainDecode adds field and line to an error of reading the document.
func explainDecode(text, document []byte, err error) error {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return fmt.Errorf("%s cannot be read: %w", FileName, err)
	}
	path := pathAt(document, wrongType.Offset)
	return fmt.Errorf("%s, line %d: field %s is a value of type %s; it must be of type %s", FileName, lineOf(text, path),
		strings.Join(path, "."), wrongType.Value, kindName(wrongType.Type.Kind().String()))
}

func kindName(goKind string) string {
	switch goKind {
	case "struct", "map":
		return "object"
	case "slice":
		return "array"
	case "bool":
		return "boolean"
	}
	return goKind
}

// frame is an object or array that is open while reading JSON.
type frame struct {
	array bool
	index int
	key   string
	isKey bool
}

// pathAt returns keys and indexes that lead to the value that ends at or begins before the offset.
func pathAt(document []byte, offset int64) []string {
	decoder := json.NewDecoder(bytes.NewReader(document))
	var frames []frame
	for {
		token, err := decoder.Token()
		if err != nil {
			return framesPath(frames)
		}
		delim, isDelim := token.(json.Delim)
		closing := isDelim && (delim == '}' || delim == ']')
		if !closing {
			advance(frames, token)
		}
		if decoder.InputOffset() >= offset {
			return framesPath(frames)
		}
		if closing {
			frames = frames[:len(frames)-1]
		} else if isDelim {
			frames = append(frames, frame{array: delim == '[', index: -1, isKey: true})
		}
	}
}

// advance notes that the innermost frame reached a key or a value.
func advance(frames []frame, token json.Token) {
	if len(frames) == 0 {
		return
	}
	f := &frames[len(frames)-1]
	switch {
	case f.array:
		f.index++
	case f.isKey:
		f.key, _ = token.(string)
		f.isKey = false
	default:
		f.isKey = true
	}
}

func framesPath(frames []frame) []string {
	var out []string
	for _, f := range frames {
		if f.array {
			out = append(out, strconv.Itoa(f.index))
		} else {
			out = append(out, f.key)
		}
	}
	return out
}

// lineOf finds the line of the value at the path, or of its nearest parent that can be found.
func lineOf(text []byte, path []string) int {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return 1
	}
	node := root.Content[0]
	for _, step := range path {
		next, _ := Child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return node.Line
}

// Child returns the value at one step below a YAML node, and the line of its key; nil if there is none.
func Child(node *yamlv3.Node, step string) (*yamlv3.Node, int) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if node.Kind == yamlv3.SequenceNode {
		index, err := strconv.Atoi(step)
		if err != nil || index < 0 || index >= len(node.Content) {
			return nil, 0
		}
		return node.Content[index], node.Content[index].Line
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == step {
			return node.Content[i+1], node.Content[i].Line
		}
	}
	return nil, 0
}

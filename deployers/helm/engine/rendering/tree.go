// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
)

// tree is a map of decoded JSON or YAML that encoding/gob can send. The types of its numbers stay, because templates print them differently.
type tree map[string]any

// null stands for a nil among the values of a tree.
type null struct{}

func init() { registerTrees() }

// registerTrees tells encoding/gob what a tree may hold. A child, which never initialises its packages completely, calls it by itself.
func registerTrees() {
	gob.Register(null{})
	gob.Register(map[string]any{})
	gob.Register([]any{})
	gob.Register(json.Number(""))
}

// GobEncode sends a tree.
func (t tree) GobEncode() ([]byte, error) {
	var buffer bytes.Buffer
	err := gob.NewEncoder(&buffer).Encode(replaceIn(map[string]any(t), nil, null{}))
	return buffer.Bytes(), err
}

// GobDecode receives a tree.
func (t *tree) GobDecode(raw []byte) error {
	registerTrees()
	var plain map[string]any
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(&plain); err != nil {
		return err
	}
	*t, _ = replaceIn(plain, null{}, nil).(map[string]any)
	return nil
}

// replaceIn returns a copy of a value in which one value takes the place of another.
func replaceIn(value, old, with any) any {
	switch typed := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(typed))
		for key, inner := range typed {
			result[key] = replaceIn(inner, old, with)
		}
		return result
	case []any:
		result := make([]any, len(typed))
		for i := range typed {
			result[i] = replaceIn(typed[i], old, with)
		}
		return result
	}
	if value == old {
		return with
	}
	return value
}

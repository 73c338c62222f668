// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package exports

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/third_party/forked/golang/template"
	"k8s.io/client-go/util/jsonpath"
)

// The library that parses paths also evaluates them, but without limits: it takes a text apart into its bytes, of each list of keys again, and
// copies what a recursive descent has found at each level of an object. So paths are walked here, with what the library finds in JSON.

// Limits of one walk.
const (
	// maxVisited is how many values a path goes through, all its steps together. An object that an API server stores has far fewer.
	maxVisited = 500_000
	// maxDepth is how deep an object may be nested that a recursive descent visits.
	maxDepth = 100
)

var (
	errTooMuch = fmt.Errorf("goes through more than %d values of the object, simplify it", maxVisited)
	errTooDeep = fmt.Errorf("descends (..) into an object that is nested deeper than %d, name the fields on the way", maxDepth)
	// errShape says that the object is not as the path needs it. That may change.
	errShape = errors.New("the object has another shape")
)

// walk finds what a path selects in an object of JSON values.
type walk struct {
	visited int
	found   []any
}

// visit counts values before they are gone through.
func (w *walk) visit(values int) error {
	if w.visited += values; w.visited > maxVisited {
		return errTooMuch
	}
	return nil
}

// sections goes through the parts of a path: texts, and what is in braces. Each counts, for one without steps goes through nothing and finds
// the object all the same.
func (w *walk) sections(sections []jsonpath.Node, object any) error {
	for i := 0; i < len(sections); i++ {
		if err := w.visit(1); err != nil {
			return err
		}
		word, steps := keywordOf(sections[i])
		values, err := w.steps(steps, []any{object})
		switch {
		case err != nil:
			return err
		case word == "":
			w.found = append(w.found, values...)
			continue
		case word != "range":
			return errShape
		}
		end := endOfRange(sections, i)
		for _, value := range values {
			if err := w.sections(sections[i+1:end], value); err != nil {
				return err
			}
		}
		i = end
	}
	return nil
}

// keywordOf returns the word that a part of a path begins with, range or end, and the steps after it.
func keywordOf(section jsonpath.Node) (string, []jsonpath.Node) {
	list, isList := section.(*jsonpath.ListNode)
	if !isList {
		return "", []jsonpath.Node{section}
	}
	if len(list.Nodes) > 0 {
		if word, isWord := list.Nodes[0].(*jsonpath.IdentifierNode); isWord {
			return word.Name, list.Nodes[1:]
		}
	}
	return "", list.Nodes
}

// endOfRange returns the place of the end of the range that begins at a part; one without ends with the path.
func endOfRange(sections []jsonpath.Node, begin int) int {
	open := 0
	for i := begin; i < len(sections); i++ {
		switch word, _ := keywordOf(sections[i]); word {
		case "range":
			open++
		case "end":
			open--
		}
		if open == 0 {
			return i
		}
	}
	return len(sections)
}

// steps takes one step of a path after the other, each from all values that the one before has found.
func (w *walk) steps(steps []jsonpath.Node, values []any) (_ []any, err error) {
	for _, step := range steps {
		if values, err = w.step(step, values); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (w *walk) step(step jsonpath.Node, values []any) ([]any, error) {
	if err := w.visit(len(values) + 1); err != nil {
		return nil, err
	}
	switch s := step.(type) {
	case *jsonpath.ListNode:
		return w.steps(s.Nodes, values)
	case *jsonpath.TextNode:
		return []any{s.Text}, nil
	case *jsonpath.IntNode:
		return slices.Repeat([]any{s.Value}, len(values)), nil
	case *jsonpath.FloatNode:
		return slices.Repeat([]any{s.Value}, len(values)), nil
	case *jsonpath.BoolNode:
		return slices.Repeat([]any{s.Value}, len(values)), nil
	case *jsonpath.FieldNode:
		return fieldOf(values, s.Value), nil
	case *jsonpath.ArrayNode:
		return w.items(values, s.Params)
	case *jsonpath.WildcardNode:
		return w.children(values)
	case *jsonpath.RecursiveNode:
		return w.descendants(values)
	case *jsonpath.UnionNode:
		return w.union(s, values)
	case *jsonpath.FilterNode:
		return w.filtered(s, values)
	}
	return nil, errShape
}

func fieldOf(values []any, name string) []any {
	var found []any
	for _, value := range values {
		fields, _ := value.(map[string]any)
		if field, has := fields[name]; has {
			found = append(found, field)
		}
	}
	return found
}

func (w *walk) items(values []any, params [3]jsonpath.ParamsEntry) ([]any, error) {
	var found []any
	for _, value := range values {
		if value == nil {
			continue
		}
		items, isList := value.([]any)
		if !isList {
			return nil, errShape
		}
		begin, end, step, err := boundsIn(len(items), params)
		if err != nil {
			return nil, err
		}
		if begin == end {
			return found, nil
		}
		if err := w.visit((end - begin) / step); err != nil {
			return nil, err
		}
		for i := begin; i < end; i += step {
			found = append(found, items[i])
		}
	}
	return found, nil
}

// boundsIn returns which items of a list of a length [begin:end:step] stands for; negative bounds count from the end.
func boundsIn(length int, params [3]jsonpath.ParamsEntry) (begin, end, step int, err error) {
	begin, end, step = 0, length, 1
	if params[0].Known {
		begin = params[0].Value
	}
	if begin < 0 {
		begin += length
	}
	if params[1].Known {
		end = params[1].Value
	}
	if end < 0 || end == 0 && params[1].Derived {
		end += length
	}
	if params[2].Known {
		step = params[2].Value
	}
	if begin != end && (begin < 0 || begin >= length || end > length || begin > end || step <= 0) {
		return 0, 0, 0, errShape
	}
	return begin, end, step, nil
}

// children returns what is in maps and lists. A text has nothing in it.
func (w *walk) children(values []any) ([]any, error) {
	var found []any
	for _, value := range values {
		inside := sizeOf(value)
		if err := w.visit(inside); err != nil {
			return nil, err
		}
		found = slices.Grow(found, inside)
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				found = append(found, v[key])
			}
		case []any:
			found = append(found, v...)
		}
	}
	return found, nil
}

func sizeOf(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// descendants returns values and all that is in them, but for numbers, truth values and what is empty.
func (w *walk) descendants(values []any) ([]any, error) {
	var found []any
	for _, value := range values {
		if err := w.descend(value, 0, &found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (w *walk) descend(value any, depth int, found *[]any) error {
	if text, isText := value.(string); isText && text != "" {
		*found = append(*found, value)
	}
	if sizeOf(value) == 0 {
		return nil
	}
	if depth == maxDepth {
		return errTooDeep
	}
	inside, err := w.children([]any{value})
	if err != nil {
		return err
	}
	*found = append(*found, value)
	for _, child := range inside {
		if err := w.descend(child, depth+1, found); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) union(union *jsonpath.UnionNode, values []any) ([]any, error) {
	var found []any
	for _, list := range union.Nodes {
		more, err := w.step(list, values)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

func (w *walk) filtered(filter *jsonpath.FilterNode, values []any) ([]any, error) {
	var found []any
	for _, value := range values {
		items, isList := value.([]any)
		if !isList {
			return nil, errShape
		}
		for _, item := range items {
			passes, err := w.passes(filter, item)
			if err != nil {
				return nil, err
			}
			if passes {
				found = append(found, item)
			}
		}
	}
	return found, nil
}

// passes reports whether an item of a list is what a filter looks for.
func (w *walk) passes(filter *jsonpath.FilterNode, item any) (bool, error) {
	left, err := w.step(filter.Left, []any{item})
	if filter.Operator == "exists" && (err == nil || errors.Is(err, errShape)) {
		return len(left) > 0, nil
	}
	if err != nil || len(left) == 0 {
		return false, err
	}
	right, err := w.step(filter.Right, []any{item})
	if err != nil || len(right) == 0 {
		return false, err
	}
	compare, isKnown := comparisons[filter.Operator]
	if !isKnown || len(left) > 1 || len(right) > 1 {
		return false, errShape
	}
	passes, err := compare(left[0], right[0])
	if err != nil {
		return false, errShape
	}
	return passes, nil
}

var comparisons = map[string]func(a, b any) (bool, error){
	"<": func(a, b any) (bool, error) { return template.Less(a, b) }, "<=": func(a, b any) (bool, error) { return template.LessEqual(a, b) },
	">": func(a, b any) (bool, error) { return template.Greater(a, b) }, ">=": func(a, b any) (bool, error) { return template.GreaterEqual(a, b) },
	"==": func(a, b any) (bool, error) { return template.Equal(a, b) }, "!=": func(a, b any) (bool, error) { return template.NotEqual(a, b) },
}

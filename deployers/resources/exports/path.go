// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package exports

import (
	"errors"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
)

// Limits of paths: a recursive descent visits the whole object, and each further one multiplies that. What is found has limits of its own.
const (
	maxPathLength = 1024
	maxDescents   = 1
	// maxChoices is how often a path may select the same: lists of keys or indexes multiply each other.
	maxChoices = 64
)

// Values returns what a path, written with or without braces, selects in an object. Fields that are missing select nothing.
func Values(object any, path string) (found []any, err error) {
	// The path is foreign text; the library is known to panic on some that it should refuse.
	defer func() {
		if problem := recover(); problem != nil {
			found, err = nil, objects.Misconfigured("jsonPath %q: cannot be evaluated, simplify it", path)
		}
	}()
	if len(path) > maxPathLength || strings.Count(path, "..") > maxDescents {
		return nil, objects.Misconfigured("jsonPath of %d characters: is longer than %d or has more than one recursive descent (..), simplify it",
			len(path), maxPathLength)
	}
	parsed, err := jsonpath.Parse("", braced(path))
	if err != nil {
		return nil, objects.Misconfigured("jsonPath %q: is malformed: %w", path, err)
	}
	if choices(parsed.Root) > maxChoices {
		return nil, objects.Misconfigured("jsonPath %q: its lists of keys or indexes ([a,b]) stand for more than %d paths together, simplify it", path, maxChoices)
	}
	w := &walk{}
	err = w.sections(parsed.Root.Nodes, object)
	switch {
	case errors.Is(err, errShape):
		return nil, nil
	case err != nil:
		return nil, objects.Misconfigured("jsonPath %q: %w", path, err)
	}
	return w.found, nil
}

// choices returns for how many paths without lists of keys or indexes a path stands; above maxChoices it may be too few.
func choices(node jsonpath.Node) int {
	found := 1
	switch typed := node.(type) {
	case *jsonpath.ListNode:
		for _, one := range typed.Nodes {
			found = min(found*choices(one), maxChoices+1)
		}
	case *jsonpath.UnionNode:
		found = 0
		for _, one := range typed.Nodes {
			found += choices(one)
		}
	case *jsonpath.FilterNode:
		found = choices(typed.Left) * choices(typed.Right)
	}
	return found
}

func braced(path string) string {
	path = strings.TrimSpace(path)
	if strings.HasPrefix(path, "{") {
		return path
	}
	if !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") && !strings.HasPrefix(path, "$") && !strings.HasPrefix(path, "@") {
		path = "." + path
	}
	return "{" + path + "}"
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Export reads exports from objects on the target (spec/deployers.md §6.6). Exports without fromResource are left out. Values
// are taken as found: the data of Secrets stays base64. The map is nil when nothing is exported; it is complete only when the
// progress is done.
func Export(ctx context.Context, s *Session, exports []managedresource.Export) (map[string]any, Progress, error) {
	var progress Progress
	var all map[string]any
	for i := range exports {
		export := &exports[i]
		if export.FromResource == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, progress, err
		}
		if err := s.Step("deployer: during export - key: %s", export.Key); err != nil {
			return nil, progress, err
		}
		value, lack, err := read(ctx, s, export)
		if err != nil {
			return nil, progress, fmt.Errorf("export %s: %w", export.Key, err)
		}
		progress.Add(lack)
		if all == nil {
			all = map[string]any{}
		}
		if !lack.Done() {
			continue
		}
		if err := Nest(all, export.Key, value); err != nil {
			return nil, progress, err
		}
	}
	return all, progress, nil
}

// Nest puts a value into a map under a key whose dots nest: a.b becomes {a: {b: value}}. It fails when the key goes through, or
// replaces, the value of another key.
func Nest(into map[string]any, key string, value any) error {
	parts := strings.Split(key, ".")
	for _, part := range parts[:len(parts)-1] {
		next, found := into[part]
		if !found {
			next = map[string]any{}
			into[part] = next
		}
		fields, ok := next.(map[string]any)
		if !ok {
			return Misconfigured("export %s: another export already has the key %s, rename one of them", key, part)
		}
		into = fields
	}
	last := parts[len(parts)-1]
	if _, found := into[last]; found {
		return Misconfigured("export %s: the key overlaps with another export, rename one of them", key)
	}
	into[last] = value
	return nil
}

// Value returns the first value that a path, written without braces, selects in a document, and whether there is one. Errors
// carry the code ERR_CONFIGURATION_PROBLEM.
func ValueAt(document map[string]any, path string) (any, bool, error) {
	found, err := ValuesAt(document, path)
	if err != nil || len(found) == 0 || found[0] == nil {
		return nil, false, err
	}
	// A path may also make values of its own, of types that JSON does not have.
	raw, err := json.Marshal(found[0])
	if err != nil {
		return nil, false, nil
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return nil, false, nil
	}
	return value, true, nil
}

func read(ctx context.Context, s *Session, export *managedresource.Export) (any, Progress, error) {
	cluster, err := s.On(ctx, export.TargetName)
	if err != nil {
		return nil, Progress{}, err
	}
	from := ReferenceOf(export.FromResource)
	value, progress, err := field(ctx, s, cluster, export, from, export.JSONPath)
	if err != nil || !progress.Done() || export.FromObjectReference == nil {
		return value, progress, err
	}
	next, ok := follow(export.FromObjectReference, value, from.Namespace)
	if !ok {
		progress.Wait(fmt.Sprintf("export %s: %s of %s is not a reference with a name, as fromObjectRef needs", export.Key, export.JSONPath, from),
			Watched(cluster, from))
		return nil, progress, nil
	}
	return field(ctx, s, cluster, export, next, export.FromObjectReference.JSONPath)
}

// follow returns the object that an exported reference names, and whether it names one.
func follow(ref *managedresource.FromObjectReference, value any, namespace string) (managedresource.ResourceReference, bool) {
	fields, _ := value.(map[string]any)
	name, _ := fields["name"].(string)
	if own, _ := fields["namespace"].(string); own != "" {
		namespace = own
	}
	next := managedresource.ResourceReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: name, Namespace: namespace}
	return next, name != ""
}

// field reads one field of one object; what is not there yet is progress.
func field(ctx context.Context, s *Session, cluster *target.Cluster, export *managedresource.Export,
	ref managedresource.ResourceReference, path string) (any, Progress, error) {
	var progress Progress
	live, err := s.Served.Get(ctx, cluster, ref)
	if IsGone(err) {
		progress.Wait(fmt.Sprintf("export %s: %s does not exist", export.Key, ref), Watched(cluster, ref))
		return nil, progress, nil
	}
	if err != nil {
		return nil, progress, err
	}
	value, found, err := ValueAt(live.Object, path)
	if err != nil {
		return nil, progress, err
	}
	if !found {
		progress.Wait(fmt.Sprintf("export %s: %s has no %s yet", export.Key, ref, path), Watched(cluster, ref))
	}
	return value, progress, nil
}

// Limits of paths: a recursive descent visits the whole object, and each further one, and each list of keys or indexes, multiplies that.
const (
	maxPathLength = 1024
	maxDescents   = 1
	maxChoices    = 64
)

// Values returns what a path, written with or without braces, selects in an object. Fields that are missing, and objects of another shape than the
// path needs, select nothing.
func ValuesAt(object any, path string) (found []any, err error) {
	if len(path) > maxPathLength || strings.Count(path, "..") > maxDescents {
		return nil, Misconfigured("jsonPath of %d characters: is longer than %d or has more than one recursive descent (..), simplify it",
			len(path), maxPathLength)
	}
	parsed := false
	defer func() { // the library panics on some paths, and on some objects
		if recover() == nil {
			return
		}
		if found = nil; !parsed {
			err = Misconfigured("jsonPath %q: cannot be evaluated, simplify it", path)
		}
	}()
	template := jsonpath.New("").AllowMissingKeys(true)
	if err := template.Parse(braced(path)); err != nil {
		return nil, Misconfigured("jsonPath %q: is malformed: %w", path, err)
	}
	tree, _ := jsonpath.Parse("", braced(path))
	if parsed = true; choices(tree.Root) > maxChoices {
		return nil, Misconfigured("jsonPath %q: its lists of keys or indexes ([a,b]) stand for more than %d paths together, simplify it", path, maxChoices)
	}
	results, err := template.FindResults(object)
	if err != nil {
		return nil, nil
	}
	for _, result := range results {
		for _, value := range result {
			if value.Kind() != reflect.Uint8 { // the library takes texts apart into bytes
				found = append(found, value.Interface())
			}
		}
	}
	return found, nil
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

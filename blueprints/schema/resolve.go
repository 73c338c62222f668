// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchemaFile is how large a file of a blueprint may be that a schema refers to.
const maxSchemaFile = 1 << 20

// Schemes of references that lead to other documents.
const (
	localScheme     = "local://"
	blueprintScheme = "blueprint://"
	componentScheme = "cd://"
)

var errNoComponent = errors.New("there is no component descriptor; give the installation a componentDescriptor")

// scope is where references of a document lead: from a document of a component only to what that component refers to.
type scope struct {
	// component is the part of a cd:// URI that leads to the component, with a slash at its end; empty for the own component.
	component string
	// foreign is true in documents of components.
	foreign bool
	// trail lists the documents on the way here, to find cycles.
	trail []string
	// base is what references inside the document start from: its root, or the innermost part with an $id.
	base any
	// anchors are the names that parts of the document have.
	anchors map[string]bool
}

// resolver registers a document and all that it refers to with the compiler, each under a URL of its own, so that references inside
// a document (#/…) stay inside it.
type resolver struct {
	options  Options
	compiler *jsonschema.Compiler
	urls     map[string]string
	// loose says of each reference inside a document that is no valid one how it is read.
	loose map[string]bool
}

func (r *resolver) register(at string, document any, s scope) error {
	s.base, s.anchors = document, map[string]bool{}
	collectAnchors(document, s.anchors)
	resolved, err := r.walk(document, s)
	if err != nil {
		return err
	}
	return r.compiler.AddResource(at, resolved)
}

// walk replaces each map with a reference to another document by a map with nothing but the reference to where it is registered.
func (r *resolver) walk(node any, s scope) (any, error) {
	switch t := node.(type) {
	case []any:
		return r.walkList(t, s)
	case map[string]any:
		ref, isReference := t["$ref"].(string)
		if isReference && leadsOut(ref) {
			target, err := r.follow(ref, s)
			return map[string]any{"$ref": target}, err
		}
		if isReference {
			t["$ref"] = r.inside(ref, s)
		} else if id, ok := t["$id"].(string); ok && !strings.HasPrefix(id, "#") {
			s.base = t
		}
		return r.walkMap(t, s)
	}
	return node, nil
}

// inside returns a reference inside a document as the compiler takes it. What is neither a path with a slash nor the name of a part is read as a
// path without its slash, and else as the whole document: published schemas have both, and the library of Gardener Landscaper takes them.
func (r *resolver) inside(ref string, s scope) string {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment == "" || strings.HasPrefix(fragment, "/") || s.anchors[fragment] {
		return ref
	}
	read, problem := "#", `leads nowhere and is read as "#", the whole document; write #/ and the path to a definition`
	if isIn(s.base, fragment) {
		read = "#/" + fragment
		problem = fmt.Sprintf("has no slash and is read as %q; write that", read)
	}
	place := ""
	if len(s.trail) > 0 {
		place = " in " + s.trail[len(s.trail)-1]
	}
	r.loose[fmt.Sprintf("the reference %q%s %s", ref, place, problem)] = true
	return read
}

// isIn reports whether a path of keys and indices leads to something.
func isIn(node any, pointer string) bool {
	for step := range strings.SplitSeq(pointer, "/") {
		if text, err := url.PathUnescape(step); err == nil {
			step = text
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch t := node.(type) {
		case map[string]any:
			next, ok := t[step]
			if !ok {
				return false
			}
			node = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(t) {
				return false
			}
			node = t[i]
		default:
			return false
		}
	}
	return true
}

// collectAnchors finds the names that parts of a document have, in the ways of all drafts.
func collectAnchors(node any, into map[string]bool) {
	switch t := node.(type) {
	case []any:
		for _, item := range t {
			collectAnchors(item, into)
		}
	case map[string]any:
		for key, item := range t {
			name, ok := item.(string)
			switch {
			case !ok:
				collectAnchors(item, into)
			case key == "$anchor" || key == "$dynamicAnchor":
				into[name] = true
			case key == "$id" || key == "id":
				_, anchor, _ := strings.Cut(name, "#")
				into[anchor] = true
			}
		}
	}
}

func (r *resolver) walkList(list []any, s scope) (any, error) {
	for i, item := range list {
		resolved, err := r.walk(item, s)
		if err != nil {
			return nil, err
		}
		list[i] = resolved
	}
	return list, nil
}

func (r *resolver) walkMap(entries map[string]any, s scope) (any, error) {
	for key, item := range entries {
		resolved, err := r.walk(item, s)
		if err != nil {
			return nil, err
		}
		entries[key] = resolved
	}
	return entries, nil
}

func leadsOut(ref string) bool {
	return strings.HasPrefix(ref, localScheme) || strings.HasPrefix(ref, blueprintScheme) || strings.HasPrefix(ref, componentScheme)
}

// follow registers the document behind a reference and returns the URL of the place in it.
func (r *resolver) follow(ref string, s scope) (string, error) {
	uri, fragment, _ := strings.Cut(ref, "#")
	uri, next, err := s.enter(uri)
	if err != nil {
		return "", fmt.Errorf("reference %q: %w", ref, err)
	}
	if slices.Contains(s.trail, uri) {
		return "", fmt.Errorf("cyclic references detected: %s", strings.Join(append(s.trail, uri), " → "))
	}
	at, ok := r.urls[uri]
	if !ok {
		if at, err = r.load(uri, next); err != nil {
			return "", err
		}
	}
	return at + pointer(fragment), nil
}

// enter returns the absolute URI of a reference and the scope of the document that it leads to.
func (s scope) enter(uri string) (string, scope, error) {
	next := scope{component: s.component, foreign: s.foreign, trail: s.trail}
	if rest, ok := strings.CutPrefix(uri, componentScheme); ok {
		rest = strings.Trim(rest, "/")
		uri = componentScheme + s.component + rest
		next.foreign = true
		next.component = s.component + leadIn(rest)
	} else if s.foreign {
		return "", next, errors.New("a schema of a component can refer to cd:// only")
	}
	next.trail = append(slices.Clone(s.trail), uri)
	return uri, next, nil
}

// leadIn is what goes before resources/<name>.
func leadIn(rest string) string {
	lead, _, found := strings.Cut("/"+rest, "/resources/")
	if !found || lead == "" {
		return ""
	}
	return strings.TrimPrefix(lead, "/") + "/"
}

// load registers a document under a URL that only counts, because names may contain what URLs must not.
func (r *resolver) load(uri string, s scope) (string, error) {
	data, err := r.read(uri)
	if err != nil {
		return "", fmt.Errorf("reference %q: %w", uri, err)
	}
	document, err := decode(data)
	if err != nil {
		return "", fmt.Errorf("reference %q: %w", uri, err)
	}
	at := fmt.Sprintf("schema:///document/%d", len(r.urls))
	r.urls[uri] = at
	return at, r.register(at, document, s)
}

func (r *resolver) read(uri string) ([]byte, error) {
	switch {
	case strings.HasPrefix(uri, localScheme):
		return r.localType(strings.TrimPrefix(uri, localScheme))
	case strings.HasPrefix(uri, blueprintScheme):
		return r.file(strings.TrimPrefix(uri, blueprintScheme))
	}
	if r.options.Resource == nil {
		return nil, errNoComponent
	}
	return r.options.Resource(context.Background(), uri) // schemas are compiled in children: the parent bounds what they ask for
}

func (r *resolver) localType(name string) ([]byte, error) {
	if strings.Contains(name, "/") {
		return nil, errors.New("local:// takes the name of a local type and no path")
	}
	found, ok := r.options.LocalTypes[name]
	if !ok {
		return nil, errors.New("the blueprint has no such entry in localTypes")
	}
	return found.RawMessage, nil
}

func (r *resolver) file(name string) ([]byte, error) {
	if r.options.Blueprint == nil {
		return nil, errors.New("there are no files here")
	}
	file, err := r.options.Blueprint.Open(strings.TrimPrefix(path.Clean("/"+name), "/"))
	if err != nil {
		return nil, errors.New("the blueprint has no such file")
	}
	defer func() { _ = file.Close() }()
	return readLimited(file)
}

func readLimited(file fs.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, maxSchemaFile+1))
	if err != nil {
		return nil, errors.New("the file of the blueprint cannot be read")
	}
	if len(data) > maxSchemaFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxSchemaFile)
	}
	return data, nil
}

// pointer makes a fragment for a URL; old references leave out its first slash.
func pointer(fragment string) string {
	if fragment == "" {
		return ""
	}
	return (&url.URL{Fragment: "/" + strings.TrimPrefix(fragment, "/")}).String()
}

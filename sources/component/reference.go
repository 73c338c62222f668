// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// ErrNotFound says that there is no such component version, resource, reference or blob.
var ErrNotFound = fault.Class(fault.Stalled, "not found")

// Limits of references.
const (
	// maxReference is how many bytes a reference may have.
	maxReference = 2083
	// uriScheme starts a reference written as a URI.
	uriScheme = "cd://"
)

// RelativeReference leads from a component along references to a resource. Each step is an identity: name and, where needed, the extra
// identity.
type RelativeReference struct {
	// Path are the references to follow.
	Path []map[string]string
	// Resource at the end.
	Resource map[string]string
}

// ParseReference reads a cd:// URI such as cd://componentReferences/db/resources/chart, YAML or JSON of an OCM relative reference
// {resource: {name}, referencePath: [{name}]}, or such an object as JSON-like data.
func ParseReference(reference any) (RelativeReference, error) {
	switch r := reference.(type) {
	case string:
		if len(r) > maxReference {
			return RelativeReference{}, fmt.Errorf("resource reference is longer than %d bytes; shorten it", maxReference)
		}
		if strings.HasPrefix(r, uriScheme) {
			return parseURI(r)
		}
		document, err := decodeJSON([]byte(r))
		if err != nil {
			return RelativeReference{}, fmt.Errorf("resource reference is neither a cd:// URI nor an object: %w", err)
		}
		return parseRelative(document)
	case map[string]any:
		return parseRelative(copyTree(r))
	}
	return RelativeReference{}, fmt.Errorf("a resource reference must be a text or an object, not %s", describe(reference))
}

// copyTree copies JSON-like data; a value that JSON does not have becomes null.
func copyTree(value any) any {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	out, _ := decodeJSON(raw)
	return out
}

// parseURI reads keywords and names by turns.
func parseURI(uri string) (RelativeReference, error) {
	var out RelativeReference
	parts := strings.Split(strings.Trim(strings.TrimPrefix(uri, uriScheme), "/"), "/")
	if len(parts)%2 != 0 {
		return out, fmt.Errorf("reference %q needs keywords and names by turns, like cd://resources/my-resource", uri)
	}
	for i := 0; i < len(parts); i += 2 {
		if err := out.step(parts[i], parts[i+1], i+2 == len(parts)); err != nil {
			return RelativeReference{}, fmt.Errorf("reference %q: %w", uri, err)
		}
	}
	return out, nil
}

func (r *RelativeReference) step(keyword, name string, last bool) error {
	identity := map[string]string{"name": name}
	switch {
	case name == "":
		return errors.New("a name is empty")
	case keyword == "componentReferences" && !last:
		r.Path = append(r.Path, identity)
	case keyword == "resources" && last:
		r.Resource = identity
	case keyword == "componentReferences":
		return errors.New("it ends at a component; end it with resources/<name>")
	case keyword == "resources":
		return errors.New("resources/<name> must be its end")
	default:
		return fmt.Errorf("keyword %q is unknown; use componentReferences or resources", keyword)
	}
	return nil
}

// parseRelative reads an OCM relative reference. Steps are identities; an extra identity may also be nested under extraIdentity.
func parseRelative(document any) (RelativeReference, error) {
	fields, ok := document.(map[string]any)
	if !ok {
		return RelativeReference{}, fmt.Errorf("a resource reference must be a cd:// URI or an object with resource and referencePath, not %s",
			describe(document))
	}
	root := object{fields: fields, problems: &problems{}}
	var out RelativeReference
	list(root, "referencePath", &out.Path, readIdentity)
	readIdentity(&out.Resource, root.child("resource"))
	if err := root.problems.err(); err != nil {
		return RelativeReference{}, fmt.Errorf("resource reference is wrong: %w", err)
	}
	return out, nil
}

// readIdentity takes all fields as the parts of an identity.
func readIdentity(identity *map[string]string, o object) {
	o.texts("extraIdentity", identity)
	if *identity == nil {
		*identity = map[string]string{}
	}
	for key := range o.fields {
		var part string
		o.text(key, &part)
		(*identity)[key] = part
	}
	if (*identity)["name"] == "" {
		o.problems.add(o.at("name"), "is missing")
	}
}

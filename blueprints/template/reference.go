// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxURI is how long a cd:// reference may be.
const maxURI = 2083

// relativeReference leads from a component along references to a resource; each step is an identity.
type relativeReference struct {
	path     []map[string]string
	resource map[string]string
}

// parseReference reads a cd:// URI, or YAML or structured data of an OCM relative reference.
func parseReference(ref any) (relativeReference, error) {
	switch t := ref.(type) {
	case string:
		if strings.HasPrefix(t, "cd://") {
			return parseURI(t)
		}
		return parseReferenceText([]byte(t))
	case map[string]any:
		text, err := yaml.Marshal(t)
		if err != nil {
			return relativeReference{}, fmt.Errorf("resource reference cannot be read: %w", err)
		}
		return parseReferenceText(text)
	}
	return relativeReference{}, fmt.Errorf("a resource reference must be a text or an object, not a value of type %s", typeName(ref))
}

// parseURI reads cd://componentReferences/a/componentReferences/b/resources/c.
func parseURI(uri string) (relativeReference, error) {
	if len(uri) > maxURI {
		return relativeReference{}, fmt.Errorf("reference is longer than %d bytes", maxURI)
	}
	parts := strings.Split(strings.Trim(strings.TrimPrefix(uri, "cd://"), "/"), "/")
	if len(parts)%2 != 0 {
		return relativeReference{}, fmt.Errorf("reference %q needs keywords and names by turns, like cd://resources/my-resource", uri)
	}
	var out relativeReference
	for i := 0; i < len(parts); i += 2 {
		if err := out.add(parts[i], parts[i+1], i+2 == len(parts)); err != nil {
			return relativeReference{}, fmt.Errorf("reference %q: %w", uri, err)
		}
	}
	return out, nil
}

func (r *relativeReference) add(keyword, name string, last bool) error {
	step := map[string]string{"name": name}
	switch {
	case keyword == "componentReferences" && !last:
		r.path = append(r.path, step)
	case keyword == "resources" && last:
		r.resource = step
	case keyword == "componentReferences":
		return errors.New("it ends at a component; end it with resources/<name>")
	case keyword == "resources":
		return errors.New("resources/<name> must be its end")
	default:
		return fmt.Errorf("keyword %q is unknown; use componentReferences or resources", keyword)
	}
	return nil
}

func parseReferenceText(text []byte) (relativeReference, error) {
	var parsed struct {
		Resource      map[string]string   `json:"resource"`
		ReferencePath []map[string]string `json:"referencePath"`
	}
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		return relativeReference{}, fmt.Errorf("resource reference is neither a cd:// URI nor a YAML object with resource and referencePath: %w", err)
	}
	if parsed.Resource["name"] == "" {
		return relativeReference{}, errors.New("resource reference has no resource.name")
	}
	return relativeReference{path: parsed.ReferencePath, resource: parsed.Resource}, nil
}

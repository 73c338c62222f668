// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// resourceKey names a resource of a component, as the template function getResourceKey writes it.
type resourceKey struct {
	Component struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"component"`
	// Resource is its identity: the name, and what else distinguishes it.
	Resource map[string]string `json:"resource"`
	// RepositoryContext is where the component is; nil means in the repository of the Context.
	RepositoryContext *v1alpha1.AnyJSON `json:"repositoryContext"`
}

var errResourceKey = errors.New("is no key of a resource; set it to the result of the template function getResourceKey")

// parseResourceKey reads base64 of YAML without aliases, which could stand for gigabytes.
func parseResourceKey(encoded string) (*resourceKey, error) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errResourceKey
	}
	var parsed yamlv3.Node
	if yamlv3.Unmarshal(text, &parsed) != nil || hasAlias(&parsed) {
		return nil, errResourceKey
	}
	raw, err := foreign.ToJSON(text)
	if err != nil {
		return nil, errResourceKey
	}
	key := &resourceKey{}
	if document.Decode(raw, key) != nil || key.Component.Name == "" || key.Component.Version == "" || key.Resource["name"] == "" {
		return nil, errResourceKey
	}
	return key, nil
}

func hasAlias(node *yamlv3.Node) bool {
	if node.Kind == yamlv3.AliasNode {
		return true
	}
	for _, inner := range node.Content {
		if hasAlias(inner) {
			return true
		}
	}
	return false
}

// definition is the component that the key names. One that was written into the Installation is in the key: then its local blobs are looked
// for as they were for the Installation.
func (k *resourceKey) definition() v1alpha1.ComponentDescriptorDefinition {
	if written := k.written(); written != nil {
		return v1alpha1.ComponentDescriptorDefinition{Inline: written}
	}
	return v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{
		RepositoryContext: k.RepositoryContext, ComponentName: k.Component.Name, Version: k.Component.Version,
	}}
}

// written returns the descriptor in the key, nil if there is none: it is the only file of a repository of type inline.
func (k *resourceKey) written() *v1alpha1.AnyJSON {
	if k.RepositoryContext == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	var kind string
	var files map[string]string
	if document.Decode(k.RepositoryContext.RawMessage, &fields) != nil || len(fields) != 2 ||
		document.Decode(fields["type"], &kind) != nil || kind != "inline" ||
		document.Decode(fields["fileSystem"], &files) != nil || len(files) != 1 {
		return nil
	}
	text := []byte(files[component.DescriptorFile])
	if d, err := component.Decode(text); err != nil || d.Name != k.Component.Name || d.Version != k.Component.Version {
		return nil
	}
	written := v1alpha1.NewAnyJSON(text)
	return &written
}

// decodeReference reads chart.fromResource.ref.
func decodeReference(raw *v1alpha1.AnyJSON, into *v1alpha1.ComponentDescriptorReference) error {
	if err := document.Decode(raw.RawMessage, into); err != nil {
		return err
	}
	if into.ComponentName == "" || into.Version == "" {
		return errors.New("names no component; set componentName and version")
	}
	return nil
}

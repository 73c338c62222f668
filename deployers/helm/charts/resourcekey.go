// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	// Digest of the resource in the descriptor that the template saw, which the controller has verified if that was asked for; nil in keys of
	// resources without one.
	Digest *component.DigestSpec `json:"digest"`
	// RepositoryContext is where the component is; nil means in the repository of the Context.
	RepositoryContext *v1alpha1.AnyJSON `json:"repositoryContext"`
}

var errResourceKey = errors.New("is not a key of a resource; set it to the result of the template function getResourceKey")

// parseResourceKey reads base64 of YAML.
func parseResourceKey(encoded string) (*resourceKey, error) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
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

// find returns the resource in a descriptor, with the digest of the key for its content. The error is of type *replacedError if the
// descriptor has another one.
func (k *resourceKey) find(d *component.Descriptor) (*component.Resource, error) {
	found, err := d.FindResource(k.Resource)
	if err != nil || !k.Digest.Covered() {
		return found, err
	}
	if found.Digest != nil && !sameDigest(found.Digest, k.Digest) {
		return nil, &replacedError{component: d.Key(), resource: found.Name, now: *found.Digest, then: *k.Digest}
	}
	bound := *found
	bound.Digest = k.Digest
	return &bound, nil
}

func sameDigest(a, b *component.DigestSpec) bool {
	return a.HashAlgorithm == b.HashAlgorithm && a.NormalisationAlgorithm == b.NormalisationAlgorithm && strings.EqualFold(a.Value, b.Value)
}

// replacedError says that a component version is not the one any more that a key was made from.
type replacedError struct {
	component component.Key
	resource  string
	// now and then are the digests of the resource in the descriptor found and in the one that the key was made from.
	now, then component.DigestSpec
}

// Error names resource, both digests and what to do.
func (e *replacedError) Error() string {
	return fmt.Sprintf("resource %q of component %s has the digest %s (%s) in the component descriptor that is published now, but the deploy item "+
		"was made from one with the digest %s (%s); find out who replaced the component version, publish a new version of it, and let the "+
		"installation run again", e.resource, e.component, e.now.Value, e.now.HashAlgorithm, e.then.Value, e.then.HashAlgorithm)
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

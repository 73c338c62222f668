// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func TestD02InlineDescriptorNeedsNoRegistry(t *testing.T) {
	s := newScene(t)
	inline := build("example.com/root", "1.0.0").
		resource("root-a", "blueprint", object{"type": "localFilesystemBlob", "filename": "root"}, object{"relation": "local"}).
		image("image", "registry.example.com/image:1.0.0")
	s.install("root", object{
		"componentDescriptor": object{"inline": inline.document()},
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": document(object{
			"exports":          list{object{"name": "image", "type": "data", "schema": object{"type": "string"}}},
			"deployExecutions": goTemplate(mockTemplate(`{image: {{ (getResource "name" "image").access.imageReference }}}`)),
			"exportExecutions": goTemplate(`exports: {image: {{ .values.deployitems.item.image }}}`),
		})}}},
		"exports": object{"data": list{object{"name": "image", "dataRef": "image"}}},
	})
	s.succeeded("root")
	assert.Equal(t, `"registry.example.com/image:1.0.0"`, s.value("image"))
}

func TestInlineDescriptorReachesPublishedBlobsAndEmbeddedComponents(t *testing.T) {
	s := newScene(t)
	here := func(b *built) *built {
		b.descriptor["repositoryContexts"] = list{s.repository()}
		return b
	}
	inner := here(build("example.com/inner", "1.0.0").image("image", "registry.example.com/inner:1.0.0").blueprint("blueprint", object{
		"exports":          list{object{"name": "out", "type": "data", "schema": object{"type": "string"}}},
		"exportExecutions": goTemplate(`exports: {out: {{ (getResource .cd "name" "image").access.imageReference }}}`),
	}, nil))
	outer := here(build("example.com/outer", "1.0.0").blueprint("blueprint", object{
		"exports": list{object{"name": "out", "type": "data", "schema": object{"type": "string"}}},
		"subinstallations": list{object{
			"name": "inner", "blueprint": object{"ref": "cd://componentReferences/inner/resources/blueprint"},
			"exports": object{"data": list{object{"name": "out", "dataRef": "inner"}}},
		}},
		"exportExecutions": goTemplate(`exports: {out: {{ .dataobjects.inner }}}`),
	}, nil))
	s.publish(inner, outer.refers("inner", "example.com/inner", "1.0.0", nil))

	// What is written into the Installation differs from what is published, so that it shows which of both was used.
	changed := here(build("example.com/inner", "1.0.0"))
	changed.descriptor["resources"] = append(list{}, inner.descriptor["resources"].(list)...)
	changed.descriptor["resources"].(list)[0] = build("", "").image("image", "registry.example.com/changed:1.0.0").descriptor["resources"].(list)[0]
	outer.descriptor["componentReferences"] = list{}
	outer.refers("inner", "example.com/inner", "1.0.0", object{"labels": list{object{"name": component.LabelEmbedded, "value": changed.document()}}})
	s.install("outer", object{
		"componentDescriptor": object{"inline": outer.document()},
		"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
		"exports":             object{"data": list{object{"name": "out", "dataRef": "out"}}},
	})
	s.succeeded("outer")
	assert.Equal(t, `"registry.example.com/changed:1.0.0"`, s.value("out"))
	require.NotNil(t, s.Child("outer", "inner").Spec.ComponentDescriptor.Inline)
}

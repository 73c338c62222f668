// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestMirror(t *testing.T) {
	p, from, to := start(t), registry.Start(t, registry.Options{}), registry.Start(t, registry.Options{})
	image, d := from.Push(t, "team/landscaper", "v1.2.0", registry.Layer{MediaType: "x/layer", Content: "image"})
	_, signature := from.Push(t, "team/landscaper", strings.Replace(d.String(), ":", "-", 1)+".sig", registry.Layer{MediaType: "x/layer", Content: "signature"})
	chart, _ := from.Push(t, "team/charts/web", "1.0.0", registry.Layer{MediaType: "x/layer", Content: "chart"})
	p.write("list", "# what the factory needs\n\n"+chart+"\n")
	saved := p.must("mirror", "pull", "mirror", "oci://"+image, "--file", "list")
	assert.Contains(t, saved, image+" "+d.String()+"\n")
	assert.Contains(t, saved, ".sig "+signature.String()+"\n")
	pushed := p.must("mirror", "push", "mirror", to.Host+"/inside")
	assert.Contains(t, pushed, to.Host+"/inside/team/landscaper@"+d.String()+"\n")
	assert.Equal(t, 3, strings.Count(pushed, "\n"))
	again := p.must("mirror", "pull", "copy", to.Ref("inside/team/landscaper", "v1.2.0"))
	assert.Contains(t, again, d.String())
	assert.Contains(t, again, signature.String(), "signatures belong to it there, too")

	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing to save":         {[]string{"pull", "mirror"}, "there is nothing to save"},
		"a list that is missing":  {[]string{"pull", "mirror", "--file", "none"}, "--file"},
		"no reference":            {[]string{"pull", "mirror", "UPPER"}, "it is not an OCI reference"},
		"what is not there":       {[]string{"pull", "mirror", from.Ref("team/landscaper", "v9")}, "v9"},
		"a directory of nobody":   {[]string{"push", "nowhere", to.Host}, "name a directory of mirror pull"},
		"a directory of others":   {[]string{"push", ".", to.Host}, "is not an OCI image layout"},
		"no registry to speak of": {[]string{"push", "mirror", "UPPER/X"}, "it is not an OCI reference"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, p.fail(append([]string{"mirror"}, c.args...)...), c.says)
		})
	}
}

// The list of docs/releases.md is one of references that registries are asked for.
func TestDocumentedListOfReferences(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "releases.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```text\n# more.txt")
	require.True(t, found)
	text, _, _ := strings.Cut("# more.txt"+rest, "```")
	list := filepath.Join(t.TempDir(), "more.txt")
	require.NoError(t, os.WriteFile(list, []byte(text), 0o600))

	references, err := (&mirrorFlags{list: list}).references(nil)

	require.NoError(t, err)
	assert.Len(t, references, strings.Count(text, "\n")-1)
	for _, reference := range references {
		_, err := oci.ParseReference(reference)
		assert.NoError(t, err)
	}
}

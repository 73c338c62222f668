// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
)

// listOf is a List of so many objects in block style.
func listOf(items int) string {
	return "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- kind: A\n", items)
}

// TestObjectsOfARecordAreCounted reads records of very many documents, and of few that stand for very many objects.
func TestObjectsOfARecordAreCounted(t *testing.T) {
	flow := "items: [" + strings.Repeat("{kind: A},", MaxObjects) + "{kind: A}]"
	thousand := "a: &a {items: [" + strings.Repeat("{kind: A},", 1000) + "]}\n"
	for name, tt := range map[string]struct {
		manifest   string
		hooks      []*release.Hook
		isReadable bool
	}{
		"documents":             {manifest: strings.Repeat("\n---\na: 1", MaxObjects), isReadable: true},
		"one document more":     {manifest: strings.Repeat("\n---\na: 1", MaxObjects+1)},
		"millions of documents": {manifest: strings.Repeat("\n---\na: 1", 2_400_000)},
		"millions of nothing":   {manifest: strings.Repeat("\n---", 10_000_000), isReadable: true},
		"hooks":                 {hooks: slices.Repeat([]*release.Hook{{Manifest: "a: 1"}}, MaxObjects+1)},
		"a hook of many":        {hooks: []*release.Hook{{Manifest: strings.Repeat("\n---\na: 1", MaxObjects+1)}}},
		"as many as may be":     {manifest: listOf(MaxObjects), isReadable: true},
		"one more":              {manifest: listOf(MaxObjects + 1)},
		"beside documents":      {manifest: "kind: A\n---\n" + listOf(MaxObjects)},
		"of several Lists":      {manifest: strings.Repeat("---\n"+listOf(MaxObjects/2), 3)},
		"in a hook":             {hooks: []*release.Hook{{Manifest: listOf(MaxObjects + 1)}}},
		"in several hooks":      {hooks: []*release.Hook{{Manifest: listOf(MaxObjects)}, {Manifest: "kind: A"}}},
		"of Lists in a List":    {manifest: "items:\n- {" + flow + "}\n"},
		"in flow style":         {manifest: flow},
		"on one line":           {manifest: "--- {" + flow + "}"},
		"as JSON":               {manifest: `{"items": [` + strings.Repeat(`{"kind": "A"},`, MaxObjects) + `{"kind": "A"}]}`},
		"below a quoted key":    {manifest: "kind: List\n\"\\x69tems\":\n" + strings.Repeat("- kind: A\n", MaxObjects+1)},
		"below a key and space": {manifest: "kind: List\nitems :\n" + strings.Repeat("- kind: A\n", MaxObjects+1)},
		"below a complex key":   {manifest: "kind: List\n? items\n:\n" + strings.Repeat("- kind: A\n", MaxObjects+1)},
		"below a key in a tag":  {manifest: "kind: List\n!!str items:\n" + strings.Repeat("- kind: A\n", MaxObjects+1)},
		"indented":              {manifest: "  kind: List\n  items:\n" + strings.Repeat("  - kind: A\n", MaxObjects+1)},
		"after other breaks":    {manifest: "kind: List\u0085items:\n" + strings.Repeat("- kind: A\n", MaxObjects+1)},
		"behind aliases":        {manifest: thousand + "items: [" + strings.Repeat("*a,", 25) + "]"},
		"below a key in base64": {manifest: "kind: List\n!!binary aXRlbXM= :\n" + strings.Repeat("- kind: A\n", MaxObjects+1)},
		"merged":                {manifest: "a: &a\n  items:\n" + strings.Repeat("  - kind: A\n", MaxObjects+1) + "<<: *a\n"},
		"of large definitions": {
			manifest:   strings.Repeat("---\nkind: CustomResourceDefinition\nspec:\n  schema:\n    items:\n"+strings.Repeat("    - a\n", MaxObjects), 3),
			isReadable: true,
		},
		"of no objects": {manifest: "items: [" + strings.Repeat("1,", 2*MaxObjects) + "]", isReadable: true},
		"of no YAML":    {manifest: "items: [" + strings.Repeat("{},", 2*MaxObjects), isReadable: true},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(release.Release{Info: &release.Info{Status: release.StatusFailed}, Manifest: tt.manifest, Hooks: tt.hooks})
			require.NoError(t, err)

			_, err = checked{kept: inSecrets{}}.read(stored{name: "one", packed: packed(t, string(text))}, maxRecord, new(int))

			if tt.isReadable {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrUnreadable)
			assert.ErrorContains(t, err, "Secret one is no record of a Helm release that can be read: its manifests have more than 20000 objects, those of Lists included; delete it")
		})
	}
}

func TestObjectsOfAReleaseAreCountedTogether(t *testing.T) {
	text, err := json.Marshal(release.Release{Info: &release.Info{Status: release.StatusFailed}, Manifest: listOf(MaxObjects)})
	require.NoError(t, err)
	all := slices.Repeat([]stored{{name: "one", packed: packed(t, string(text))}}, maxAllObjects/MaxObjects+1)

	_, _, err = checked{kept: inSecrets{}}.readAll(all[1:], maxRecords)
	require.NoError(t, err)

	_, _, err = checked{kept: inSecrets{}}.readAll(all, maxRecords)
	require.ErrorIs(t, err, ErrUnreadable)
	require.ErrorContains(t, err, "with the other records of the release it has more than 200000 objects, those of Lists included")
}

// TestObjectsOfPlainManifestsAreNotParsed is about what almost all charts render: each job reads the records of ten revisions.
func TestObjectsOfPlainManifestsAreNotParsed(t *testing.T) {
	for name, tt := range map[string]struct {
		document string
		mayBe    bool
	}{
		"an object":                {"\n# Source: a/templates/items.yaml\napiVersion: v1\nkind: ConfigMap\n\nmetadata:\n  name: a\ndata: {}\n", false},
		"a definition":             {"kind: CustomResourceDefinition\nspec:\n  versions:\n  - schema:\n      items:\n        type: object\n", false},
		"a list at the margin":     {"kind: Role\nrules:\n- apiGroups: ['']\n-\n  verbs: [get]\n# the items\n", false},
		"behind a separator":       {"---\nkind: A\nspec: {items: []}\n", false},
		"a comment on its line":    {"--- # items\nkind: A\n", true},
		"a List":                   {"kind: List\nitems: []\n", true},
		"JSON without the word":    {`{"kind": "A"}`, false},
		"JSON":                     {`{"kind": "A", "spec": {"items": []}}`, true},
		"with another end of line": {"kind: A\r\nspec:\r\n  items: []\r\n", false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.mayBe, mayBeList(tt.document)) })
	}
}

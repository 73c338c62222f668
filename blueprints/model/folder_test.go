// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBesideStaysInTheArtifact(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want, says string }{
		"sibling":             {"./blueprints/shop", "../db", "blueprints/db", ""},
		"sibling with slash":  {"/blueprints/shop/", "../db/", "blueprints/db", ""},
		"below":               {"", "./db", "db", ""},
		"root":                {"shop", "..", ".", ""},
		"itself":              {"shop", ".", "", "is this blueprint itself"},
		"itself by a detour":  {"shop", "../shop", "", "is this blueprint itself"},
		"out of the artifact": {"shop", "../../db", "", `leads out of the artifact that this blueprint, in "shop"`},
		"out of the root":     {"", "../db", "", "leads out of the artifact"},
		"out and in again":    {"shop", "../../x/shop/db", "", "leads out of the artifact"},
		"absolute":            {"shop", "/db", "", "is absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Beside(test.from, test.to)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestFolderOfAnArtifact(t *testing.T) {
	artifact := fstest.MapFS{"db/blueprint.yaml": {Data: []byte("x")}}
	for folder, says := range map[string]string{"db": "", "./db/": "", "../db": "leads out of the artifact", "dv": "is no folder", "db/blueprint.yaml": "is no folder"} {
		files, err := Folder(artifact, folder)
		if says != "" {
			require.ErrorContains(t, err, says)
			continue
		}
		require.NoError(t, err)
		_, err = files.Open("blueprint.yaml")
		require.NoError(t, err)
	}
}

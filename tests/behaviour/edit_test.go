// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// replaceOnce replaces the one place where a text says something.
func replaceOnce(t testing.TB, text, old, new string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, old), "%q in\n%s", old, text)
	return strings.Replace(text, old, new, 1)
}

// replaceInline changes the text of an inline blueprint.yaml.
func replaceInline(t testing.TB, inst *v1alpha1.Installation, old, new string) *v1alpha1.Installation {
	t.Helper()
	var files map[string]string
	require.NoError(t, json.Unmarshal(inst.Spec.Blueprint.Inline.Filesystem.RawMessage, &files))
	files["blueprint.yaml"] = replaceOnce(t, files["blueprint.yaml"], old, new)
	raw, err := json.Marshal(files)
	require.NoError(t, err)
	changed := inst.DeepCopy()
	changed.Spec.Blueprint.Inline.Filesystem.RawMessage = raw
	return changed
}

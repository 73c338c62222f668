// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))
}

// listed has records that nobody reads one by one.
type listed struct {
	keeper
	count int
}

func (listed) kind() string { return "Secret" }

func (l listed) list(context.Context, string) ([]stored, error) { return make([]stored, l.count), nil }

func TestOfAReleaseSoManyRevisionsAreRead(t *testing.T) {
	ofRelease := map[string]string{"name": "hello", Owner: ByHelm}
	storage := checked{kept: listed{count: 30_000}}

	_, err := storage.Query(ofRelease)

	require.ErrorIs(t, err, ErrUnreadable)
	require.EqualError(t, err, "helm release hello has 30000 records, more than 1000; delete the oldest Secrets with the labels owner=helm and name=hello, and set maxHistory")

	storage.kept = listed{count: MaxRevisions}
	_, err = storage.Query(ofRelease)
	require.ErrorContains(t, err, "it is no JSON of a release", "the first one is read")
}

func TestARecordUnpacksToSoMuch(t *testing.T) {
	for name, tt := range map[string]struct {
		packed []byte
		says   string
	}{
		"a release":    {packed(t, `{"info":{"status":"deployed"},"name":"hello"}`), ""},
		"not packed":   {[]byte(base64.StdEncoding.EncodeToString([]byte(`{"info":{"status":"deployed"},"name":"hello"}`))), ""},
		"a bomb":       {packed(t, `{"info":{"status":"deployed"},"name":"`+strings.Repeat("x", maxRecord)+`"}`), "the records of a release unpack to more than 64 MiB each or 128 MiB together"},
		"no base64":    {[]byte("%"), "it is not in base64"},
		"no gzip":      {[]byte(base64.StdEncoding.EncodeToString([]byte{0x1f, 0x8b, 0x08})), "it cannot be unpacked"},
		"no JSON":      {packed(t, "{"), "it is no JSON of a release"},
		"many objects": {packed(t, `{"info":{},"manifest":"`+strings.Repeat(`\n---\na: 1`, MaxObjects+1)+`"}`), "its manifests have more than 20000 objects"},
		"many hooks":   {packed(t, `{"info":{},"hooks":[`+strings.Repeat(`{},`, MaxObjects)+`{}]}`), "its manifests have more than 20000 objects"},
		"parts of it":  {packed(t, `{"info":{},"hooks":[null]}`), "parts are missing in it"},
	} {
		t.Run(name, func(t *testing.T) {
			rel, err := checked{kept: inSecrets{}}.read(stored{name: "one", packed: tt.packed}, new(maxRecords))
			if tt.says == "" {
				require.NoError(t, err)
				assert.Equal(t, "hello", rel.Name)
				return
			}
			require.ErrorIs(t, err, ErrUnreadable)
			require.EqualError(t, err, "Secret one is no record of a Helm release that can be read: "+tt.says+"; delete it, or correct it")
		})
	}
}

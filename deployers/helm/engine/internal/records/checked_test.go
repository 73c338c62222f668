// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
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

// TestARecordTakesNoMoreThanItCosts reads records made of the parts that take most memory for what they are as text: each job that looks at a history
// holds what was read.
func TestARecordTakesNoMoreThanItCosts(t *testing.T) {
	const count = 1 << 16
	for name, parts := range map[string][3]string{
		"hooks":        {`"hooks":[`, `{}`, `]`},
		"dependencies": {`"chart":{"metadata":{"dependencies":[`, `{}`, `]}}`},
		"maintainers":  {`"chart":{"metadata":{"maintainers":[`, `{}`, `]}}`},
		"lock":         {`"chart":{"lock":{"dependencies":[`, `{}`, `]}}`},
		"files":        {`"chart":{"files":[`, `{}`, `]}`},
		"objects":      {`"chart":{"values":{"a":[`, `{}`, `]}}`},
		"lists":        {`"config":{"a":[`, `[]`, `]}`},
		"numbers":      {`"config":{"a":[`, `1`, `]}`},
		"texts":        {`"config":{"a":[`, `""`, `]}`},
		"events":       {`"hooks":[{"events":[`, `""`, `]}]`},
		"escapes":      {`"manifest":"\\\"","config":{"a":[`, `"\\"`, `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"info":{"status":"deployed"},` + parts[0] + strings.Repeat(parts[1]+",", count) + parts[1] + parts[2] + `}`
			record, spent := packed(t, text), 0
			before := inUse()

			rel, err := readRecord(record, maxRecord, &spent, Bound{})

			require.NoError(t, err)
			assert.Less(t, inUse()-before, spent+1<<20)
			assert.Less(t, spent, len(text)+(count+10)*(objectCost+valueCost))
			runtime.KeepAlive(rel)
		})
	}
}

// TestARecordIsMeasuredBeforeItIsHeld reads records of one long text: what is read bit by bit takes buffers that grow to several times its size.
func TestARecordIsMeasuredBeforeItIsHeld(t *testing.T) {
	for name, tt := range map[string]struct{ size, most int }{
		"beyond the limit": {maxRecord, 4 << 20},
		"within it":        {maxRecord / 2, maxRecord + 4<<20}, // the text, and what was read from it
	} {
		t.Run(name, func(t *testing.T) {
			record := packed(t, `{"info":{"status":"deployed"},"config":{"a":"`+strings.Repeat("x", tt.size)+`"}}`)
			before := allocated()

			_, err := readRecord(record, maxRecord, new(int), Bound{})

			assert.Less(t, allocated()-before, tt.most)
			assert.Equal(t, tt.size < maxRecord, err == nil, "%v", err)
		})
	}
}

// allocated returns how many bytes were allocated since the process began.
func allocated() int {
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	return int(found.TotalAlloc) // #nosec G115 -- fits
}

func inUse() int {
	var found runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&found)
	return int(found.HeapAlloc) // #nosec G115 -- fits
}

// TestManifestsOfARecordAreAffordable reads records whose manifests Helm would parse without limit.
func TestManifestsOfARecordAreAffordable(t *testing.T) {
	aliases := "\n---\na: &a [" + strings.Repeat("1,", 300) + "1]\nb: [" + strings.Repeat("*a,", 500) + "*a]\n"
	hook := func(manifest string) *release.Hook { return &release.Hook{Manifest: manifest} }
	for name, tt := range map[string]struct {
		rel  release.Release
		says string
	}{
		"one":                {release.Release{Manifest: aliases}, ""},
		"many with aliases":  {release.Release{Manifest: strings.Repeat(aliases, 3)}, "aliases"},
		"hooks with aliases": {release.Release{Hooks: []*release.Hook{hook(aliases), hook(aliases), hook(aliases)}}, "aliases"},
		"many values":        {release.Release{Manifest: strings.Repeat("\n---\na: ["+strings.Repeat("1,", 200_000)+"1]\n", 20)}, "a manifest in it"},
		"many objects": {release.Release{Manifest: strings.Repeat("\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"+
			"data: {a: 'some & text *'}\n", 10_000)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.rel.Info = &release.Info{Status: release.StatusDeployed}
			text, err := json.Marshal(tt.rel)
			require.NoError(t, err)

			_, err = readRecord(packed(t, string(text)), maxRecord, new(int), Bound{})

			if tt.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.says)
			}
		})
	}
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

func TestTextsOfARecordCostNoMoreThanTheirBytes(t *testing.T) {
	text := `{"info":{"status":"deployed"},"manifest":"` + strings.Repeat(`{\"a\":[1,2]},\\`, 1<<14) + `"}`
	spent := 0

	rel, err := readRecord(packed(t, text), maxRecord, &spent, Bound{})

	require.NoError(t, err)
	assert.Less(t, spent, len(text)+10*objectCost)
	assert.Contains(t, rel.Manifest, `{"a":[1,2]},\{`)
}

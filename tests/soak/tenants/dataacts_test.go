// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// artifacts are blueprints in artifacts of Flux sources whose status the hostile tenant writes, and whose server it is.
func artifacts(answer treatment) func(h *hostile) {
	return func(h *hostile) {
		requests := &atomic.Int64{}
		for i := range h.many {
			name := fmt.Sprintf("source-%d", i)
			h.Offer(name, digest.FromString(name).String(), 1000000, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				answer(h, w, r)
			})
		}
		h.fromSources()
		h.bites(func() bool { return requests.Load() > 0 })
	}
}

// fromSources are jobs whose blueprints come from the sources.
func (h *hostile) fromSources() {
	h.T.Helper()
	h.each(h.many, func(i int, name string) error {
		return h.create(name, object{}, object{"blueprint": object{"sourceRef": object{"kind": "ExternalArtifact", "name": fmt.Sprintf("source-%d", i)}}})
	})
}

// archives are such artifacts, with the right digests, of a file without end, of directories without end, of more files than there may be, and of many
// that are as large as they may be.
func archives(h *hostile) {
	served := &atomic.Int64{}
	kinds := [][]byte{endlessFile(h), deepDirectories(h), manyFiles(h, 1<<20, 1), manyFiles(h, 120, 1<<20)}
	for i := range h.many {
		archive := append(bytes.Clone(kinds[i%len(kinds)]), packed(h, fmt.Append(nil, h.Namespace, i))...) // what follows an archive is ignored, the digest is another one
		h.Offer(fmt.Sprintf("source-%d", i), digest.FromBytes(archive).String(), len(archive), func(w http.ResponseWriter, _ *http.Request) {
			served.Add(1)
			_, _ = w.Write(archive)
		})
	}
	h.fromSources()
	h.bites(func() bool { return served.Load() > 0 })
}

func packed(h *hostile, content []byte) []byte {
	h.T.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, err := zipped.Write(content)
	require.NoError(h.T, err)
	require.NoError(h.T, zipped.Close())
	return out.Bytes()
}

// endlessFile has a file of 10 GiB: the same packed zeros over and over.
func endlessFile(h *hostile) []byte {
	const chunk, chunks = 64 << 20, 160
	var header bytes.Buffer
	require.NoError(h.T, tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "blueprint.yaml", Mode: 0o600, Size: chunk * chunks, Typeflag: tar.TypeReg}))
	return append(packed(h, header.Bytes()), bytes.Repeat(packed(h, make([]byte, chunk)), chunks)...)
}

// deepDirectories has files in directories that only their names tell of.
func deepDirectories(h *hostile) []byte {
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for i := range 1000 {
		name := fmt.Sprintf("%d/%sx", i, strings.Repeat("d/", 2000))
		require.NoError(h.T, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg, Format: tar.FormatPAX}))
	}
	require.NoError(h.T, archive.Close())
	return packed(h, text.Bytes())
}

// manyFiles has so many files of a size.
func manyFiles(h *hostile, count, size int) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	content := make([]byte, size)
	for i := range count {
		require.NoError(h.T, archive.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d/%d", i/1000, i), Mode: 0o600, Size: int64(size), Typeflag: tar.TypeReg}))
		_, err := archive.Write(content)
		require.NoError(h.T, err)
	}
	require.NoError(h.T, archive.Close())
	require.NoError(h.T, zipped.Close())
	return out.Bytes()
}

// costlyChecks take as much as an expression may, or more.
var costlyChecks = []string{
	`data.items.split(',').all(a, data.items.split(',').all(b, a + b != ''))`,
	`data.items.split(',').map(i, data.items.split(',')).size() == 0`,
	`data.items.split(',').exists(i, data.text.matches('(a*)*b' + i))`,
	`data.items.split(',').exists(i, data.text.indexOf(data.text + i) == 0)`,
	`[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(a, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(b, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(c, data.text.size() == a + b + c)))`,
}

// healthChecks are items whose expressions cost much, for objects that are never ready.
func healthChecks(h *hostile) {
	h.install(h.many, func(i int, name string) object {
		var items strings.Builder
		for j := range 10 {
			items.WriteString(landscape.ConfigItem(fmt.Sprint("item-", j), "{import: cluster}", h.Namespace, fmt.Sprintf("%s-%d", name, j),
				`items: "{{ range until 500 }}{{ . }},{{ end }}x"`, `text: {{ repeat 16000 "a" }}`))
			fmt.Fprintf(&items, "    readinessChecks:\n      healthChecks: [{apiVersion: v1, kind: ConfigMap, current: %q}]\n  timeout: %s\n",
				costlyChecks[(i+j)%len(costlyChecks)], waitingTime)
		}
		return object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + items.String())}
	}, nil)
	h.bites(func() bool {
		list := &v1alpha1.DeployItemList{}
		require.NoError(h.T, h.Client().List(h.Ctx, list, client.InNamespace(h.Namespace)))
		return slices.ContainsFunc(list.Items, func(item v1alpha1.DeployItem) bool {
			return item.Status.LastError != nil && strings.Contains(item.Status.LastError.Message, "healthChecks")
		})
	})
}

// multiply are Installations of which each exports twice what it imports, for two others to import.
func multiply(h *hostile) {
	h.Put("DataObject", "word-0", object{"data": strings.Repeat("word", 1<<14)})
	text := landscape.Blueprint(object{
		"imports":          []any{object{"name": "word", "type": "data", "schema": object{}}},
		"exports":          []any{object{"name": "words", "type": "data", "schema": object{}}},
		"deployExecutions": landscape.GoTemplate("deployItems:\n" + landscape.MockItem("mock", `export: {answer: {{ toJson .imports.word }}}`)),
		"exportExecutions": landscape.GoTemplate(`exports: {words: {{ index .values.deployitems "mock" "answer" | toJson }}}`),
	})
	h.each(h.many, func(i int, name string) error {
		return h.create(name, object{}, object{
			"blueprint":          object{"inline": object{"filesystem": object{"blueprint.yaml": text}}},
			"imports":            object{"data": []any{object{"name": "word", "dataRef": fmt.Sprint("word-", (i+1)/2)}}},
			"exports":            object{"data": []any{object{"name": "more", "dataRef": fmt.Sprint("word-", i+1)}}},
			"exportDataMappings": object{"more": "(( [ words, words ] ))"},
		})
	})
	h.bites(func() bool {
		first := h.Installation("hostile-0")
		require.NoError(h.T, h.Client().Get(h.Ctx, client.ObjectKeyFromObject(first), first))
		return first.Status.Phase == v1alpha1.PhaseSucceeded
	})
}

// thousands are jobs with as many Secrets as they may import, jobs with more, and jobs with thousands of imports of one DataObject.
func thousands(h *hostile) {
	const most, more = 500, 2000
	h.each(most, func(_ int, name string) error {
		return h.Client().Create(h.Ctx, &corev1.Secret{ObjectMeta: h.Named(name), StringData: map[string]string{"key": strings.Repeat("v", 10<<10)}})
	})
	h.Put("DataObject", "word", object{"data": strings.Repeat("word", 1<<8)})
	h.each(h.many, func(i int, name string) error {
		var data, declared []any
		for j := range []int{most, most, more, more}[i%4] {
			imported := object{"name": fmt.Sprint("import-", j), "secretRef": object{"name": fmt.Sprint("hostile-", j), "key": "key"}}
			if i%4 == 3 {
				imported = object{"name": imported["name"], "dataRef": "word"}
			}
			data = append(data, imported)
			declared = append(declared, object{"name": imported["name"], "type": "data", "schema": object{"type": "string"}})
		}
		text := landscape.Blueprint(object{"imports": declared, "deployExecutions": landscape.GoTemplate("deployItems:\n" +
			landscape.MockItem("mock", `export: {answer: {{ index .imports "import-0" | toJson }}}`))})
		return h.create(name, object{}, object{
			"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": text}}}, "imports": object{"data": data},
		})
	})
	h.bites(h.started)
}

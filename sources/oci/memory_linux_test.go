// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// mostMemory is what a whole process may take, whatever registries send.
const mostMemory = 200 << 20

// childRef tells a child process what to pull.
const childRef = "LANDSCAPER_TEST_REF"

// holdAll, in place of a reference, lets the child hold as much as the content in memory.
const holdAll = "hold"

const (
	mebibyte = 1 << 20
	// largeContent does not fit into the memory allowed, so that holding it whole is found out.
	largeContent = 320 * mebibyte
	fiveGigabyte = int64(5_000_000_000)
)

// TestChild is the process whose memory is measured: it pulls several times at once.
func TestChild(t *testing.T) {
	ref := os.Getenv(childRef)
	if ref == "" {
		return // only the tests of memory start it with a reference
	}
	defer reportPeak(t)
	if ref == holdAll {
		held := bytes.Repeat([]byte("x"), largeContent)
		runtime.KeepAlive(held)
		return
	}
	c := newClient(t, func(o *Options) { o.MaxContent = 6 << 30 })
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			if host, repository, _ := strings.Cut(ref, "/"); strings.HasPrefix(repository, "tags") {
				_, err := c.Tags(ctx, host+"/tags", Credentials{})
				fmt.Println("tags:", err)
				return
			}
			content, err := c.PullContent(ctx, ref, PullOptions{})
			fmt.Printf("pull %d: %v\n", i, err)
			if err == nil {
				n, err := io.Copy(io.Discard, content)
				fmt.Printf("read %d: %d %v\n", i, n, err)
				_ = content.Close()
			}
		})
	}
	group.Wait()
}

// reportPeak prints the most memory that this process had. What the system tells a parent about its child (ru_maxrss) is
// no use: it is never less than what the parent itself had.
func reportPeak(t *testing.T) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	fmt.Println(peakLine.FindString(string(status)))
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// pullInChild returns what the child says and the most memory that it had, in bytes.
func pullInChild(t *testing.T, ref string) (string, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), DefaultTransferTimeout)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	child.Env = append(os.Environ(), childRef+"="+ref, "TMPDIR="+t.TempDir())
	said, err := child.CombinedOutput()
	require.NoError(t, err, "%s", said)
	found := peakLine.FindSubmatch(said)
	require.Len(t, found, 2, "%s", said)
	kibibytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return string(said), kibibytes << 10
}

// The measurement has to notice a process that holds the content whole, and must not be moved by the memory of this one.
func TestMemoryIsMeasured(t *testing.T) {
	_, peak := pullInChild(t, holdAll)
	require.Greater(t, peak, int64(largeContent))
	ballast := bytes.Repeat([]byte("x"), mostMemory)
	_, peak = pullInChild(t, "no reference")
	require.Less(t, peak, int64(mostMemory))
	runtime.KeepAlive(ballast)
}

// announcing pushes a manifest with a layer that the registry does not have.
func announcing(t *testing.T, r *registry.Registry, d digest.Digest, size int64) string {
	t.Helper()
	ref, _ := r.PushManifest(t, "shop", "1.0.0", ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest, Layers: []ocispec.Descriptor{{MediaType: "x/y", Digest: d, Size: size}}})
	return ref
}

func zerosDigest(t *testing.T, size int64) digest.Digest {
	t.Helper()
	digester := digest.Canonical.Digester()
	_, err := io.CopyN(digester.Hash(), zeros{}, size)
	require.NoError(t, err)
	return digester.Digest()
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestMemory(t *testing.T) {
	right, other := zerosDigest(t, largeContent), digest.FromString("other")
	for name, tc := range map[string]struct {
		digest         digest.Digest
		announced      int64
		declared, sent int64
		says           string
	}{
		"right content":                      {right, largeContent, largeContent, largeContent, fmt.Sprintf("read 3: %d <nil>", largeContent)},
		"right content of unknown length":    {right, largeContent, -1, largeContent, fmt.Sprintf("read 3: %d <nil>", largeContent)},
		"other content":                      {other, largeContent, largeContent, largeContent, "do not have the digest"},
		"5 GB where less was announced":      {right, largeContent, -1, fiveGigabyte, "more or fewer bytes were received than announced"},
		"5 GB declared where less announced": {right, largeContent, fiveGigabyte, fiveGigabyte, "mismatch Content-Length"},
		"5 GB announced, less sent":          {other, fiveGigabyte, -1, largeContent, "more or fewer bytes were received than announced"},
		"more announced than allowed":        {other, 7 << 30, 7 << 30, 7 << 30, "more than the 6442450944 allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{})
			ref := announcing(t, r, tc.digest, tc.announced)
			r.Break(registry.On("GET", "blobs", registry.Zeros(tc.declared, tc.sent)))
			requireModest(t, ref, tc.says)
		})
	}
}

func requireModest(t *testing.T, ref, says string) {
	t.Helper()
	said, peak := pullInChild(t, ref)
	t.Logf("peak %d MiB", peak/mebibyte)
	require.Contains(t, said, says)
	require.Less(t, peak, int64(mostMemory))
}

func TestMemoryForMetadata(t *testing.T) {
	endless := registry.Zeros(-1, 1<<40)
	bomb := []byte(`{"layers":[` + strings.Repeat("{},", 1_300_000) + `{}]}`)
	for name, tc := range map[string]struct {
		fault registry.Fault
		ref   string
		says  string
	}{
		"endless manifest":     {registry.On("GET", "manifests", withType(endless)), "shop:1.0.0", "could not download its manifest"},
		"endless without HEAD": {registry.On("", "manifests", withoutLength(endless)), "shop:1.0.0", "could not resolve it"},
		"endless error":        {registry.Reads(failing(endless)), "shop:1.0.0", "answers 400"},
		"bomb of layers":       {registry.Reads(answering(bomb)), "shop:1.0.0", "elements"},
		"endless tags":         {registry.On("GET", "tags", endlessTag), "tags:1", "could not list its tags"},
		"tags of one letter":   {registry.On("GET", "tags", smallTags), "tags:1", "tags: <nil>"},
		"pages of tags":        {listing(2000), "tags:1", "the repository has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{})
			announcing(t, r, digest.FromString("x"), 1)
			r.Break(tc.fault)
			requireModest(t, r.Host+"/"+tc.ref, tc.says)
		})
	}
}

func withType(body registry.Fault) registry.Fault {
	return func(r *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
		return body(r, typed{w}, request)
	}
}

// typed lets a body claim to be a manifest.
type typed struct{ http.ResponseWriter }

// Write implements io.Writer.
func (w typed) Write(p []byte) (int, error) {
	w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
	return w.ResponseWriter.Write(p)
}

func withoutLength(body registry.Fault) registry.Fault {
	return func(r *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
		if request.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		}
		return withType(body)(r, w, request)
	}
}

func failing(body registry.Fault) registry.Fault {
	return func(r *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		return body(r, w, request)
	}
}

func answering(content []byte) registry.Fault {
	return func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set("Docker-Content-Digest", string(digest.FromBytes(content)))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content)
		return true
	}
}

// endlessTag is the beginning of a list whose first tag never ends.
func endlessTag(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
	_, err := io.WriteString(w, `{"tags":["`)
	for letters := bytes.Repeat([]byte("a"), mebibyte); err == nil; {
		_, err = w.Write(letters)
	}
	return true
}

func smallTags(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
	_ = json.NewEncoder(w).Encode(map[string]any{"tags": strings.Split(strings.Repeat("a,", 99_000), ",")})
	return true
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const (
	// childRefs tells a child process what to take over, and where to.
	childRefs = "LANDSCAPER_TEST_CARRY"
	// layerSize does not fit into mostMemory, so that holding a layer whole is found out.
	layerSize  = 320 << 20
	mostMemory = 200 << 20
)

// TestChild is the process whose memory is measured. It copies an artifact, and keeps it in a workspace.
func TestChild(t *testing.T) {
	from, to, found := strings.Cut(os.Getenv(childRefs), " ")
	if !found {
		return // only TestMemory starts it with references
	}
	r := reach(t)
	a := find(t, r, from)
	_, err := a.CopyTo(context.Background(), r, to, false)
	require.NoError(t, err)
	workspace, err := publishing.NewWorkspace()
	require.NoError(t, err)
	blob, err := workspace.Keep(func(w io.Writer) error { return a.WriteSet(context.Background(), r, w) })
	require.NoError(t, err)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	fmt.Printf("kept: %d\n%s\n", blob.Size, said["VmHWM"].FindString(string(status)))
	require.NoError(t, workspace.Close())
}

var said = map[string]*regexp.Regexp{"VmHWM": regexp.MustCompile(`VmHWM:\s+(\d+) kB`), "kept": regexp.MustCompile(`kept: (\d+)`)}

func number(t *testing.T, name string, text []byte) int64 {
	t.Helper()
	found := said[name].FindSubmatch(text)
	require.Len(t, found, 2, "%s", text)
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return n
}

// TestMemory takes over a layer that is larger than what the process may have; registries here send and forget it without holding it.
func TestMemory(t *testing.T) {
	digester := digest.Canonical.Digester()
	_, err := io.CopyN(digester.Hash(), zeros{}, layerSize)
	require.NoError(t, err)
	layer := digester.Digest()
	from := registry.Start(t, registry.Options{Faults: []registry.Fault{blob(layer, registry.Zeros(layerSize, layerSize))}})
	ref, _ := from.PushManifest(t, "shop", "1", ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest, Config: from.PushBlob(t, "shop", "x/config", []byte("{}")),
		Layers: []ocispec.Descriptor{{MediaType: "x/layer", Digest: layer, Size: layerSize}}})
	var received atomic.Int64
	to := registry.Start(t, registry.Options{Faults: []registry.Fault{forget(layer, &received)}})

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	child.Env = append(os.Environ(), childRefs+"="+ref+" "+to.Host+"/base", "TMPDIR="+t.TempDir())
	text, err := child.CombinedOutput()
	require.NoError(t, err, "%s", text)
	assert.Greater(t, number(t, "kept", text), int64(layerSize), "the workspace has it on disk")
	assert.Equal(t, int64(layerSize), received.Load(), "the other registry was sent it")
	assert.Less(t, number(t, "VmHWM", text)<<10, int64(mostMemory))
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// forget takes the upload of one blob and counts its bytes.
func forget(d digest.Digest, received *atomic.Int64) registry.Fault {
	return func(_ *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
		if request.Method != http.MethodPut || request.URL.Query().Get("digest") != d.String() {
			return false
		}
		n, _ := io.Copy(io.Discard, request.Body)
		received.Add(n)
		w.Header().Set("Docker-Content-Digest", d.String())
		w.WriteHeader(http.StatusCreated)
		return true
	}
}

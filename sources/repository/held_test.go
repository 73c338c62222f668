// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestASessionThatFindsTooMuchEnds(t *testing.T) {
	s := session(t, repositories(t, nil), Scope{Namespace: "ns"})
	require.NoError(t, s.held.keep(component.MaxWeight))
	err := s.held.keep(1)
	require.ErrorContains(t, err, "they take more than 67108864 bytes of memory; refer to fewer or smaller component versions")
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
}

func TestASessionCountsADescriptorOnce(t *testing.T) {
	s := session(t, repositories(t, nil), Scope{Namespace: "ns"})
	d := shop(t).Descriptor
	for range 3 {
		require.NoError(t, s.held.keep(0, d))
	}
	assert.Equal(t, d.Weight(), s.held.weight)
}

func TestAClosureCountsInItsSession(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t), db(t))
	s := session(t, repositories(t, nil), Scope{Namespace: "ns", Repository: raw(t, ociSpec(reg.Host+"/c"))})
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	require.NoError(t, s.held.keep(component.MaxWeight-s.held.weight))
	_, err = s.Closure(t.Context(), found.Descriptor)
	require.ErrorContains(t, err, "take more than 67108864 bytes of memory")
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
}

func TestLargeSessionsOfANamespaceLeaveRoomToOthers(t *testing.T) {
	r := repositories(t, nil)
	open := func(namespace string) *holdings { return session(t, r, Scope{Namespace: namespace}).held }
	first := session(t, r, Scope{Namespace: "busy"})
	require.NoError(t, first.held.keep(component.MaxWeight))
	require.NoError(t, open("busy").keep(component.MaxWeight))
	err := open("busy").keep(component.MaxWeight)
	require.ErrorIs(t, err, ErrBusy)
	assert.Equal(t, fault.Retry, fault.KindOf(err))
	assert.NoError(t, open("busy").keep(smallSession), "small ones need no room")
	first.Rest()
	assert.NoError(t, open("busy").keep(component.MaxWeight), "what rests is kept elsewhere")
	assert.NoError(t, open("calm").keep(component.MaxWeight))
}

func TestSessionsThatEndGiveTheirRoomBack(t *testing.T) {
	r := repositories(t, nil)
	for range 10 {
		s := r.Open(Scope{Namespace: "ns"})
		require.NoError(t, s.held.keep(component.MaxWeight))
		s.Close()
	}
	assert.Zero(t, r.rooms.sessions.Held())
}

// publishAnnotated publishes a component version with a manifest that has a text of so many bytes beside what is needed.
func publishAnnotated(t *testing.T, reg *registry.Registry, v formats.Version, bytes int) {
	image, err := v.Image(component.SchemaV2)
	require.NoError(t, err)
	var manifest ocispec.Manifest
	require.NoError(t, json.Unmarshal(read(t, image.Manifest), &manifest))
	manifest.Annotations = map[string]string{"note": strings.Repeat("x", bytes)}
	for _, blob := range append([]formats.Content{image.Config}, image.Layers...) {
		reg.PushBlob(t, "c/component-descriptors/"+v.Descriptor.Name, blob.MediaType, read(t, blob))
	}
	reg.PushManifest(t, "c/component-descriptors/"+v.Descriptor.Name, v.Descriptor.Version, image.Manifest.MediaType, manifest)
}

func TestManifestsCountInMemory(t *testing.T) {
	const note = 1 << 20
	reg := registry.Start(t, registry.Options{})
	publishAnnotated(t, reg, db(t), note)
	s := session(t, repositories(t, nil), Scope{Namespace: "ns", Repository: raw(t, ociSpec(reg.Host+"/c"))})
	found, err := s.Root(t.Context(), byName("example.com/db", "2.0.0", nil))
	require.NoError(t, err)
	assert.Greater(t, s.held.weight, int64(note))
	own, _ := s.Weight()
	assert.Greater(t, own, int64(note))
	assert.Empty(t, s.known.found[found.Descriptor.Key()].blobs.(*manifestBlobs).manifest.Raw, "its text is not needed any more")
}

// blocking is work that waits for its end.
func blocking(end <-chan struct{}) func() (*component.Descriptor, error) {
	return func() (*component.Descriptor, error) {
		<-end
		return nil, nil
	}
}

func TestLargeDescriptorsOfANamespaceWaitForEachOther(t *testing.T) {
	r := repositories(t, nil)
	synctest.Test(t, func(t *testing.T) {
		r.rooms = newRooms(false)
		end := make(chan struct{})
		for range 2 {
			go func() { _, _ = r.withRoom(t.Context(), "busy", component.MaxDescriptor, blocking(end)) }()
		}
		synctest.Wait()
		patience, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		calm := func() (*component.Descriptor, error) { return nil, nil }
		_, err := r.withRoom(patience, "busy", component.MaxDescriptor, calm)
		require.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, fault.Retry, fault.KindOf(err))
		_, err = r.withRoom(t.Context(), "busy", 20<<10, calm)
		assert.NoError(t, err, "usual ones have room beside them")
		_, err = r.withRoom(t.Context(), "calm", component.MaxDescriptor, calm)
		assert.NoError(t, err)
		close(end)
		synctest.Wait()
		assert.Zero(t, r.rooms.descriptors.Held())
	})
}

func TestLargeManifestsWaitForRoom(t *testing.T) {
	const note = 1 << 20
	reg := registry.Start(t, registry.Options{})
	publishAnnotated(t, reg, db(t), note)
	r := repositories(t, func(o *Options) { o.Timeout = 3 * time.Second })
	others := r.rooms.manifests.Claim("ns")
	require.True(t, others.Fits(manifestsRoom/2))
	s := session(t, r, Scope{Namespace: "ns", Repository: raw(t, ociSpec(reg.Host+"/c"))})
	_, err := s.Root(t.Context(), byName("example.com/db", "2.0.0", nil))
	require.ErrorIs(t, err, ErrBusy)
	others.End()
	assert.Zero(t, r.rooms.manifests.Held())
}

func TestZippedDescriptorsCountAsWhatTheyMayUnpackTo(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte("a: b"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, c := range map[string]struct {
		layer []byte
		want  int64
	}{
		"plain":  {[]byte("a: b"), 4},
		"zipped": {zipped.Bytes(), component.MaxDescriptor},
		"empty":  {nil, 0},
		"large":  {make([]byte, component.MaxDescriptor+1), component.MaxDescriptor},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, textIn(&oci.Content{SectionReader: io.NewSectionReader(bytes.NewReader(c.layer), 0, int64(len(c.layer)))}))
		})
	}
}

// TestContentThatIsTooLargeIsNotDownloaded has content of ten bytes where nine are allowed.
func TestContentThatIsTooLargeIsNotDownloaded(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	ref, _ := reg.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "0123456789"})
	blob := reg.PushBlob(t, "blobs", "text/plain", []byte("012345678_"))
	whole := formats.NewContent("text/plain", []byte("01234567_9"))
	store, err := fetch.New(fetch.Options{Dir: t.TempDir(), MaxDownload: 9})
	require.NoError(t, err)
	s := arrange(t, reg,
		line("artifact", "helmChart", "{type: ociArtifact, imageReference: '"+ref+"'}", "")+
			line("blob", "plainText", fmt.Sprintf("{type: ociBlob, ref: %s/blobs, mediaType: text/plain, digest: '%s', size: 10}", reg.Host, blob.Digest), "")+
			line("unmeasured", "plainText", fmt.Sprintf("{type: ociBlob, ref: %s/blobs, mediaType: text/plain, digest: '%s'}", reg.Host, blob.Digest), "")+
			line("layer", "plainText", localBlob("text/plain", read(t, whole)), ""),
		func(o *Options) { o.Store = store }, whole)
	reg.Forget()
	for _, name := range []string{"artifact", "blob", "unmeasured", "layer"} {
		t.Run(name, func(t *testing.T) {
			_, err := s.content(t, name)
			require.ErrorIs(t, err, oci.ErrTooLarge)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
			assert.Zero(t, reg.Count("GET", "blobs"))
		})
	}
}

func TestPartsThatAreTooLargeTogetherAreRefused(t *testing.T) {
	parts := []ocispec.Descriptor{{Size: 5}, {Size: 5}}
	_, err := (&manifestBlobs{most: 9}).parts("both", parts)
	require.ErrorIs(t, err, oci.ErrTooLarge)
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
	found, err := (&manifestBlobs{most: 10}).parts("both", parts)
	require.NoError(t, err)
	assert.EqualValues(t, 10, found.size)
}

// announced is content of a namespace that a registry has announced.
func announced(r *Repositories, owner string, size int64, open func(context.Context) (io.ReadCloser, error)) *stream {
	return &stream{scope: "registry.example.com/c", id: "layer", verified: true, size: size, open: open, transit: r.rooms.transit, owner: owner}
}

func TestContentOfANamespaceOnItsWayIsBounded(t *testing.T) {
	r := repositories(t, nil)
	synctest.Test(t, func(t *testing.T) {
		r.rooms = newRooms(false)
		end := make(chan struct{})
		slow := func(context.Context) (io.ReadCloser, error) {
			<-end
			return &oci.Content{}, nil
		}
		here := func(context.Context) (io.ReadCloser, error) { return &oci.Content{}, nil }
		for range 2 {
			go func() { _, _ = announced(r, "busy", largestTransit, slow).arrive(t.Context()) }()
		}
		synctest.Wait()
		began := time.Now()
		_, err := announced(r, "busy", 1, here).arrive(t.Context())
		require.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, transitPatience, time.Since(began))
		assert.Equal(t, fault.Retry, fault.KindOf(err))
		began = time.Now()
		_, err = announced(r, "calm", 64<<20, here).arrive(t.Context())
		require.NoError(t, err)
		assert.Zero(t, time.Since(began), "the other namespace waits for nobody")
		close(end)
		synctest.Wait()
		assert.Zero(t, r.rooms.transit.Held())
	})
}

func TestContentThatNobodyAnnouncedCountsAsItArrives(t *testing.T) {
	r := repositories(t, nil)
	others := r.rooms.transit.Claim("busy")
	require.True(t, others.Fits(transitRoom/2-2*transitStep))
	from := announced(r, "busy", 0, func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, 4*transitStep)), nil
	})
	opened, err := from.arrive(t.Context())
	require.NoError(t, err)
	arrived, err := io.Copy(io.Discard, opened)
	require.ErrorIs(t, err, ErrBusy)
	assert.LessOrEqual(t, arrived, int64(2*transitStep))
	require.NoError(t, opened.Close())
	others.End()
	assert.Zero(t, r.rooms.transit.Held())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestAllContentOfAScopeIsOnTheWayInItsName(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	set, _ := artifactSet(t, formats.NewContent("text/plain", []byte("text")))
	s := arrange(t, reg, resource("set", "plainText", localBlob(set.MediaType, read(t, set)), nil)+
		line("web", "plainText", "{type: wget, url: 'http://127.0.0.1:1/x'}", ""), nil, set)
	for _, name := range []string{"set", "web"} {
		found, err := s.session.stream(t.Context(), s.d, find(t, s.d, name))
		require.NoError(t, err)
		assert.Same(t, s.session.contents.r.rooms.transit, found.transit, name)
	}
}

// TestContentInPartsTakesRoomOnce opens content of two layers to show that it may be had, and then to keep it.
func TestContentInPartsTakesRoomOnce(t *testing.T) {
	room := memory.NewRoom(4*transitStep, transitStep)
	content := &stream{verified: true, size: 2 * transitStep, transit: room, owner: "n", open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("content")), nil
	}}
	shown, err := content.granted(t.Context())
	require.NoError(t, err)
	kept, err := content.arrive(t.Context())
	require.NoError(t, err)
	require.NoError(t, kept.Close())
	require.NoError(t, shown.Close())
	assert.Zero(t, room.Held())
}

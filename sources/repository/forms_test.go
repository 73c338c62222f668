// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// serveGit commits dir and serves it over smart HTTP; it returns the URL of the repository.
func serveGit(t testing.TB, dir string) string {
	command, err := exec.LookPath("git")
	require.NoError(t, err, "the test needs the git command")
	repo, err := gogit.PlainInit(dir, false)
	require.NoError(t, err)
	work, err := repo.Worktree()
	require.NoError(t, err)
	require.NoError(t, work.AddGlob("."))
	_, err = work.Commit("all", &gogit.CommitOptions{Author: &object.Signature{Name: "Test", When: time.Unix(1, 0)}})
	require.NoError(t, err)
	listening := httptest.NewServer(&cgi.Handler{
		Path: command, Args: []string{"http-backend"}, Dir: dir, Logger: log.New(io.Discard, "", 0), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})
	t.Cleanup(listening.Close)
	return listening.URL + "/" + filepath.Base(dir) + "/.git"
}

// artifacts serves bytes as the artifacts of Flux sources, by name.
type artifacts map[string]flux.Source

func (a artifacts) source(_ context.Context, _ string, ref v1alpha1.SourceReference) (flux.Source, error) {
	if found, ok := a[ref.Name]; ok {
		return found, nil
	}
	return flux.Source{}, &flux.Error{Reason: flux.NotFound, Waiting: true, Kind: ref.Kind, Name: ref.Name, Problem: "it does not exist", Cure: "create it"}
}

// offer serves content under a name.
func (a artifacts) offer(t testing.TB, name string, content []byte) {
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }))
	t.Cleanup(listening.Close)
	a[name] = flux.Source{Kind: "Bucket", Namespace: "ns", Name: name, URL: listening.URL, Digest: digest.FromBytes(content).String(), Revision: "1"}
}

func tarOf(t testing.TB, write func(component.Sink) error) []byte {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	require.NoError(t, write(tarSink{archive}))
	require.NoError(t, archive.Close())
	return out.Bytes()
}

type tarSink struct{ archive *tar.Writer }

func (s tarSink) Put(path string, size int64, content io.Reader) error {
	if err := s.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	_, err := io.Copy(s.archive, content)
	return err
}

// inlineFiles is the YAML file system of an archive, with blobs as text with the markers of binary content.
func inlineSpec(t testing.TB, v component.Version) map[string]any {
	document, err := v.Descriptor.Encode(component.SchemaV2)
	require.NoError(t, err)
	blobs := map[string]any{}
	for _, b := range v.Blobs {
		blobs[string(b.Digest.Algorithm())+"."+b.Digest.Encoded()] = binary(read(t, b))
	}
	return map[string]any{"type": "inline", "compDescDirPath": "descriptors", "blobDirPath": "blobs",
		"fileSystem": map[string]any{"descriptors": map[string]any{"shop.yaml": string(document)}, "blobs": blobs}}
}

func TestEveryFormGivesTheSame(t *testing.T) {
	v := shop(t)
	root := t.TempDir()
	require.NoError(t, component.WriteCTF(folder(filepath.Join(root, "ctf")), []component.Version{v, db(t)}, component.SchemaV2))
	require.NoError(t, component.WriteArchive(folder(filepath.Join(root, "archive")), v, component.SchemaV2))
	inGit := filepath.Join(t.TempDir(), "components")
	require.NoError(t, component.WriteCTF(folder(filepath.Join(inGit, "sub")), []component.Version{v}, component.SchemaV2))
	ctf := tarOf(t, func(s component.Sink) error { return component.WriteCTF(s, []component.Version{v}, component.SchemaV2) })
	archive := tarOf(t, func(s component.Sink) error { return component.WriteArchive(s, v, component.SchemaV3) })
	require.NoError(t, os.WriteFile(filepath.Join(root, "ctf.tar"), ctf, 0o644))
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/components"}, v)
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/hashed", Mapping: component.MappingDigest}, v)
	offered := artifacts{}
	offered.offer(t, "ctf", ctf)
	offered.offer(t, "archive", archive)
	r := repositories(t, func(o *Options) { o.LocalRoot, o.Source = root, offered.source })

	for name, spec := range map[string]map[string]any{
		"registry":                ociSpec(reg.Host + "/components"),
		"registry, alias":         {"type": "ociRegistry/v1", "baseUrl": "http://" + reg.Host, "subPath": "components"},
		"registry, hashed name":   {"type": "OCIRegistry", "baseUrl": reg.Host + "/hashed", "componentNameMapping": "sha256-digest"},
		"CTF directory":           {"type": "CommonTransportFormat", "filePath": "ctf"},
		"CTF tar":                 {"type": "CommonTransportFormat", "filePath": "/ctf.tar"},
		"component archive":       {"type": "ComponentArchive", "filePath": "./archive"},
		"inline":                  inlineSpec(t, v),
		"git":                     {"type": "git", "url": serveGit(t, inGit), "path": "sub"},
		"Flux, CTF":               {"type": "fluxSource", "sourceRef": map[string]any{"kind": "Bucket", "name": "ctf"}},
		"Flux, component archive": {"type": "fluxSource", "sourceRef": map[string]any{"kind": "Bucket", "name": "archive"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := session(t, r, Scope{Namespace: "ns"})
			found, err := s.Root(t.Context(), byName(shopName, "1.0.0", raw(t, spec)))
			require.NoError(t, err)
			want, err := v.Descriptor.Encode(component.SchemaV2)
			require.NoError(t, err)
			got, err := found.Descriptor.Encode(component.SchemaV2)
			require.NoError(t, err)
			assert.Equal(t, string(want), strings.ReplaceAll(string(got), "localReference: sha256.", "localReference: sha256:"))
			assert.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
			files, sum, err := s.Blueprint(t.Context(), found.Descriptor, find(t, found.Descriptor, "blueprint"))
			require.NoError(t, err)
			for name, content := range blueprintFiles {
				read, err := fs.ReadFile(files, name)
				require.NoError(t, err)
				assert.Equal(t, content, string(read))
			}
			assert.Equal(t, "sha256:", sum[:7])
		})
	}
}

func TestDamagedFilesNeedAPerson(t *testing.T) {
	v := shop(t)
	files := map[string]string{}
	require.NoError(t, component.WriteCTF(collected(files), []component.Version{v}, component.SchemaV2))
	for name, tc := range map[string]struct {
		damage func(map[string]string)
		says   string
	}{
		"index": {func(f map[string]string) { f["artifact-index.json"] = "{" }, "index"},
		"index that leads out": {func(f map[string]string) {
			f["artifact-index.json"] = `{"schemaVersion":1,"artifacts":[{"repository":"component-descriptors/example.com/shop","tag":"1.0.0","digest":"../../../etc/passwd"}]}`
		}, "digest"},
		"manifest": {func(f map[string]string) { replaceIn(f, "componentDescriptorLayer", "{}") }, ""},
		"blob":     {func(f map[string]string) { replaceIn(f, "some text", "some test") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := maps.Clone(files)
			tc.damage(damaged)
			offered := artifacts{}
			offered.offer(t, "ctf", packed(t, true, damaged))
			s := session(t, repositories(t, func(o *Options) { o.Source = offered.source }), Scope{Namespace: "ns"})
			found, err := s.Root(t.Context(), byName(shopName, "1.0.0", raw(t, map[string]any{"type": "fluxSource", "sourceRef": map[string]any{"kind": "Bucket", "name": "ctf"}})))
			if err == nil {
				_, err = s.Content(t.Context(), found.Descriptor, find(t, found.Descriptor, "text"))
			}
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, fault.Stalled, fault.KindOf(err), err)
		})
	}
}

// collected takes the files of an archive.
type collected map[string]string

func (c collected) Put(path string, _ int64, content io.Reader) error {
	raw, err := io.ReadAll(content)
	c[path] = string(raw)
	return err
}

// replaceIn puts content in the place of the file that contains a text.
func replaceIn(files map[string]string, text, content string) {
	for name, old := range files {
		if strings.Contains(old, text) {
			files[name] = content
		}
	}
}

func TestLocalFilesStayBelowTheirBlobs(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "secret"), []byte("hunter2"), 0o600))
	d := describe(t, shopName, "1.0.0", line("out", "plainText", "{type: localFilesystemBlob, filename: '../../secret'}", "")+
		line("abs", "plainText", "{type: localFilesystemBlob, filename: '"+filepath.Join(root, "secret")+"'}", "")+
		line("link", "plainText", "{type: localFilesystemBlob, filename: link}", ""), nil)
	at := filepath.Join(root, "local", "archive")
	require.NoError(t, component.WriteArchive(folder(at), component.Version{Descriptor: d}, component.SchemaV2))
	require.NoError(t, os.MkdirAll(filepath.Join(at, "blobs"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(root, "secret"), filepath.Join(at, "blobs", "link")))
	s := session(t, repositories(t, func(o *Options) { o.LocalRoot = filepath.Join(root, "local") }), Scope{})
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", raw(t, map[string]any{"type": "ComponentArchive", "filePath": "archive"})))
	require.NoError(t, err)
	for _, name := range []string{"out", "abs", "link"} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Content(t.Context(), found.Descriptor, find(t, found.Descriptor, name))
			require.Error(t, err)
			assert.Equal(t, fault.Stalled, fault.KindOf(err), err)
		})
	}
}

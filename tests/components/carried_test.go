// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// shipment is a constructor in a directory, with all its content in a registry that can go away.
type shipment struct {
	*scene
	from *registry.Registry
	dir  string
	// image is the digest of the image, which is for two platforms.
	image digest.Digest
}

const shipped = `
name: example.com/shipped
version: 1.0.0
provider: {name: example.com}
resources:
- {name: blueprint, type: landscaper.gardener.cloud/blueprint, input: {type: ociArtifact, path: "HOST/blueprints/shipped:1.0.0"}}
- {name: chart, type: helmChart, input: {type: ociArtifact, path: "HOST/charts/note:1.0.0"}}
- {name: downloaded, type: helmChart, input: {type: helm, path: note, version: 1.0.0, helmRepository: "oci://HOST/charts"}}
- {name: image, type: ociImage, input: {type: ociImage, path: "HOST/images/shop:1.4.2"}}
`

// ship fills a registry that wants a login.
func (s *scene) ship() *shipment {
	s.T.Helper()
	from := registry.Start(s.T, registry.Options{Users: []registry.User{{Name: "reader", Password: "of the origin"}}})
	templates := configTemplate(s.Namespace, "shipped", `image: {{ get (getResource .cd "name" "image").access "imageReference" | quote }}`) +
		s.noteItem("carried", "cd://resources/chart") + s.noteItem("downloaded", "cd://resources/downloaded")
	files := archive(map[string]string{"blueprint.yaml": document(object{"imports": list{clusterImport()}, "deployExecutions": goTemplate(templates)})})
	from.Push(s.T, "blueprints/shipped", "1.0.0", registry.Layer{MediaType: blueprintMediaType, Content: string(files)})
	from.Push(s.T, "charts/note", "1.0.0", registry.Layer{MediaType: chartMediaType, Content: string(s.note("1.0.0", "shipped"))})
	out := &shipment{scene: s, from: from, dir: s.T.TempDir(), image: pushPlatforms(s.T, from, "images/shop", "1.4.2", "amd64", "arm64")}
	out.write("constructor.yaml", strings.ReplaceAll(shipped, "HOST", from.Host))
	return out
}

// pushPlatforms pushes an image for several platforms.
func pushPlatforms(t testing.TB, to *registry.Registry, repository, tag string, architectures ...string) digest.Digest {
	t.Helper()
	all := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	for _, architecture := range architectures {
		_, d := to.Push(t, repository, tag+"-"+architecture, registry.Layer{MediaType: ocispec.MediaTypeImageLayerGzip, Content: "layer for " + architecture})
		all.Manifests = append(all.Manifests, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d,
			Platform: &ocispec.Platform{OS: "linux", Architecture: architecture}})
	}
	for i := range all.Manifests {
		all.Manifests[i].Size = manifestSize(t, to, repository+"@"+all.Manifests[i].Digest.String())
	}
	_, d := to.PushManifest(t, repository, tag, all.MediaType, all)
	return d
}

func manifestSize(t testing.TB, at *registry.Registry, path string) int64 {
	t.Helper()
	client, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	top, err := client.Top(t.Context(), at.Host+"/"+path, logins(t, loginTo(at, "of the origin")))
	require.NoError(t, err)
	return top.Size
}

func logins(t testing.TB, config string) oci.Credentials {
	t.Helper()
	out, err := oci.ParseDockerConfig([]byte(config))
	require.NoError(t, err)
	return out
}

func (s *shipment) write(name, text string) {
	s.T.Helper()
	require.NoError(s.T, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// run runs the command line with logins for the registry of the origin and, unless it is nil, another one.
func (s *shipment) run(to *registry.Registry, args ...string) string {
	s.T.Helper()
	binary, err := binaries.BuildCLI(s.Ctx)
	require.NoError(s.T, err)
	auths := object{s.from.Host: object{"username": "reader", "password": "of the origin"}}
	if to != nil {
		auths[to.Host] = object{"username": "reader", "password": "of the target"}
	}
	config, err := json.Marshal(object{"auths": auths})
	require.NoError(s.T, err)
	s.write("config.json", string(config))
	command := exec.CommandContext(s.Ctx, binary, append(args, "--registry-config", "config.json")...)
	command.Dir, command.Env = s.dir, []string{"HOME=" + s.dir, "TMPDIR=" + s.T.TempDir()}
	out, err := command.CombinedOutput()
	require.NoError(s.T, err, "%v: %s", args, out)
	return string(out)
}

// installShipped installs a component version and checks what was deployed.
func (s *shipment) installShipped(component object) {
	s.T.Helper()
	s.Target("cluster")
	s.install("shipped", object{"componentDescriptor": component, "blueprint": object{"ref": object{"resourceName": "blueprint"}}, "imports": onCluster()})
	s.succeeded("shipped")
	for _, release := range []string{"carried", "downloaded"} {
		assert.Equal(s.T, "shipped", s.config(release)["text"])
	}
}

func TestWhatAComponentCarriesOutlivesItsOrigin(t *testing.T) {
	s := newScene(t).ship()
	to := registry.Start(t, registry.Options{Users: []registry.User{{Name: "reader", Password: "of the target"}}})
	s.run(to, "component", "push", "-f", "constructor.yaml", "--repository", "oci://"+to.Host+"/components")
	s.from.Down()

	s.secret("pull", map[string]string{".dockerconfigjson": loginTo(to, "of the target")})
	s.Put("Context", "default", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": to.Host, "subPath": "components"},
		"registryPullSecrets": list{object{"name": "pull"}}})
	s.installShipped(object{"ref": object{"componentName": "example.com/shipped", "version": "1.0.0"}})
	image := s.config("shipped")["image"]
	assert.Equal(t, to.Host+"/components/images/shop:1.4.2", image)
	assert.Equal(t, 1+2*2+1, s.complete(image, logins(t, loginTo(to, "of the target"))), "an index, two images, their common config")
	assert.Contains(t, s.run(to, "component", "tree", to.Host+"/components//example.com/shipped:1.0.0"), "ociArtifact "+image)
}

func TestWhatADirectoryCarriesOutlivesItsOrigin(t *testing.T) {
	s := newScene(t).ship()
	s.run(nil, "component", "push", "-f", "constructor.yaml", "--ctf", "ctf")
	s.from.Down()
	files := map[string]string{}
	written := os.DirFS(filepath.Join(s.dir, "ctf"))
	require.NoError(t, fs.WalkDir(written, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(written, name)
		files[name] = string(content)
		return err
	}))
	s.commit("shipped", below("ctf", files))
	s.installShipped(object{"sourceRef": object{"kind": "GitRepository", "name": "shipped"}, "path": "ctf"})
}

// complete reads everything that an image consists of and counts it; the image has to be the one that was shipped.
func (s *shipment) complete(ref string, logins oci.Credentials) int {
	s.T.Helper()
	client, err := oci.New(oci.Options{Dir: s.T.TempDir()})
	require.NoError(s.T, err)
	defer func() { _ = client.Close() }()
	count := 0
	found, err := client.Walk(s.Ctx, ref, logins, func(p oci.Part) error {
		count++
		if p.Raw != nil {
			return nil
		}
		return readPart(s.Ctx, p)
	})
	require.NoError(s.T, err)
	require.Equal(s.T, s.image, found.Digest)
	return count
}

func readPart(ctx context.Context, p oci.Part) error {
	content, err := p.Open(ctx)
	if err != nil {
		return err
	}
	if content.Digest != p.Digest {
		err = fmt.Errorf("%s is not %s", content.Digest, p.Digest)
	}
	_ = content.Close()
	return err
}

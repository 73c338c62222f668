// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// checkout is where this checkout lies.
const checkout = "../.."

// compiled is an empty program of this machine.
var compiled = sync.OnceValues(func() ([]byte, error) {
	module, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(module)
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", "program", ".")
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS=linux")
	err = errors.Join(
		os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.com/program\n\ngo 1.24\n"), 0o600),
		os.WriteFile(filepath.Join(module, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600),
		build.Run(),
	)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(module, "program"))
})

// machineField is where the header of a program says which machine it is for.
const machineField = 18

// programs makes an empty program for each name. Those for other machines only say so in their header; compiling Go's library for each would take
// minutes.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	program, err := compiled()
	require.NoError(t, err)
	for _, name := range names {
		machine := elf.EM_X86_64
		if strings.HasSuffix(name, "_arm64") {
			machine = elf.EM_AARCH64
		}
		content := bytes.Clone(program)
		binary.LittleEndian.PutUint16(content[machineField:], uint16(machine))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o700))
	}
	return folder
}

func optionsOf(folder string) Options {
	return Options{
		Source: checkout, Programs: folder, Repository: "registry.example.com/landscaper",
		Release: containerimage.Release{Version: "v1.2.3", Revision: "0123456789abcdef", Created: time.Unix(1_700_000_000, 0)},
	}
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return content
}

func TestAReleaseIsMadeTwiceTheSame(t *testing.T) {
	folder := programs(t, "landscaper_linux_amd64", "landscaper_linux_arm64", "flux-landscaper_linux_amd64", "flux-landscaper_windows_amd64.exe")
	first, second := t.TempDir(), t.TempDir()

	_, err := Make(first, optionsOf(folder))
	require.NoError(t, err)
	_, err = Make(second, optionsOf(folder))
	require.NoError(t, err)

	sums := string(read(t, first, ChecksumsFile))
	assert.Equal(t, sums, string(read(t, second, ChecksumsFile)))
	for _, name := range []string{
		"install.yaml", "crds.yaml", "crd-schemas.tar.gz", "plugin.yaml", "flux-landscaper_1.2.3_linux_amd64.tar.gz", "flux-landscaper_1.2.3_windows_amd64.zip",
		"landscaper_linux_arm64.spdx.json", "images/index.json", "manifests-artifact/index.json", "charts-artifacts/index.json", "manifests/flux/install/kustomization.yaml", "landscaper-1.2.3.tgz", "landscaper-agent-1.2.3.tgz",
		"landscaper-controller-rbac-1.2.3.tgz", "landscaper-controller-deployment-1.2.3.tgz", "helm-deployer-1.2.3.tgz",
	} {
		assert.Contains(t, sums, "  "+name+"\n")
	}
}

func TestTheImageHasAPlatformForEachProgram(t *testing.T) {
	folder := programs(t, "landscaper_linux_amd64", "landscaper_linux_arm64")
	dist := t.TempDir()
	_, err := Make(dist, optionsOf(folder))
	require.NoError(t, err)

	written, err := layout.ImageIndexFromPath(filepath.Join(dist, ImagesFolder))
	require.NoError(t, err)
	manifest, err := written.IndexManifest()
	require.NoError(t, err)

	require.Len(t, manifest.Manifests, 3, "the index and a bill of materials for each platform")
	images, err := written.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	index, err := images.IndexManifest()
	require.NoError(t, err)
	var platforms []string
	for _, one := range index.Manifests {
		platforms = append(platforms, one.Platform.String())
		img, err := images.Image(one.Digest)
		require.NoError(t, err)
		config, err := img.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, "65532:65532", config.Config.User)
		assert.Equal(t, one.Platform.Architecture, config.Architecture)
		assert.Equal(t, "v1.2.3", config.Config.Labels["org.opencontainers.image.version"])
	}
	assert.Equal(t, []string{"linux/amd64", "linux/arm64"}, platforms)
	materials, err := written.Image(manifest.Manifests[1].Digest)
	require.NoError(t, err)
	described, err := materials.Manifest()
	require.NoError(t, err)
	assert.Equal(t, index.Manifests[0].Digest, described.Subject.Digest)
}

func TestManifestsNameTheImageByDigest(t *testing.T) {
	dist := t.TempDir()
	set, err := Make(dist, optionsOf(programs(t, "landscaper_linux_amd64")))
	require.NoError(t, err)
	digest, err := set.Index.Digest()
	require.NoError(t, err)

	install := string(read(t, dist, "install.yaml"))

	assert.Contains(t, install, "image: registry.example.com/landscaper:v1.2.3@"+digest.String())
	assert.NotContains(t, install, "image: landscaper\n")
	assert.NotContains(t, install, "kind: CustomResourceDefinition")
	assert.Contains(t, string(read(t, dist, "crds.yaml")), "kind: CustomResourceDefinition")
	for _, folder := range []string{"install", "webhooks", "container-deployer", "agent"} {
		assert.Contains(t, string(read(t, dist, ManifestsFolder, "flux", folder, "kustomization.yaml")), "digest: "+digest.String(), folder)
	}
}

// Helm finds a chart by the name of the repository and its version, and reads the configuration of the artifact.
func TestChartsAreArtifactsForHelm(t *testing.T) {
	dist, options := t.TempDir(), optionsOf(programs(t, "landscaper_linux_amd64"))
	options.Release.Version = "v1.2.3+build"
	_, err := Make(dist, options)
	require.NoError(t, err)

	written, err := layout.ImageIndexFromPath(filepath.Join(dist, ChartsLayout))
	require.NoError(t, err)
	index, err := written.IndexManifest()
	require.NoError(t, err)

	named := map[string]bool{}
	for _, descriptor := range index.Manifests {
		name, tag, _ := strings.Cut(descriptor.Annotations["org.opencontainers.image.ref.name"], ":")
		named[name] = true
		assert.Equal(t, "1.2.3_build", tag, "no tag has a +")
		artifact, err := written.Image(descriptor.Digest)
		require.NoError(t, err)
		manifest, err := artifact.Manifest()
		require.NoError(t, err)
		assert.EqualValues(t, "application/vnd.cncf.helm.config.v1+json", manifest.Config.MediaType)
		config, err := artifact.RawConfigFile()
		require.NoError(t, err)
		var metadata struct{ Name, Version string }
		require.NoError(t, json.Unmarshal(config, &metadata))
		assert.Equal(t, name, metadata.Name)
		assert.Equal(t, "1.2.3+build", metadata.Version)
		require.Len(t, manifest.Layers, 1)
		assert.EqualValues(t, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", manifest.Layers[0].MediaType)
		assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(read(t, dist, name+"-1.2.3+build.tgz"))), manifest.Layers[0].Digest.Hex)
	}
	for _, name := range []string{"landscaper", "landscaper-agent", "helm-deployer", "manifest-deployer", "container-deployer", "mock-deployer"} {
		assert.True(t, named[name], name)
	}
}

func TestSchemasRefuseFieldsThatTheServerWouldDrop(t *testing.T) {
	dist := t.TempDir()
	_, err := Make(dist, optionsOf(programs(t, "landscaper_linux_amd64")))
	require.NoError(t, err)
	unpacked, err := gzip.NewReader(bytes.NewReader(read(t, dist, "crd-schemas.tar.gz")))
	require.NoError(t, err)
	schemas := map[string]map[string]any{}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		var schema map[string]any
		require.NoError(t, json.NewDecoder(archive).Decode(&schema))
		schemas[header.Name] = schema
	}

	installation := schemas["installation-landscaper-v1alpha1.json"]

	require.NotNil(t, installation)
	spec := installation["properties"].(map[string]any)["spec"].(map[string]any)
	assert.Equal(t, false, spec["additionalProperties"])
	metadata := installation["properties"].(map[string]any)["metadata"].(map[string]any)
	assert.NotContains(t, metadata, "additionalProperties")
}

func TestChecksumsAreSigned(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	options := optionsOf(programs(t, "landscaper_linux_amd64"))
	options.Key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	dist := t.TempDir()

	_, err = Make(dist, options)

	require.NoError(t, err)
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(read(t, dist, SignatureFile))))
	require.NoError(t, err)
	sum := sha256.Sum256(read(t, dist, ChecksumsFile))
	assert.True(t, ecdsa.VerifyASN1(&key.PublicKey, sum[:], signature))
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	_, err := Make(t.TempDir(), optionsOf(t.TempDir()))
	assert.ErrorContains(t, err, "has no program landscaper_linux_<architecture>")

	options := optionsOf(programs(t, "landscaper_linux_amd64"))
	options.Key = []byte("no key")
	_, err = Make(t.TempDir(), options)
	assert.ErrorContains(t, err, "is not in PEM")

	for _, version := range []string{"f2bfc84", "1.2", "v1", "01.2.3"} {
		options := optionsOf(programs(t, "landscaper_linux_amd64"))
		options.Release.Version = version
		_, err = Make(t.TempDir(), options)
		assert.ErrorContains(t, err, `the version "`+version+`" is not a semantic version`)
	}
}

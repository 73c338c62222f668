// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/tests/interop"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const document = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nimports:\n- {name: replicas, type: data, schema: {type: integer}}\n"

// built is the program, built once for all tests.
var built = sync.OnceValues(func() (string, error) { return binaries.BuildCLI(context.Background()) })

// program runs the built binary in a home of its own.
type program struct {
	*testing.T
	binary, home string
}

func start(t *testing.T) *program {
	t.Helper()
	binary, err := built()
	require.NoError(t, err)
	return &program{t, binary, t.TempDir()}
}

// run returns what the program printed and its exit status.
func (p *program) run(args ...string) (stdout, stderr string, status int) {
	p.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(context.Background(), p.binary, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, p.home
	cmd.Env = []string{"HOME=" + p.home, "TMPDIR=" + p.TempDir()}
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(p, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs the program, which has to succeed, and returns its standard output.
func (p *program) must(args ...string) string {
	p.Helper()
	stdout, stderr, status := p.run(args...)
	require.Zero(p, status, "%v: %s%s", args, stdout, stderr)
	return stdout
}

// fail runs the program, which has to end with status 1 or 2, and returns all it printed.
func (p *program) fail(args ...string) string {
	p.Helper()
	stdout, stderr, status := p.run(args...)
	require.Contains(p, []int{statusDiffers, statusError}, status, "%v: %s%s", args, stdout, stderr)
	return stdout + stderr
}

// write writes files (path, content, …) below the home.
func (p *program) write(files ...string) {
	p.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(p.home, files[i])
		require.NoError(p, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(p, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
}

func (p *program) read(dir string) map[string]string {
	p.Helper()
	found := map[string]string{}
	files := os.DirFS(filepath.Join(p.home, dir))
	require.NoError(p, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		found[name] = string(content)
		return err
	}))
	return found
}

func TestPushPullDiff(t *testing.T) {
	server, p := registry.Start(t, registry.Options{}), start(t)
	url := "oci://" + server.Ref("blueprints/shop", "1.0.0")
	p.write("shop/blueprint.yaml", document, "shop/lib/a.tpl", "x\n", "shop/.git/HEAD", "", "shop/notes.md", "")
	pushed := p.must("blueprint", "push", url, "-f", "shop", "--source", "s", "--revision", "r", "--ignore-paths", "*.md")
	assert.Regexp(t, `^oci://`+server.Host+`/blueprints/shop@sha256:[0-9a-f]{64}\n$`, pushed)
	assert.Equal(t, pushed, p.must("bp", "push", url, "-f", "shop", "--source", "s", "--revision", "r", "--ignore-paths", "*.md"))

	p.must("blueprint", "pull", url, "-o", "pulled")
	assert.Equal(t, map[string]string{"blueprint.yaml": document, "lib/a.tpl": "x\n"}, p.read("pulled"))
	p.must("blueprints", "diff", url, "-f", "pulled")
	p.must("blueprint", "pull", strings.TrimSpace(pushed), "-o", "by-digest")
	assert.Equal(t, p.read("pulled"), p.read("by-digest"))

	p.write("pulled/lib/a.tpl", "y\n")
	assert.Contains(t, p.fail("blueprint", "diff", url, "-f", "pulled"), "changed  lib/a.tpl\n")
	var changes []struct{ Path, Kind, Diff string }
	require.NoError(t, json.Unmarshal([]byte(p.fail("blueprint", "diff", url, "-f", "pulled", "-o", "json")), &changes))
	require.Len(t, changes, 1)
	assert.Contains(t, changes[0].Diff, "\n-x\n+y\n")
}

func TestPushAsJSON(t *testing.T) {
	server, p := registry.Start(t, registry.Options{}), start(t)
	p.write("shop/blueprint.yaml", document)
	out := p.must("blueprint", "push", "oci://"+server.Ref("shop", "1"), "-f", "shop", "--source", "s", "--revision", "r", "-o", "json",
		"--created", "2026-01-02T03:04:05Z", "--media-type", "landscaper", "-a", "a=b")
	var pushed struct{ URL, Repository, Tag, Digest string }
	require.NoError(t, json.Unmarshal([]byte(out), &pushed))
	assert.Equal(t, []string{server.Host + "/shop", "1", "oci://" + server.Host + "/shop@" + pushed.Digest}, []string{pushed.Repository, pushed.Tag, pushed.URL})
}

func TestValidate(t *testing.T) {
	p := start(t)
	p.write("good/blueprint.yaml", document, "bad/blueprint.yaml", document+"exports:\n- {name: a, type: data}\n")
	assert.Equal(t, "✔ blueprint is valid: 1 imports, 0 exports, 0 executions, 0 sub-installations\n", p.must("blueprint", "validate", "good", "--set", "replicas=3"))
	assert.Contains(t, p.fail("blueprint", "validate", "good", "--set", "replicas=many"), "✗ blueprint.yaml:4:3: imports[0]: the value set for \"replicas\" does not match its schema")
	assert.Equal(t, "✗ blueprint.yaml:6:3: exports[0].schema: data needs a JSON schema; add schema: {} to allow any value\n", p.fail("bp", "validate", "bad"))
	var report struct {
		Valid    bool
		Findings []struct {
			Severity, File, Field, Message string
			Line                           int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(p.fail("blueprint", "validate", "bad", "-o", "json")), &report))
	require.Len(t, report.Findings, 1)
	assert.Equal(t, 6, report.Findings[0].Line)
}

func TestInvalidBlueprintIsNotPushed(t *testing.T) {
	server, p := registry.Start(t, registry.Options{}), start(t)
	url := "oci://" + server.Ref("shop", "1")
	p.write("bad/blueprint.yaml", "kind: Blueprint\n")
	assert.Contains(t, p.fail("blueprint", "push", url, "-f", "bad", "--source", "s", "--revision", "r"), "was not pushed")
	assert.Empty(t, server.Requests())
	p.must("blueprint", "push", url, "-f", "bad", "--source", "s", "--revision", "r", "--skip-validation")
}

func TestLogin(t *testing.T) {
	for name, token := range map[string]bool{"basic": false, "token": true} {
		t.Run(name, func(t *testing.T) {
			server := registry.Start(t, registry.Options{TLS: true, Token: token, Users: []registry.User{{Name: "me", Password: "secret-word"}}})
			p := start(t)
			login := base64.StdEncoding.EncodeToString([]byte("me:secret-word"))
			config := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}, "credsStore": "must-not-run"}`, server.Host, login)
			p.write("shop/blueprint.yaml", document, "ca.pem", string(server.CA), "config.json", config)
			url := "oci://" + server.Ref("shop", "1")
			push := []string{"blueprint", "push", url, "-f", "shop", "--source", "s", "--revision", "r"}
			p.fail(push...)
			anonymous := p.fail(append(push, "--ca-file", "ca.pem")...)
			assert.Contains(t, anonymous, "--registry-config")
			p.must(append(push, "--ca-file", "ca.pem", "--registry-config", "config.json")...)
			p.write(".docker/config.json", config)
			p.must("blueprint", "pull", url, "-o", "pulled", "--ca-file", "ca.pem")
			wrong := fmt.Sprintf(`{"auths": {%q: {"username": "me", "password": "wrong-word"}}}`, server.Host)
			p.write("wrong.json", wrong)
			assert.NotContains(t, p.fail(append(push, "--ca-file", "ca.pem", "--registry-config", "wrong.json")...), "wrong-word")
		})
	}
}

const components = `
components:
- name: example.com/shop
  version: ${VERSION}
  provider: {name: me}
  componentReferences: [{name: db, componentName: example.com/db, version: 1.0.0}]
  resources:
  - {name: blueprint, type: landscaper.gardener.cloud/blueprint, input: {type: dir, path: shop, compress: true, mediaType: application/vnd.gardener.landscaper.blueprint.v1+tar+gzip}}
- {name: example.com/db, version: 1.0.0, provider: {name: me}}
`

func TestComponents(t *testing.T) {
	server, p := registry.Start(t, registry.Options{}), start(t)
	repository := "oci://" + server.Host + "/components"
	p.write("shop/blueprint.yaml", document, "constructor.yaml", components)
	assert.Contains(t, p.fail("component", "push", "-f", "constructor.yaml", "--repository", repository), "${VERSION}, which has no value")
	push := []string{"component", "push", "-f", "constructor.yaml", "--repository", repository, "VERSION=1.2.0"}
	pushed := p.must(push...)
	assert.Regexp(t, `/component-descriptors/example\.com/db:1\.0\.0@sha256:[0-9a-f]+\n.*/component-descriptors/example\.com/shop:1\.2\.0@sha256:[0-9a-f]+\n$`, pushed)
	assert.Equal(t, pushed, p.must(push...))

	var descriptor struct {
		Metadata struct{ Name, Version string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(p.must("comp", "get", "example.com/shop", "--repository", repository, "--schema", "v3alpha1")), &descriptor))
	assert.Equal(t, "1.2.0", descriptor.Metadata.Version)
	require.NoError(t, json.Unmarshal([]byte(p.must("component", "get", server.Host+"/components//example.com/shop:1.2.0", "-o", "json", "--schema", "v3alpha1")), &descriptor))
	assert.Equal(t, "example.com/shop", descriptor.Metadata.Name)
	assert.Equal(t, "example.com/shop:1.2.0\n├── blueprint  landscaper.gardener.cloud/blueprint  1.2.0  localBlob\n└── db → example.com/db:1.0.0\n",
		p.must("component", "tree", "example.com/shop:1.2.0", "--repository", repository))

	p.write("shop/more.yaml", "")
	assert.Contains(t, p.fail(push...), "exists at")
	p.must(append(push, "--overwrite")...)
}

func TestSignedComponents(t *testing.T) {
	server, p := registry.Start(t, registry.Options{}), start(t)
	repository := "oci://" + server.Host + "/components"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	p.write("shop/blueprint.yaml", document, "constructor.yaml", components,
		"key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"key.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
	push := []string{"component", "push", "-f", "constructor.yaml", "--repository", repository, "VERSION=1.2.0", "--signature", "release", "--private-key"}
	p.must(append(push, "key.pem")...)
	_, progress, _ := p.run(append(push, "key.pem")...)
	assert.Contains(t, progress, "component example.com/shop:1.2.0 unchanged")
	for _, name := range []string{"example.com/shop:1.2.0", "example.com/db:1.0.0"} {
		p.must("component", "verify", name, "--repository", repository, "--signature", "release", "--public-key", "key.pub")
	}
	assert.Contains(t, p.fail(append(push, "key.pub")...), "--private-key: key.pub: the private key")
	assert.Contains(t, p.fail(push[:len(push)-1]...), "private-key")
	assert.Contains(t, p.fail(append(push[:7:7], "--certificates", "key.pub")...), "add --signature and --private-key")
}

func TestComponentsInADirectory(t *testing.T) {
	p := start(t)
	p.write("shop/blueprint.yaml", document, "constructor.yaml", components)
	p.must("component", "push", "-f", "constructor.yaml", "--ctf", "one", "VERSION=1.2.0")
	p.must("component", "push", "-f", "constructor.yaml", "--ctf", "two", "VERSION=1.2.0")
	assert.Equal(t, p.read("one"), p.read("two"))
	assert.Contains(t, p.must("component", "tree", "example.com/shop", "--repository", "./one"), "db → example.com/db:1.0.0")
	assert.Contains(t, p.fail("component", "push", "-f", "constructor.yaml", "--archive", "three", "VERSION=1.2.0"), "use --ctf")
}

const carrying = `
name: example.com/shop
version: 1.2.0
provider: {name: me}
resources:
- {name: chart, type: helmChart, input: {type: ociArtifact, path: "HOST/charts/web:1.0.0"}}
- {name: image, type: ociImage, input: {type: ociImage, path: "HOST/images/shop:3.1.0", repository: /shop}}
`

// TestCarriedArtifacts copies between registries that both want a login, each its own.
func TestCarriedArtifacts(t *testing.T) {
	from := registry.Start(t, registry.Options{Users: []registry.User{{Name: "reader", Password: "one"}}})
	to := registry.Start(t, registry.Options{Token: true, Users: []registry.User{{Name: "writer", Password: "two"}}})
	p := start(t)
	from.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Content: "chart"})
	_, image := from.Push(t, "images/shop", "3.1.0", registry.Layer{MediaType: "x/layer", Content: "layer"})
	p.write("constructor.yaml", strings.ReplaceAll(carrying, "HOST", from.Host))
	push := []string{"component", "push", "-f", "constructor.yaml", "--repository", "oci://" + to.Host + "/components"}
	assert.Contains(t, p.fail(push...), "--registry-config")
	p.write(".docker/config.json", fmt.Sprintf(`{"auths": {%q: {"username": "reader", "password": "one"}, %q: {"username": "writer", "password": "two"}}}`, from.Host, to.Host))
	pushed, progress, status := p.run(push...)
	require.Zero(t, status, progress)
	assert.Contains(t, progress, "✔ artifact shop:3.1.0 copied: digest "+image.String()+"\n")
	again, progress, status := p.run(push...)
	require.Zero(t, status, progress)
	assert.Equal(t, pushed, again)
	assert.Contains(t, progress, "✔ artifact shop:3.1.0 unchanged: digest "+image.String()+"\n")

	from.Down()
	ref := to.Host + "/components//example.com/shop:1.2.0"
	base := to.Host + "/components"
	assert.Equal(t, "example.com/shop:1.2.0\n├── chart  helmChart  1.2.0  ociArtifact "+base+"/charts/web:1.0.0\n└── image  ociImage   1.2.0  ociArtifact "+base+"/shop:3.1.0\n",
		p.must("component", "tree", ref))
	assert.Contains(t, p.must("component", "get", ref), image.Encoded())
}

// archive writes an archive of the OCM CLI into the home.
func (p *program) archive(name string) {
	p.Helper()
	p.write(filepath.Base(name), string(interop.Read(p, name)))
}

func TestVerify(t *testing.T) {
	p := start(t)
	for _, s := range interop.Signatures(t)[:2] {
		p.archive("signed/" + s.File)
		p.archive("keys/rsa.pub")
		p.archive("keys/ca.crt")
		verify := []string{"component", "verify", s.Component, "--repository", "./" + s.File, "--signature"}
		assert.Equal(t, s.Hash+":"+s.Digest+"\n", p.must(append(verify, s.Name, "--public-key", "rsa.pub")...))
		assert.Contains(t, p.must(append(verify, s.Name, "--public-key", "rsa.pub", "-o", "json")...), s.Normalisation)
		assert.Contains(t, p.fail(append(verify, s.Name, "--public-key", "ca.crt")...), "it was not made with the key that is trusted")
		assert.Contains(t, p.fail(append(verify, s.Name, "--ca", "ca.crt")...), "it carries no certificate")
		assert.Contains(t, p.fail(append(verify, "other", "--public-key", "rsa.pub")...), `has no signature "other"; it has: sig`)
	}
	p.archive("signed/pem-RSASSA-PSS.tgz")
	p.must("component", "verify", "example.com/interop/shop:1.2.0", "--repository", "./pem-RSASSA-PSS.tgz", "--signature", "interop-signer", "--ca", "ca.crt")
	assert.Contains(t, p.fail("component", "verify", "x", "--signature", "s"), "public-key")
}

func TestBadNamesAreWarnedAbout(t *testing.T) {
	p := start(t)
	p.write("bad/component-descriptor.yaml", string(interop.Read(t, "refused/upper.yaml")))
	stdout, stderr, status := p.run("component", "get", "example.com/interop/bad-upper:1.0.0", "--repository", "./bad")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "bad-upper")
	assert.Contains(t, stderr, "⚠ the OCM tools cannot read component example.com/interop/bad-upper:1.0.0: component.resources[0].name has")
}

func TestCarriedArtifactsInADirectory(t *testing.T) {
	from, p := registry.Start(t, registry.Options{}), start(t)
	from.Push(t, "charts/web", "1.0.0", registry.Layer{MediaType: "x/chart", Content: "chart"})
	from.Push(t, "images/shop", "3.1.0", registry.Layer{MediaType: "x/layer", Content: "layer"})
	p.write("constructor.yaml", strings.ReplaceAll(carrying, "HOST", from.Host))
	p.must("component", "push", "-f", "constructor.yaml", "--ctf", "one")
	p.must("component", "push", "-f", "constructor.yaml", "--ctf", "two")
	assert.Equal(t, p.read("one"), p.read("two"))
	from.Down()
	assert.Contains(t, p.must("component", "tree", "example.com/shop", "--repository", "./one"), "localBlob charts/web:1.0.0\n")
}

func TestMistakes(t *testing.T) {
	p := start(t)
	p.write("config.json", "{", "shop/blueprint.yaml", document)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown output":    {[]string{"blueprint", "validate", "shop", "-o", "xml"}, "✗ --output \"xml\" is not known; use text or json"},
		"missing directory": {[]string{"blueprint", "validate", "none"}, "directory none cannot be opened"},
		"malformed set":     {[]string{"blueprint", "validate", "shop", "--set", "x"}, "is not of the form name=value"},
		"missing flags":     {[]string{"blueprint", "push", "oci://h/r:1"}, "path"},
		"created":           {[]string{"blueprint", "push", "oci://h/r:1", "-f", "shop", "--source", "s", "--revision", "r", "--created", "now"}, "not a time in RFC 3339"},
		"provider":          {[]string{"blueprint", "pull", "oci://h/r:1", "-o", "x", "--provider", "aws"}, "--provider aws is not known"},
		"registry config":   {[]string{"blueprint", "pull", "oci://h/r:1", "-o", "x", "--registry-config", "config.json"}, "config.json"},
		"two ways":          {[]string{"blueprint", "pull", "oci://h/r:1", "-o", "x", "--insecure-registry", "--ca-file", "x"}, "contradict each other"},
		"timeout":           {[]string{"blueprint", "validate", "shop", "--timeout", "0s"}, "is not positive"},
		"no place":          {[]string{"component", "push", "-f", "x"}, "repository"},
		"no constructor":    {[]string{"component", "push", "-f", "none.yaml", "--ctf", "x"}, "--file: stat none.yaml"},
		"no repository":     {[]string{"component", "get", "example.com/a:1"}, "the repository is missing"},
		"unknown schema":    {[]string{"component", "tree", "example.com/a:1", "--repository", "./none"}, "is not a file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			out := (&program{t, p.binary, p.home}).fail(test.args...)
			assert.Contains(t, out, test.want)
			assert.True(t, strings.HasPrefix(out, "✗ "), out)
		})
	}
}

func TestRegistryThatHangs(t *testing.T) {
	server, p := registry.Start(t, registry.Options{Faults: []registry.Fault{registry.Hang()}}), start(t)
	assert.Contains(t, p.fail("blueprint", "pull", "oci://"+server.Ref("shop", "1"), "-o", "x", "--timeout", "2s"), server.Host)
	assert.NoDirExists(t, filepath.Join(p.home, "x"))
}

func TestPluginManifest(t *testing.T) {
	text, err := os.ReadFile("../../flux/plugin/landscaper.yaml")
	require.NoError(t, err)
	var manifest struct{ APIVersion, Kind, Name, Description, Bin string }
	require.NoError(t, yaml.Unmarshal(text, &manifest))
	assert.Equal(t, []string{"cli.fluxcd.io/v1beta1", "Plugin", "landscaper", "flux-landscaper"}, []string{manifest.APIVersion, manifest.Kind, manifest.Name, manifest.Bin})
	assert.Equal(t, rootCommand().Short, manifest.Description)
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func spiff(in Input) (string, error) {
	out, err := Spiff{}.Execute(context.Background(), in)
	return string(out.Document), err
}

func TestSpiffRenders(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"nothing", ``, `{}`},
		{"constant", `a: 1`, `{"a":1}`},
		{"data", `a: (( imports.name ))`, `{"a":"shop"}`},
		{"whole numbers", `a: (( [1..imports.n] ))`, `{"a":[1,2,3]}`},
		{"concatenation", `a: (( "x-" imports.name imports.n ))`, `{"a":"x-shop3"}`},
		{"whole object", `a: (( imports ))`, `{"a":{"n":3,"big":1000000,"name":"shop","list":["a","b"]}}`},
		{"sum", `a: (( sum[imports.list|""|s,v|->s v] ))`, `{"a":"ab"}`},
		{"lambda", "f: (( |x|->x \"!\" ))\na: (( .f(\"hi\") ))\nf2: (( &temporary ))", `{"a":"hi!","f":"(( lambda|x|->x \"!\" ))"}`},
		{"temporary", "t:\n  <<: (( &temporary ))\n  x: 1\na: (( t.x ))", `{"a":1}`},
		{"template", "t: (( &temporary &template ( \"x\" who ) ))\na: (( *t ))\nwho: me", `{"a":"xme","who":"me"}`},
		{"read text", `a: (( read("/data.txt") ))`, `{"a":"content"}`},
		{"read yaml", `a: (( read("lib/x.yaml").k ))`, `{"a":"v"}`},
		{"list files", `a: (( list_files("/") ))`, `{"a":["data.txt"]}`},
		{"lookup file", `a: (( lookup_file("data.txt", "/") ))`, `{"a":["//data.txt"]}`},
		{"getResource", `a: (( getResource(cd, "name", "image").access.imageReference ))`, `{"a":"r/shop-arm:1"}`},
		{"getResource of own component", `a: (( getResource("name", "image", "arch", "arm").type ))`, `{"a":"ociImage"}`},
		{"getComponent", `a: (( getComponent(cd, "name", "db").component.name ))`, `{"a":"example.com/db"}`},
		{"getResourceKey of structured data", `a: (( base64_decode(getResourceKey({ "resource"={ "name"="image" } })) ))`,
			`{"a":"component:\n  name: example.com/shop\n  version: v1.0.0\nresource:\n  arch: arm\n  name: image\n"}`},
		{"getResourceContent", `a: (( getResourceContent("cd://resources/image") ))`, `{"a":"content of image"}`},
		{"parseOCIRef", `a: (( parseOCIRef("a/b:1") ))`, `{"a":["a/b","1"]}`},
		{"ociRefRepo", `a: (( ociRefRepo("a/b:1") ))`, `{"a":"a/b"}`},
		{"ociRefVersion", `a: (( ociRefVersion("a/b:1") ))`, `{"a":"1"}`},
		{"escaped", `a: ((! x ))`, `{"a":"(( x ))"}`},
		{"data is not evaluated", `a: (( evil.text ))`, `{"a":"(( 1 + 1 ))"}`},
		{"keys of data mean nothing", `a: (( evil.map ))`, `{"a":{"<<":"(( x ))"}}`},
	}
	values := valuesV2()
	values["evil"] = map[string]any{"text": "(( 1 + 1 ))", "map": map[string]any{"<<": "(( x ))"}}
	blueprint := files("data.txt", "content", "lib/x.yaml", "k: v")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := spiff(Input{Source: tt.source, Values: values, Files: blueprint, Resources: contents{}})
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, got)
		})
	}
}

func TestSpiffStateStaysRandom(t *testing.T) {
	in := Input{Source: `password: (( &state(rand("[:alnum:]", 20)) ))`, State: map[string]any{}}
	out, err := Spiff{}.Execute(context.Background(), in)
	require.NoError(t, err)
	first := string(out.State)
	require.Len(t, first, len(`{"password":"12345678901234567890"}`))
	in.State = map[string]any{"password": first[13:33]}
	out, err = Spiff{}.Execute(context.Background(), in)
	require.NoError(t, err)
	assert.JSONEq(t, first, string(out.State))
}

// TestSpiffReachesNothingOutside tries each function of the library that looks or writes outside.
func TestSpiffReachesNothingOutside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("treasure"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	connected := make(chan struct{}, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connected <- struct{}{}
			_ = c.Close()
		}
	}()
	t.Setenv("TREASURE", "treasure")
	created := filepath.Join(filepath.Dir(secret), "created")
	expressions := map[string]string{
		"read":                       fmt.Sprintf(`read(%q)`, secret),
		"read uncached":              fmt.Sprintf(`read_uncached(%q)`, secret),
		"read upwards":               fmt.Sprintf(`read(%q)`, "../../../../../../../../../.."+secret),
		"read home":                  `read("~/secret.txt")`,
		"read http":                  fmt.Sprintf(`read("http://%s/x")`, listener.Addr()),
		"read https":                 fmt.Sprintf(`read("https://%s/x")`, listener.Addr()),
		"read odd http":              fmt.Sprintf(`read("http:%s/x")`, listener.Addr()),
		"read network text":          fmt.Sprintf(`read("http://%s/x", "text")`, listener.Addr()),
		"exec":                       fmt.Sprintf(`exec("cat", %q)`, secret),
		"exec uncached":              fmt.Sprintf(`exec_uncached("touch", %q)`, created),
		"exec list":                  fmt.Sprintf(`exec(["cat", %q])`, secret),
		"pipe":                       `pipe("x", "cat")`,
		"pipe uncached":              `pipe_uncached("x", "cat")`,
		"write":                      fmt.Sprintf(`write(%q, "x")`, created),
		"write relative":             `write("created", "x")`,
		"tempfile":                   `tempfile("x")`,
		"mkdir":                      fmt.Sprintf(`mkdir(%q)`, created),
		"env":                        `env("TREASURE")`,
		"env path":                   `env("PATH")`,
		"list files":                 fmt.Sprintf(`list_files(%q)`, filepath.Dir(secret)),
		"list dirs":                  `list_dirs("/proc")`,
		"eval exec":                  fmt.Sprintf(`eval("ex" "ec(\"cat\", \"%s\")")`, secret),
		"text that is an expression": fmt.Sprintf(`"((" " exec(\"cat\", \"%s\") ))"`, secret),
		"template":                   fmt.Sprintf(`*read(%q, "template")`, secret),
	}
	for _, blueprint := range []struct {
		name string
		in   Input
	}{{"with files", Input{Files: files("x", "y")}}, {"without files", Input{}}} {
		for name, expression := range expressions {
			t.Run(blueprint.name+"/"+name, func(t *testing.T) {
				in := blueprint.in
				in.Source = "a: (( " + expression + " ))"
				out, err := spiff(in)
				require.Error(t, err, out)
				assert.NotContains(t, err.Error(), "treasure")
			})
		}
	}
	for name, expression := range map[string]string{
		"lookup file": fmt.Sprintf(`lookup_file(%q, "/")`, secret), "lookup dir": `lookup_dir("/proc", "/")`, "env list": `env("TREASURE", "PATH")`,
	} {
		t.Run("finds nothing/"+name, func(t *testing.T) {
			out, err := spiff(Input{Source: "a: (( " + expression + " ))", Files: files("x", "y")})
			require.NoError(t, err)
			assert.Contains(t, []string{`{"a":[]}`, `{"a":{}}`}, out)
		})
	}
	assert.NoFileExists(t, created)
	assert.NoFileExists(t, "created")
	assert.Empty(t, connected)
	assert.Equal(t, "treasure", os.Getenv("TREASURE"))
	assert.NotEmpty(t, os.Getenv("PATH"))
}

func TestSpiffReadsNoBombs(t *testing.T) {
	bomb := "a: &a [" + strings.Repeat("x, ", 200) + "x]\nb: &b [" + strings.Repeat("*a, ", 200) + "x]\nc: [" + strings.Repeat("*b, ", 200) + "x]\n"
	for _, kind := range []string{"yaml", "multiyaml", "template", "import"} {
		_, err := spiff(Input{Source: `a: (( read("bomb.yaml", "` + kind + `") ))`, Files: files("bomb.yaml", bomb)})
		require.Error(t, err, kind)
		assert.ErrorContains(t, err, `file "bomb.yaml" of the blueprint has more than 16777216 bytes, counting those behind aliases`, kind)
	}
	got, err := spiff(Input{Source: `a: (( read("script", "text") ))`, Files: files("script", "a && b &c *d: [")})
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"a && b &c *d: ["}`, got)
}

func TestEnginesRunSideBySide(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			values := valuesV2()
			values["i"] = float64(i)
			got, err := spiff(Input{Source: "a: (( i ))\nb: (( imports ))", Values: values})
			assert.NoError(t, err)
			assert.Contains(t, got, fmt.Sprintf(`"a":%d,`, i))
			out, err := GoTemplate{}.Execute(context.Background(), Input{Source: `a: {{ .i }}`, Values: values})
			assert.NoError(t, err)
			assert.JSONEq(t, fmt.Sprintf(`{"a":%d}`, i), string(out.Document))
		})
	}
	wait.Wait()
}

func TestSpiffErrorsHideValues(t *testing.T) {
	_, err := spiff(Input{Name: "deploy", Source: `a: (( imports.token + 1 ))
b: (( imports.missing ))`, Values: map[string]any{"imports": map[string]any{"token": "super-secret-token"}}})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "super-secret-token")
	assert.Contains(t, err.Error(), "imports.missing")
	assert.Contains(t, err.Error(), "imports: {token: string}")
}

func TestSpiffRefuses(t *testing.T) {
	for name, tt := range map[string][2]string{
		"no object":    {`[a]`, "not an object"},
		"no YAML":      {`a: b: c`, "not YAML"},
		"capability":   {`a: (( getOidcKubeconfig("a", "b", {}) ))`, "not available here"},
		"capability 2": {`a: (( getShootAdminKubeconfig("a", "b", 1, {}) ))`, "not available here"},
		"content":      {`a: (( getResourceContent("cd://resources/image") ))`, "not available here"},
		"unknown":      {`a: (( readFile("x") ))`, "unknown function 'readFile'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spiff(Input{Source: tt[0], Values: valuesV2()})
			require.ErrorContains(t, err, tt[1])
		})
	}
}

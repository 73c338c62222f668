// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/base64"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func componentV2() map[string]any {
	return map[string]any{
		"meta": map[string]any{"schemaVersion": "v2"},
		"component": map[string]any{
			"name": "example.com/shop", "version": "v1.0.0",
			"repositoryContexts": []any{map[string]any{"type": "OCIRegistry", "baseUrl": "old"}, map[string]any{"type": "OCIRegistry", "baseUrl": "new"}},
			"resources": []any{
				map[string]any{"name": "image", "version": "1", "type": "ociImage", "extraIdentity": map[string]any{"arch": "arm"},
					"access": map[string]any{"imageReference": "r/shop-arm:1"}},
				map[string]any{"name": "image", "version": "1", "type": "ociImage", "access": map[string]any{"imageReference": "r/shop:1"}},
			},
			"componentReferences": []any{map[string]any{"name": "db", "componentName": "example.com/db", "version": "v2.0.0"}},
		},
	}
}

func databaseV2() map[string]any {
	return map[string]any{"component": map[string]any{
		"name": "example.com/db", "version": "v2.0.0",
		"resources": []any{map[string]any{"name": "chart", "version": "2", "access": map[string]any{"imageReference": "r/db:2"}}},
	}}
}

func componentV3() map[string]any {
	return map[string]any{
		"apiVersion": "ocm.software/v3alpha1", "kind": "ComponentVersion",
		"metadata":           map[string]any{"name": "example.com/shop", "version": "v1.0.0"},
		"repositoryContexts": []any{map[string]any{"type": "OCIRegistry", "baseUrl": "new"}},
		"spec": map[string]any{
			"resources":  []any{map[string]any{"name": "image", "access": map[string]any{"imageReference": "r/shop:1"}}},
			"references": []any{map[string]any{"name": "db", "componentName": "example.com/db", "version": "v2.0.0"}},
		},
	}
}

func databaseV3() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "example.com/db", "version": "v2.0.0"},
		"spec":     map[string]any{"resources": []any{map[string]any{"name": "chart"}}},
	}
}

func valuesV2() map[string]any {
	return map[string]any{
		"imports":    map[string]any{"n": int64(3), "big": int64(1000000), "name": "shop", "list": []any{"a", "b"}},
		"cd":         componentV2(),
		"components": map[string]any{"components": []any{componentV2(), databaseV2()}},
	}
}

func valuesV3() map[string]any {
	return map[string]any{"cd": componentV3(), "components": []any{databaseV3(), componentV3()}}
}

func render(t *testing.T, in Input) (string, error) {
	t.Helper()
	out, err := GoTemplate{}.Execute(context.Background(), in)
	return string(out.Document), err
}

func TestNumbersAreShownAsTheyAre(t *testing.T) {
	const exact = int64(1234567890123456789)
	values := map[string]any{"id": int64(20161216), "exact": exact, "half": 1.5, "ports": []any{int64(80), exact}}
	for source, want := range map[string]string{
		`{{ .id | quote }}`:                                      `"20161216"`,
		`{{ .id | squote }}`:                                     `'20161216'`,
		`{{ .id | toString }}`:                                   `20161216`,
		`{{ print .id .exact }}`:                                 `20161216 1234567890123456789`,
		`{{ printf "%v-%d-%s" .id .exact "x" }}`:                 `20161216-1234567890123456789-x`,
		`{{ printf "%.0f|%06.1f|%5d" .exact .id .id }}`:          `1234567890123456789|20161216.0|20161216`,
		`{{ printf "%v %.2f %v" (mulf 1000 1000) .half .half }}`: `1000000 1.50 1.5`,
		`{{ mulf .id 2 | quote }}`:                               `"40322432"`,
		`{{ cat .id "x" | quote }}`:                              `"20161216 x"`,
		`{{ .exact | toJson }}`:                                  `1234567890123456789`,
		`{{ .ports | toYaml | quote }}`:                          `"- 80\n- 1234567890123456789"`,
		`{{ join "," .ports }}`:                                  `80,1234567890123456789`,
		`{{ add .exact 1 }} {{ mul .id 2 }} {{ div .id 2 }} {{ mod .id 7 }} {{ max .id 1 }} {{ sub .exact 1 }}`:                                       `1234567890123456790 40322432 10080608 5 20161216 1234567890123456788`,
		`{{ addf .half 2 }} {{ floor .half }} {{ round .id 2 }}`:                                                                                      `3.5 1 20161216`,
		`{{ int .id }} {{ int64 .exact }} {{ float64 .id }}`:                                                                                          `20161216 1234567890123456789 20161216`,
		`{{ (fromJson "{\"a\": 1234567890123456789}").a }}`:                                                                                           `1234567890123456789`,
		`{{ (fromYaml "a: 1234567890123456789").a | quote }}`:                                                                                         `"1234567890123456789"`,
		`{{ range until 2 }}{{ . }}{{ end }}{{ repeat (int .half) "x" }}`:                                                                             `01x`,
		`{{ eq .id 20161216 }} {{ eq .id 20161216.0 }} {{ ne .id 1.0 }} {{ gt .id 1.5 }} {{ lt .half .id }} {{ ge .id 20161216.0 }} {{ le .half 1 }}`: `true true true true true true false`,
		`{{ eq .half 1 2 1.5 }} {{ eq "a" "b" "a" }} {{ eq .none nil }}`:                                                                              `true true true`,
		`{{ index .ports 1 }} {{ seq 1 2 }}`:                                                                                                          `1234567890123456789 1 2`,
	} {
		out, err := (&goRun{in: Input{Source: source}, values: values}).render()
		require.NoError(t, err, source)
		assert.Equal(t, want, out, source)
	}
	_, err := (&goRun{in: Input{Source: `{{ lt .id "x" }}`}, values: values}).render()
	assert.ErrorContains(t, err, "error calling lt: incompatible types for comparison")
}

func TestANumberThatCannotBeKeptIsAnError(t *testing.T) {
	for name, execute := range map[string]func(source string) error{
		"GoTemplate": func(source string) error { _, err := render(t, Input{Source: source}); return err },
		"Spiff":      func(source string) error { _, err := spiff(Input{Source: source}); return err },
	} {
		for _, number := range []string{"9223372036854775808", "-9223372036854775809", "12345678901234567890123"} {
			err := execute("a: {x: 9223372036854775807}\nb: [1, {c: " + number + "}]")
			assert.ErrorContains(t, err, "has a whole number of more than 64 bits at b[1].c, which would become another number; write it as a text, in quotes", name)
		}
		for _, other := range []string{`"12345678901234567890"`, "1.2345678901234567890", "sha256:12345678901234567890", "-9223372036854775808", "1e300"} {
			assert.NoError(t, execute("a: "+other), name)
		}
	}
}

func TestGoTemplateRendersFunctions(t *testing.T) {
	key := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	tests := []struct {
		name, source, want string
		values             map[string]any
	}{
		{"data", `a: {{ .imports.name }}`, `{"a":"shop"}`, nil},
		{"whole numbers stay whole", `a: {{ .imports.big }}`, `{"a":1000000}`, nil},
		{"sprig", `a: {{ list "x" "y" | join "-" | upper }}`, `{"a":"X-Y"}`, nil},
		{"range over a number", `a: "{{ range until (int .imports.n) }}{{ . }}{{ end }}"`, `{"a":"012"}`, nil},
		{"range over a list", `a: "{{ range $i, $v := .imports.list }}{{ $i }}{{ $v }}{{ end }}"`, `{"a":"0a1b"}`, nil},
		{"break and continue", `a: "{{ range .imports.list }}{{ if eq . "b" }}{{ break }}{{ end }}{{ . }}{{ continue }}{{ end }}"`, `{"a":"a"}`, nil},
		{"define and template", `{{ define "x" }}{{ .v }}{{ end }}a: {{ template "x" dict "v" 5 }}`, `{"a":5}`, nil},
		{"toYaml", `a: {{ .imports.list | toYaml | nindent 2 }}`, `{"a":["a","b"]}`, nil},
		{"fromYaml", `a: {{ (fromYaml "x: {z: 1}").x.z }}`, `{"a":1}`, nil},
		{"include", `a: {{ include "/lib/x.tpl" .imports }}`, `{"a":"hello shop"}`, nil},
		{"readFile", `a: {{ readFile "data.txt" | toString }}`, `{"a":"content"}`, nil},
		{"readFile never leaves the blueprint", `a: {{ readFile "../../data.txt" | printf "%s" }}`, `{"a":"content"}`, nil},
		{"readDir", `a: "{{ range readDir "/" }}{{ .Name }}:{{ .IsDir }}:{{ .Size }} {{ end }}"`, `{"a":"data.txt:false:7 lib:true:0 "}`, nil},
		{"parseOCIRef", `a: {{ parseOCIRef "host:5000/a/b:1.2" | toJson }}`, `{"a":["host:5000/a/b","1.2"]}`, nil},
		{"ociRefRepo", `a: {{ ociRefRepo "docker.io/library/nginx:1" }}`, `{"a":"nginx"}`, nil},
		{"ociRefVersion with digest", `a: {{ ociRefVersion "a/b:1@sha256:00" | quote }}`, `{"a":"sha256:00"}`, nil},
		{"getResource", `a: {{ (getResource .cd "name" "image").access.imageReference }}`, `{"a":"r/shop-arm:1"}`, nil},
		{"getResource of own component", `a: {{ (getResource "name" "image" "arch" "arm").access.imageReference }}`, `{"a":"r/shop-arm:1"}`, nil},
		{"getResource v3", `a: {{ (getResource "name" "image").access.imageReference }}`, `{"a":"r/shop:1"}`, valuesV3()},
		{"getResources", `a: {{ len (getResources "name" "image") }}`, `{"a":2}`, nil},
		{"getComponent", `a: {{ (getResource (getComponent .cd "name" "db") "name" "chart").access.imageReference }}`, `{"a":"r/db:2"}`, nil},
		{"getComponent v3", `a: {{ (getComponent "name" "db").metadata.name }}`, `{"a":"example.com/db"}`, valuesV3()},
		{"getRepositoryContext", `a: {{ (getRepositoryContext .cd).baseUrl }}`, `{"a":"new"}`, nil},
		{"getRepositoryContext v3", `a: {{ (getRepositoryContext .cd).baseUrl }}`, `{"a":"new"}`, valuesV3()},
		{"getResourceKey", "a: {{ getResourceKey `cd://componentReferences/db/resources/chart` }}",
			`{"a":"` + key("component:\n  name: example.com/db\n  version: v2.0.0\nresource:\n  name: chart\n") + `"}`, nil},
		{"getResourceKey of a relative reference", "a: {{ getResourceKey `{resource: {name: image, arch: arm}}` }}",
			`{"a":"` + key("component:\n  name: example.com/shop\n  version: v1.0.0\nresource:\n  arch: arm\n  name: image\n") + `"}`, nil},
		{"getResourceContent", "a: {{ getResourceContent `cd://resources/image` }}", `{"a":"content of image"}`, nil},
		{"nothing", ``, `{}`, nil},
	}
	blueprint := files("data.txt", "content", "lib/x.tpl", `hello {{ .name }}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values := tt.values
			if values == nil {
				values = valuesV2()
			}
			got, err := render(t, Input{Source: tt.source, Values: values, Files: blueprint, Resources: contents{}, RejectNoValue: true})
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, got)
		})
	}
}

type contents struct{}

func (contents) ResourceContent(_ context.Context, key ResourceKey) (Content, error) {
	return Content{Data: []byte("content of " + key.Identity["name"]), MediaType: "text/plain"}, nil
}

func TestGoTemplateRefuses(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"env", `{{ env "HOME" }}`, `function "env" not defined`},
		{"expandenv", `{{ expandenv "$HOME" }}`, `function "expandenv" not defined`},
		{"name resolution", `{{ getHostByName "localhost" }}`, `function "getHostByName" not defined`},
		{"missing file", `{{ readFile "nope" }}`, `file "nope" is not in the blueprint; its directory has: a.txt`},
		{"missing include", `{{ include "dir/nope" . }}`, `nor is its directory`},
		{"kubeconfig without capability", `{{ getServiceAccountKubeconfig "a" "b" 3600 .t }}`, "not available here"},
		{"oidc without capability", `{{ getOidcKubeconfig "a" "b" .t }}`, "not available here"},
		{"content without capability", "{{ getResourceContent `cd://resources/image` }}", "not available here"},
		{"expiration that is not a number", `{{ getShootAdminKubeconfig "a" "b" "x" .t }}`, "must be a number of seconds"},
		{"reference without version", `{{ parseOCIRef "a/b" }}`, "neither tag nor digest"},
		{"unknown resource", `{{ getResource .cd "name" "nope" }}`, "it has: image, image"},
		{"odd reference", "{{ getResourceKey `cd://resources` }}", "by turns"},
		{"unknown keyword", "{{ getResourceKey `cd://things/x` }}", `keyword "things" is unknown`},
		{"user error", `{{ fail "no way" }}`, "no way"},
		{"output that is not an object", `just text`, "not a YAML object"},
		{"output that is not YAML", "a: b: c", "the output is not YAML"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := render(t, Input{Source: tt.source, Values: valuesV2(), Files: files("a.txt", "")})
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestGoTemplateWithoutComponentNamesTheCure(t *testing.T) {
	_, err := render(t, Input{Source: `{{ getResource "name" "x" }}`, Values: map[string]any{"cd": nil}})
	assert.ErrorContains(t, err, "give the installation a componentDescriptor")
}

func TestGoTemplateKeepsState(t *testing.T) {
	in := Input{Source: "{{ $n := add (.state.count | default 0) 1 }}state: {count: {{ $n }}}", State: map[string]any{}}
	out, err := GoTemplate{}.Execute(context.Background(), in)
	require.NoError(t, err)
	require.JSONEq(t, `{"count":1}`, string(out.State))
	in.State = map[string]any{"count": float64(1)}
	out, err = GoTemplate{}.Execute(context.Background(), in)
	require.NoError(t, err)
	assert.JSONEq(t, `{"count":2}`, string(out.State))
}

func TestGoTemplateDoesNotChangeItsInputs(t *testing.T) {
	values := valuesV2()
	_, err := render(t, Input{Source: `{{ $_ := set .imports "name" "other" }}{{ $_ := set (getResource .cd "name" "image") "name" "x" }}`, Values: values})
	require.NoError(t, err)
	assert.Equal(t, valuesV2(), values)
}

func TestNoValue(t *testing.T) {
	source := "a: 1\nb: {{ .imports.missing }}\nc: 2"
	_, err := render(t, Input{Name: "deploy", Source: source, RejectNoValue: true, Values: valuesV2()})
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 2, failed.Line)
	assert.Contains(t, failed.Excerpt, ">    2: b: {{ .imports.missing }}")
	assert.ErrorContains(t, err, `{{ .imports.missing }} in execution line 2, column`)

	_, err = render(t, Input{Source: source, Values: valuesV2()})
	assert.NoError(t, err)
	_, err = render(t, Input{Source: `a: {{ .imports.missing | default "x" }}`, RejectNoValue: true, Values: valuesV2()})
	assert.NoError(t, err)
}

func TestErrorsNameTheFileAndTheExpression(t *testing.T) {
	library := fstest.MapFS{"lib.tpl": {Data: []byte("\n{{ .imports.other | toYaml | fromYaml }}")}}
	for source, want := range map[string]string{
		"a: {{ .imports.missing }}":             "{{ .imports.missing }} in /deploy.yaml line 1, column 7",
		"a: {{ .imports.missing.name }}":        "template: /deploy.yaml:1:14: executing \"/deploy.yaml\" at <.imports.missing.name>",
		"a: 1\n{{ include \"lib.tpl\" . }}\nb:": "lib.tpl",
	} {
		_, err := render(t, Input{Name: "deploy", File: "/deploy.yaml", Source: source, Files: library, RejectNoValue: true, Values: valuesV2()})
		assert.ErrorContains(t, err, want)
	}
}

func TestErrorsShowExcerptAndMaskedInputs(t *testing.T) {
	values := map[string]any{"imports": map[string]any{"token": "super-secret-token", "n": float64(1)}, "cd": nil}
	source := "one: 1\ntwo: 2\nthree: {{ toDecimal (mustToDate \"2006\" .imports.token) }}\nfour: 4"
	_, err := render(t, Input{Name: "deploy", File: "/deploy.yaml", Source: source, Values: values})
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 3, failed.Line)
	assert.Contains(t, failed.Excerpt, ">    3: three:")
	assert.Contains(t, failed.Inputs, "imports: {n: number, token: string}")
	assert.Contains(t, err.Error(), "/deploy.yaml")
	assert.NotContains(t, err.Error(), "super-secret-token")
}

func TestErrorOfIncludedFileShowsThatFile(t *testing.T) {
	in := Input{Source: `a: {{ include "x.tpl" . }}`, Files: files("x.tpl", "fine\n{{ index . 1 2 }}")}
	_, err := render(t, in)
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "x.tpl", failed.File)
	assert.Equal(t, 2, failed.Line)
}

func TestErrorOfOutputHidesValues(t *testing.T) {
	_, err := render(t, Input{Source: "key: {{ .imports.token }}: x\nb: [", Values: map[string]any{"imports": map[string]any{"token": "tiger"}}})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "tiger")
	assert.Contains(t, err.Error(), "key: …")
}

const brokenOutput = `deployItems:
- name: good
  config: {}
- name: broken-item
  config:
    kind: ProviderConfiguration
    replicas {{ .imports.size }} of {{ .imports.token }}
    all: {{ include "lib.tpl" .imports | nindent 6 }}
  more: {{ toYaml .imports | nindent 4 }}
- name: last
`

func brokenInput() Input {
	return Input{Source: brokenOutput, Files: files("lib.tpl", "literal: text\nsecret: {{ .token }}"), Values: map[string]any{
		"imports": map[string]any{"size": "3", "token": "tiger"},
	}}
}

func TestErrorOfOutputNamesTheItemAndShowsTheTemplate(t *testing.T) {
	_, err := render(t, brokenInput())
	require.ErrorContains(t, err, `deploy item "broken-item" (deployItems[1]): the output is not YAML`)
	assert.ErrorContains(t, err, ">    7:     replicas … of …\n")
	assert.ErrorContains(t, err, "       literal: text\n")
	assert.ErrorContains(t, err, "       secret: …\n")
	assert.ErrorContains(t, err, "    size: …")
	assert.NotContains(t, err.Error(), "tiger")
}

func TestErrorOfOutputIsNotMaskedForWhoGaveTheValues(t *testing.T) {
	in := brokenInput()
	in.Unmasked = true
	_, err := render(t, in)
	assert.ErrorContains(t, err, ">    7:     replicas 3 of tiger\n")
}

func TestTheItemOfALine(t *testing.T) {
	const text = "state: {a: 1}\nsubinstallations:\n- kind: x\n  name: first\n  list:\n  - name: no\n-  name: \"second\"\ndeployItems:\n  - a: b\n  - {name: flow}\nstate: {}\n"
	for line, want := range map[int]string{
		1: "", 2: "", 3: `sub-installation "first" (subinstallations[0])`, 6: `sub-installation "first" (subinstallations[0])`,
		7: `sub-installation (subinstallations[1])`, 9: "deploy item (deployItems[0])", 10: "deploy item (deployItems[1])", 11: "",
	} {
		assert.Equal(t, want, elementAt(text, line), line)
	}
}

func TestAFunctionThatIsGoneNamesWhatTookItsPlace(t *testing.T) {
	_, err := render(t, Input{Source: `a: {{ resolve .cd }}`})
	require.ErrorContains(t, err, `resolve is gone; use getResourceContent "cd://resources/…"`)
	_, err = spiff(Input{Source: `a: (( resolve("x") ))`})
	require.ErrorContains(t, err, `resolve is gone; use getResourceContent "cd://resources/…"`)
}

func TestForNamesTheLanguages(t *testing.T) {
	_, err := For("Jinja")
	assert.ErrorContains(t, err, `template type "Jinja" is unknown; use GoTemplate or Spiff`)
}

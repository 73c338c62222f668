// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// bombTime is how long a chart that does not end may keep its item.
const bombTime = 10 * time.Second

const bomb = "templates/bomb.yaml"

// nestedCharts are the files of a chart with dependencies in dependencies, and templates in the last ones.
func nestedCharts(depth, width int, template string) map[string]string {
	files := map[string]string{}
	for i := range width {
		dir := ""
		for level := range depth {
			name := fmt.Sprintf("c%d-%d", level, i)
			dir += "charts/" + name + "/"
			files[dir+"Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
		}
		files[dir+bomb] = template
	}
	return files
}

// hostileChart is a chart with what the message has to say about it.
type hostileChart struct {
	files       map[string]string
	where, cure string
}

// modes are those in which a chart is tried. Both render in the same way, so a few charts are enough for the second one.
func (h hostileChart) modes() []string {
	if len(h.files) == 1 && strings.HasPrefix(h.files[bomb], "{{range until 40}}") || strings.HasPrefix(h.files[bomb], "{{ tpl") {
		return []string{"release", "objects"}
	}
	return []string{"release"}
}

// bombs are charts that do not end, or take more than a process has.
func bombs() map[string]hostileChart {
	type chart = hostileChart
	of := func(template, cure string) chart {
		return chart{map[string]string{bomb: template}, "hello-world/" + bomb, cure}
	}
	const loop = "loop without end" // said of time and of memory: it depends on the machine which of both ends first
	yaml := "a: [" + strings.Repeat("x, ", 200_000) + "x]\n"
	const aliases = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a{{.}}'%s}\n" +
		"a: &a [{{range until 300}}1,{{end}}1]\nb: [{{range until 90}}*a,{{end}}*a]\n"
	return map[string]chart{
		"objects of aliases":  {map[string]string{bomb: "{{range until 12}}" + fmt.Sprintf(aliases, "") + "{{end}}"}, "", "resolve its aliases"},
		"hooks of aliases":    {map[string]string{bomb: "{{range until 12}}" + fmt.Sprintf(aliases, ", annotations: {helm.sh/hook: pre-install}") + "{{end}}"}, "", "resolve its aliases"},
		"loop of ranges":      of(`{{range until 100000}}{{range until 100000}}{{end}}{{end}}`, loop),
		"loop with functions": of(`{{range until 100000}}{{range until 1000}}{{$x := regexReplaceAll "a(.)" "abab" "$1"}}{{end}}{{end}}`, loop),
		"tpl of itself":       {map[string]string{"values.yaml": "x: '{{ tpl .Values.x . }}'\n", bomb: `{{ tpl .Values.x . }}`}, "hello-world/" + bomb, ""},
		"include of itself":   of(`{{define "x"}}{{include "x" .}}{{include "x" .}}{{end}}{{include "x" .}}`, ""),
		"template of itself":  of(`{{define "x"}}{{template "x" .}}{{end}}{{template "x" .}}`, ""),
		"tree of includes":    of(`{{define "x"}}{{if gt . 0}}{{include "x" (sub . 1)}}{{include "x" (sub . 1)}}{{end}}{{end}}{{include "x" 60}}`, loop),
		"until":               of(`{{until 200000000}}`, loop),
		"range of until":      of(`{{range until 2000000000}}{{end}}`, loop),
		"repeat":              of(`{{repeat 2000000000 "x"}}`, loop),
		"nested repeats":      of(`{{$x := repeat 100000 "x"}}{{repeat 100000 $x | len}}`, loop),
		"doubling text":       of(`{{$x := "x"}}{{range until 60}}{{$x = print $x $x}}{{end}}`, loop),
		"doubling list":       of(`{{$x := list 1}}{{range until 60}}{{$x = concat $x $x}}{{end}}`, loop),
		"growing dict":        of(`{{$x := dict}}{{range until 1000}}{{range $i := until 100000}}{{$_ := set $x (uuidv4) $i}}{{end}}{{end}}`, ""),
		"padding":             of(`{{printf "%0999999999d" 1 | len}}{{range until 99}}{{$x := printf "%0999999d" 1}}{{$y := repeat 9999 $x}}{{end}}`, ""),
		"keys":                of(`{{range until 1000}}{{$x := genPrivateKey "rsa"}}{{end}}`, loop),
		"hashes":              of(`{{range until 10000}}{{$x := htpasswd "u" "p"}}{{end}}`, loop),
		"output":              of(`{{range until 40}}{{repeat 1000000 "a: b\n"}}{{end}}`, ""),
		"many documents":      of("{{range until 5000000}}\n---\na: {{.}}\n{{end}}", ""),
		"deep charts":         {nestedCharts(12, 4, `{{range until 100000}}{{range until 100000}}{{end}}{{end}}`), "hello-world/charts/c0-3/charts/c1-3", loop},
		"schema":              {map[string]string{"values.yaml": "x: a\n", "values.schema.json": recursiveSchema}, "", ""},
		"values":              {map[string]string{"values.yaml": yaml, bomb: `{{range until 9999}}{{toJson $.Values | len}}{{end}}`}, "hello-world/" + bomb, loop},
		"decimal":             of(`{{range until 100000}}{{$x := div 1 3 | toString | sha256sum}}{{range until 10000}}{{$y := sha512sum $x}}{{end}}{{end}}`, loop),
	}
}

// recursiveSchema asks for twice as many checks at each level.
const recursiveSchema = `{"$ref": "#/definitions/a", "definitions": {
 "a": {"allOf": [{"$ref": "#/definitions/b"}, {"$ref": "#/definitions/b"}]}, "b": {"allOf": [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/a"}]}}}`

func TestSoakD2AChartWithoutEndFailsItsItemAlone(t *testing.T) {
	d := newFixture(t).deployer()
	for name, tc := range bombs() {
		for _, mode := range tc.modes() {
			t.Run(name+" "+mode, func(t *testing.T) {
				f, other := newFixture(t), newFixture(t)
				other.configure(other.with(map[string]string{"templates/cm.yaml": configMapTemplate}, nil))
				f.configure(config{"chart": raw(archive(t, "1.0.0", tc.files)), "helmDeployment": mode == "release"})
				began := time.Now()
				_, err := f.ensure(d)
				took := time.Since(began)
				require.Error(t, err)
				t.Logf("after %s: %.300s", took, err)
				assert.Less(t, took, pace.Within(bombTime))
				assert.ErrorContains(t, err, tc.where)
				assert.ErrorContains(t, err, tc.cure)
				assert.True(t, protocol.IsUnrecoverable(err) || isTemplateError(err), "nothing but another chart helps")
				assert.Less(t, len(err.Error()), 8<<10)
				began = time.Now()
				other.succeed(d)
				assert.Less(t, time.Since(began), pace.Within(bombTime/2), "others go on")
			})
		}
	}
}

// isTemplateError reports whether the engine itself has seen that there is no end.
func isTemplateError(err error) bool {
	return strings.Contains(err.Error(), bomb) || len(protocol.CodesOf(err)) > 0 && protocol.CodesOf(err)[0] == v1alpha1.ErrorConfigurationProblem
}

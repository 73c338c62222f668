// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

func renderer(t testing.TB, limits confined.Limits) *rendering.Renderer {
	r := rendering.New(limits)
	return r
}

// bombLimits end a bomb soon, so that the tests do.
var bombLimits = confined.Limits{Time: 1500 * time.Millisecond, Memory: 128 << 20}

func goBombs() map[string]string {
	return map[string]string{
		"huge number":         `{{ range 9999999999 }}{{ end }}`,
		"nested loops":        `{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}`,
		"until":               `{{ range until 2000000000 }}{{ end }}`,
		"until below zero":    `{{ range until -2000000000 }}{{ end }}`,
		"untilStep":           `{{ range untilStep 0 9223372036854775807 1 }}{{ end }}`,
		"seq":                 `{{ seq 1 1 2000000000 }}`,
		"repeat":              `{{ repeat 2000000000 "x" }}`,
		"repeated repeat":     `{{ $x := repeat 1000000 "x" }}{{ range until 1000 }}{{ $x = repeat 10 $x }}{{ end }}`,
		"random":              `{{ randAlphaNum 2000000000 }}`,
		"random bytes":        `{{ randBytes 2000000000 }}`,
		"indent":              `{{ indent 2000000000 "x" }}`,
		"nindent":             `{{ nindent 100000 (repeat 100000 "x\n") }}`,
		"printf width":        `{{ range until 1000 }}{{ $_ := printf "%1000000d%1000000d%1000000d%1000000d" 1 2 3 4 }}{{ end }}`,
		"printf star":         `{{ printf "%*d%*d%*d%*d%*d%*d%*d%*d" 1000000 1 1000000 1 1000000 1 1000000 1 1000000 1 1000000 1 1000000 1 1000000 1 }}`,
		"printf over list":    `{{ printf "%1000000d" (until 100000) }}`,
		"join":                `{{ join (repeat 1000000 "x") (until 100000) }}`,
		"replace":             `{{ replace "x" (repeat 1000000 "y") (repeat 1000000 "x") }}`,
		"regexReplaceAll":     `{{ regexReplaceAll "x" (repeat 1000000 "x") (repeat 1000000 "y") }}`,
		"regex groups":        `{{ regexReplaceAll "(x*)" (repeat 1000000 "x") (repeat 1000 "$1") }}`,
		"big regex":           `{{ regexMatch (repeat 1000000 "(x*)") (repeat 1000000 "x") }}`,
		"wrapWith":            `{{ wrapWith 1 (repeat 1000000 "y") (repeat 1000000 "x ") }}`,
		"cat":                 `{{ $x := "x" }}{{ range until 100 }}{{ $x = cat $x $x }}{{ end }}`,
		"output":              `{{ range until 100000 }}{{ repeat 1000 "x" }}{{ end }}`,
		"shared lists":        `{{ $x := list 1 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`,
		"shared lists toYaml": `{{ $x := list 1 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}`,
		"shared dicts equal":  `{{ $x := dict }}{{ range until 60 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ deepEqual $x $x }}`,
		"late growth":         `{{ $s := dict }}{{ $x := list $s $s }}{{ range until 18 }}{{ $x = list $x $x }}{{ end }}{{ $_ := set $s "a" (repeat 1000000 "x") }}{{ $x | toJson }}`,
		"cycle":               `{{ $x := dict }}{{ $_ := set $x "self" $x }}{{ $x }}`,
		"cycle deepCopy":      `{{ $x := dict }}{{ $_ := set $x "self" $x }}{{ $_ := deepCopy $x }}`,
		"cycle html":          `{{ $x := dict }}{{ $_ := set $x "self" $x }}{{ html $x }}`,
		"cycle in input":      `{{ $_ := set .imports "self" .imports }}{{ .imports }}`,
		"recursion":           `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
		"wide recursion":      `{{ define "x" }}{{ if lt . 40 }}{{ template "x" (add . 1) }}{{ template "x" (add . 1) }}{{ end }}{{ end }}{{ template "x" 0 }}`,
		"aliased text":        "a: &a " + strings.Repeat("x", 500<<10) + "\nb: [" + strings.Repeat("*a, ", 50_000) + "x]",
		"fromYaml":            `{{ $x := printf "a: &a [%s]\nb: [%s]" (repeat 1000 "x, ") (repeat 1000 "*a, ") | fromYaml }}`,
		"include itself":      `{{ include "self.tpl" . }}`,
		"uniq":                `{{ uniq (until 1000000) }}`,
		"many lists":          `{{ $x := list }}{{ range until 1000000 }}{{ $x = append $x (until 1000) }}{{ end }}`,
		"open blocks":         strings.Repeat(`{{if 1}}`, 100000),
		"parentheses":         `{{` + strings.Repeat("(", 500000),
		"large template":      strings.Repeat("x", 1<<20+1),
	}
}

func spiffBombs() map[string]string {
	doubling := "a0: xxxxxxxxxxxxxxxx\n"
	for i := 1; i < 60; i++ {
		doubling += fmt.Sprintf("a%d: (( a%d a%d ))\n", i, i-1, i-1)
	}
	lists := "a0: [x, x]\n"
	for i := 1; i < 60; i++ {
		lists += fmt.Sprintf("a%d: (( [a%d, a%d] ))\n", i, i-1, i-1)
	}
	aliases := "a0: &a0 [x, x]\n"
	for i := 1; i < 40; i++ {
		aliases += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return map[string]string{
		"recursion":      "f: (( |x|->.f(x + 1) ))\na: (( .f(1) ))",
		"wide recursion": "f: (( |x|->x > 0 ? .f(x - 1) .f(x - 1) :\"a\" ))\na: (( .f(40) ))",
		"self recursion": "a: (( (|x|->_(x))(1) ))",
		"range":          "a: (( [1..10000000000] ))",
		"nested maps":    "a: (( sum[[1..900000]|0|s,x|->s + sum[[1..900000]|0|t,y|->t + y]] ))",
		"doubling":       doubling,
		"doubling lists": lists,
		"aliases":        aliases,
		"aliased text":   "a: &a " + strings.Repeat("x", 500<<10) + "\nb: [" + strings.Repeat("*a, ", 50_000) + "x]",
		"other document": "a: 1\n---\n" + aliases,
		"brackets":       "a: (( " + strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50) + " ))",
		"open lists":     "a: " + strings.Repeat("[", 100000),
		"open maps":      "a: " + strings.Repeat("{a: ", 100000),
		"deep":           strings.Repeat("- ", 1000) + "x",
		"random":         `a: (( rand("[:alnum:]", 2000000000) ))`,
		"bcrypt":         `a: (( bcrypt("x", 31) ))`,
		"endless sync":   `a: (( sync(1, false, 1) ))`,
		"large template": strings.Repeat("#", 1<<20+1),
		"joined":         `a: (( join(",", [1..900000]) join(",", [1..900000]) join(",", [1..900000]) ))`,
		"circle":         "a: (( b ))\nb: (( c ))\nc: (( a ))",
		"large output":   "l: (( &temporary([1..900000]) ))\na: (( l ))\nb: (( l ))\nc: (( l ))",
	}
}

// schemaBombs are schemas with the values that set them off.
func schemaBombs() map[string][2]string {
	definitions := map[string]any{"d0": map[string]any{"type": "integer"}}
	for i := 1; i < 40; i++ {
		ref := map[string]any{"$ref": fmt.Sprintf("#/definitions/d%d", i-1)}
		definitions[fmt.Sprintf("d%d", i)] = map[string]any{"anyOf": []any{ref, map[string]any{"allOf": []any{ref}}}}
	}
	flat, _ := json.Marshal(map[string]any{"definitions": definitions, "$ref": "#/definitions/d39"})
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	lists := strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40)
	out := map[string][2]string{
		"in place":   {string(flat), `"x"`},
		"into lists": {`{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, lists},
		"pattern":    {`{"pattern":"` + strings.Repeat("(x{1,10}){1,10}", 10000) + `"}`, `"` + strings.Repeat("x", 1000000) + `"`},
		"unique":     {`{"uniqueItems":true}`, "[" + strings.Repeat(`{"a":[1,2,3]},`, 30000) + "0]"},
		"nested":     {strings.Repeat(`{"not":`, 9000) + "true" + strings.Repeat("}", 9000), "1"},
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		for _, below := range []string{"properties", "patternProperties"} {
			name := map[string]string{"properties": "a", "patternProperties": "^a"}[below]
			half := fmt.Sprintf(`{"type":"object","%s":{"%s":{"$ref":"#"}}}`, below, name)
			out[word+" "+below] = [2]string{fmt.Sprintf(`{"%s":[%s,%s,{"type":"string"}]}`, word, half, half), deep}
		}
		half := `{"type":"object","additionalProperties":{"$ref":"#"}}`
		out[word+" additionalProperties"] = [2]string{fmt.Sprintf(`{"%s":[%s,%s]}`, word, half, half), deep}
		out[word+" contains"] = [2]string{fmt.Sprintf(`{"%s":[{"type":"array","contains":{"$ref":"#"}},{"type":"array","contains":{"$ref":"#"}}]}`, word), lists}
		out[word+" items"] = [2]string{fmt.Sprintf(`{"%s":[{"type":"array","items":[{"$ref":"#"}]},{"type":"array","items":[{"$ref":"#"}]}]}`, word), lists}
	}
	return out
}

// environment is that of a blueprint with one template.
func environment(owner, language, source string) *render.Environment {
	text, _ := json.Marshal(source)
	return &render.Environment{
		Namespace: owner,
		Files:     fstest.MapFS{"self.tpl": {Data: []byte(`{{ include "self.tpl" . }}`)}},
		Blueprint: &model.Blueprint{DeployExecutions: []model.TemplateExecutor{{Name: "bomb", Type: language, Template: v1alpha1.NewAnyJSON(text)}}},
	}
}

func values() *render.Values {
	return &render.Values{Imports: render.Imports{Data: map[string]any{"name": "app"}}}
}

// survives checks that a bomb fails with a message of its own, in time.
func survives(t *testing.T, words string, run func() error) {
	t.Helper()
	before := time.Now()
	err := run()
	require.Error(t, err)
	assert.Less(t, time.Since(before), pace.Within(bombLimits.Time+time.Second))
	assert.Less(t, len(err.Error()), 20000)
	assert.ErrorContains(t, err, words)
	if ended, ok := errors.AsType[*confined.Ended](err); ok {
		assert.NotEqual(t, confined.Died, ended.Reason)
		assert.Contains(t, err.Error(), "; ", "the cure is in the message")
	}
}

func TestSoakBombsInGoTemplates(t *testing.T) {
	r := renderer(t, bombLimits)
	for name, source := range goBombs() {
		t.Run(name, func(t *testing.T) {
			survives(t, "deployExecutions[0] (bomb)", func() error {
				_, err := r.Plan(t.Context(), environment("hostile", templating.KindGoTemplate, source), values(), nil)
				return err
			})
		})
	}
}

func TestSoakBombsInSpiff(t *testing.T) {
	r := renderer(t, bombLimits)
	for name, source := range spiffBombs() {
		t.Run(name, func(t *testing.T) {
			survives(t, "deployExecutions[0] (bomb)", func() error {
				_, err := r.Plan(t.Context(), environment("hostile", templating.KindSpiff, source), values(), nil)
				return err
			})
		})
	}
}

func TestSoakBombsInSchemas(t *testing.T) {
	r := renderer(t, bombLimits)
	for name, bomb := range schemaBombs() {
		t.Run(name, func(t *testing.T) {
			raw := v1alpha1.NewAnyJSON([]byte(bomb[0]))
			env := &render.Environment{Namespace: "hostile", Schemas: schema.New(schema.Options{}), Blueprint: &model.Blueprint{
				Imports: []model.ImportDefinition{{Name: "data", Type: model.TypeData, Schema: &raw}},
			}}
			var value any
			require.NoError(t, json.Unmarshal([]byte(bomb[1]), &value))
			survives(t, `import "data"`, func() error {
				_, err := r.Satisfy(t.Context(), env, &render.Imports{Data: map[string]any{"data": value}}, nil)
				return err
			})
		})
	}
}

// TestABombHasLittleTimeAsInstalled lets a bomb go off within the limits that hold where no flag says others.
func TestABombHasLittleTimeAsInstalled(t *testing.T) {
	before := time.Now()
	_, err := renderer(t, confined.Limits{}).Plan(t.Context(), environment("hostile", templating.KindGoTemplate, `{{ range 9999999999 }}{{ end }}`), values(), nil)
	require.ErrorContains(t, err, "look for a loop without end")
	assert.Less(t, time.Since(before), pace.Within(10*time.Second))
}

func TestThereAreTwentyBombsOfEachKind(t *testing.T) {
	assert.GreaterOrEqual(t, len(goBombs()), 20)
	assert.GreaterOrEqual(t, len(spiffBombs()), 20)
	assert.GreaterOrEqual(t, len(schemaBombs()), 20)
}

func TestBombsInMappings(t *testing.T) {
	env := &render.Environment{Namespace: "hostile", Blueprint: &model.Blueprint{}}
	mappings := map[string]v1alpha1.AnyJSON{"bad": v1alpha1.NewAnyJSON([]byte(`"(( [1..10000000000] ))"`))}
	survives(t, "importDataMappings.bad", func() error {
		_, err := renderer(t, bombLimits).Satisfy(t.Context(), env, &render.Imports{}, mappings)
		return err
	})
}

func TestOthersAreUnaffectedByBombs(t *testing.T) {
	r := renderer(t, confined.Limits{Time: 3 * time.Second})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for range 3 {
			_, _ = r.Plan(t.Context(), environment("hostile", templating.KindGoTemplate, `{{ range 9999999999 }}{{ end }}`), values(), nil)
		}
	}()
	source := "deployItems:\n- {name: x, type: example.com/x, config: {name: {{ .imports.name }}}}"
	for i := range 50 {
		before := time.Now()
		plan, err := r.Plan(t.Context(), environment(fmt.Sprintf("other-%d", i), templating.KindGoTemplate, source), values(), nil)
		require.NoError(t, err)
		require.Len(t, plan.DeployItems, 1)
		assert.Less(t, time.Since(before), pace.Within(2*time.Second))
	}
	<-stopped
}

// TestSoakExecutionsOfAJobShareOneDeadline gives a job many executions, each of which ends within the time by itself.
func TestSoakExecutionsOfAJobShareOneDeadline(t *testing.T) {
	const count = 200
	slow := v1alpha1.NewAnyJSON([]byte(`"{{ range until 4 }}{{ $_ := htpasswd \"user\" \"password\" }}{{ end }}"`)) // some tenths of a second
	executions := make([]model.TemplateExecutor, count)
	for i := range executions {
		executions[i] = model.TemplateExecutor{Name: fmt.Sprint("slow-", i), Type: templating.KindGoTemplate, Template: slow}
	}
	few := executions[:1]
	r := renderer(t, confined.Limits{Time: 3 * time.Second})
	for name, blueprint := range map[string]*model.Blueprint{
		"deployExecutions":          {DeployExecutions: executions},
		"subinstallationExecutions": {DeployExecutions: few, SubinstallationExecutions: executions},
	} {
		t.Run(name, func(t *testing.T) {
			before := time.Now()
			_, err := r.Plan(t.Context(), &render.Environment{Namespace: "hostile", Blueprint: blueprint}, values(), nil)
			var ended *confined.Ended
			require.ErrorAs(t, err, &ended)
			assert.Equal(t, confined.OutOfTime, ended.Reason)
			assert.Less(t, time.Since(before), pace.Within(5*time.Second))
			assert.Contains(t, ended.Step, name, "the message names the execution at which it ended")
			assert.NotContains(t, ended.Step, name+"[0]", "others had their turn")
		})
	}
}

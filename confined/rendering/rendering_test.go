// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// wholeBlueprint uses everything that a child can do.
const wholeBlueprint = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
localTypes:
  port: {type: integer, minimum: 1}
imports:
- {name: port, required: false, default: {value: 80}, schema: {$ref: "local://port"}}
- {name: settings, required: false, schema: {type: object, additionalProperties: {type: [string, number, "null"]}}, imports: [{name: extra, schema: {}}]}
- {name: anything, required: false, schema: {}}
- {name: cluster, targetType: landscaper.gardener.cloud/kubernetes-cluster, required: false}
importExecutions:
- {name: derive, type: GoTemplate, template: "bindings: {derived: {{ toJson .imports.anything }}}"}
deployExecutions:
- name: deploy
  type: GoTemplate
  template: |
    deployItems:
    - name: item
      type: example.com/x
      config: {{ toJson .imports }}
    state: {count: {{ add 1 (.state.count | default 0) }}}
- name: spiff
  type: Spiff
  template: {deployItems: [{name: other, type: example.com/x, config: {all: (( imports ))}}]}
- {name: file, type: GoTemplate, file: /items.yaml}
exports:
- {name: answer, schema: {type: integer}}
exportExecutions:
- {name: export, type: GoTemplate, template: "exports: {answer: {{ .values.deployitems.item.answer }}}"}
`

func whole(t testing.TB) *render.Environment {
	files := fstest.MapFS{
		model.FileName: {Data: []byte(wholeBlueprint)}, "items.yaml": {Data: []byte(`deployItems: [{name: third, type: example.com/x, config: {text: {{ include "dir/part" . }}, names: {{ range readDir "dir" }}{{ .Name }}{{ end }}}}]`)},
		"dir/part": {Data: []byte("text")},
	}
	blueprint, err := model.Load(files)
	require.NoError(t, err)
	return &render.Environment{
		Blueprint: blueprint, Files: files, Namespace: "ns", Schemas: schema.New(schema.Options{LocalTypes: blueprint.LocalTypes, Blueprint: files}),
	}
}

func TestRendersAsInTheOwnProcess(t *testing.T) {
	r, env := renderer(t, confined.Limits{}), whole(t)
	given := func() *render.Imports {
		return &render.Imports{Data: map[string]any{"anything": map[string]any{"<a>": "((x))", "n": int64(1e6)}}, Targets: map[string]render.Target{
			"cluster": {Name: "original", Object: map[string]any{"spec": map[string]any{"type": "landscaper.gardener.cloud/kubernetes-cluster"}}},
		}}
	}
	mappings := map[string]v1alpha1.AnyJSON{"port": v1alpha1.NewAnyJSON([]byte(`"(( anything.n / 10 ))"`))}
	wanted, err := render.Satisfy(t.Context(), env, given(), mappings)
	require.NoError(t, err)
	require.NoError(t, render.ImportExecutions(t.Context(), env, wanted))
	got, err := r.Satisfy(t.Context(), env, given(), mappings)
	require.NoError(t, err)
	assert.Equal(t, wanted, got)

	previous := render.State{"deploy": []byte(`{"count":2}`)}
	items, stored, err := render.DeployItems(t.Context(), env, wanted, previous)
	require.NoError(t, err)
	plan, err := r.Plan(t.Context(), env, got, previous)
	require.NoError(t, err)
	assert.Equal(t, items, plan.DeployItems)
	assert.Equal(t, stored, plan.Stored)
	assert.JSONEq(t, `{"count":3}`, string(plan.Stored["deploy"]))

	inputs := render.ExportInputs{DeployItems: map[string]any{"item": map[string]any{"answer": int64(42)}}}
	exports, _, err := render.Exports(t.Context(), env, wanted, inputs, nil)
	require.NoError(t, err)
	exported, _, err := r.Exports(t.Context(), env, got, inputs, nil)
	require.NoError(t, err)
	assert.Equal(t, exports, exported)
}

func TestErrorsAreThoseOfTheOwnProcess(t *testing.T) {
	r, env := renderer(t, confined.Limits{}), whole(t)
	for name, data := range map[string]map[string]any{
		"schema":  {"port": "zero"},
		"missing": {"settings": map[string]any{"a": "b"}},
		"chain":   {"port": int64(1), "anything": "{{"},
	} {
		t.Run(name, func(t *testing.T) {
			_, wanted := render.Satisfy(t.Context(), env, &render.Imports{Data: data}, nil)
			_, err := r.Satisfy(t.Context(), env, &render.Imports{Data: data}, nil)
			if wanted == nil {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, wanted.Error())
			var problem, same *render.Error
			require.ErrorAs(t, wanted, &problem)
			require.ErrorAs(t, err, &same)
			assert.Equal(t, []string{problem.Reason, problem.Name}, []string{same.Reason, same.Name})
		})
	}
	env.Blueprint.DeployExecutions = []model.TemplateExecutor{{Name: "x", Type: templating.KindGoTemplate, Template: v1alpha1.NewAnyJSON([]byte(
		`"deployItems: [{name: a, type: t, dependsOn: [b]}, {name: b, type: t, dependsOn: [a]}]"`))}}
	_, err := r.Plan(t.Context(), env, values(), nil)
	var cycle *render.CycleError
	require.ErrorAs(t, err, &cycle)
	assert.Len(t, cycle.Names, 3)
}

// capabilities answer with what they were asked.
type capabilities struct{}

func (capabilities) ResourceContent(_ context.Context, key templating.ResourceKey) (templating.Content, error) {
	return templating.Content{Data: []byte("content of " + key.Identity["name"]), MediaType: "text/plain"}, nil
}

func (capabilities) Kubeconfig(_ context.Context, r templating.KubeconfigRequest) (templating.Kubeconfig, error) {
	if r.Kind == templating.ShootAdmin {
		return templating.Kubeconfig{}, errors.New("the garden refuses")
	}
	return templating.Kubeconfig{Content: []byte(r.Name + strconv.FormatInt(r.Seconds, 10))}, nil
}

func TestCapabilitiesAreTheParents(t *testing.T) {
	r := renderer(t, confined.Limits{})
	source := "deployItems: [{name: x, type: t, config: {content: {{ getResourceContent `cd://resources/image` }}, account: {{ getServiceAccountKubeconfig `a` `b` 60 .imports.name }}}}]"
	env := environment("ns", templating.KindGoTemplate, source)
	env.ComponentDescriptor = map[string]any{"component": map[string]any{"name": "c", "version": "1", "resources": []any{map[string]any{"name": "image"}}}}
	_, err := r.Plan(t.Context(), env, values(), nil)
	require.ErrorContains(t, err, "not available here")
	env.Resources, env.Clusters = capabilities{}, capabilities{}
	plan, err := r.Plan(t.Context(), env, values(), nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"content":"content of image","account":"`+base64.StdEncoding.EncodeToString([]byte("a60"))+`"}`, string(plan.DeployItems[0].Configuration.Raw))
	_, err = r.Plan(t.Context(), refusedShoot(env), values(), nil)
	require.ErrorContains(t, err, "the garden refuses")
}

func refusedShoot(env *render.Environment) *render.Environment {
	other := environment("ns", templating.KindSpiff, `deployItems: (( getShootAdminKubeconfig("a", "b", 60, imports.name) ))`)
	other.Clusters = env.Clusters
	return other
}

func TestSecretsAreMaskedInEveryForm(t *testing.T) {
	const secret = "p@ss/w\"ord ü'1"
	r := renderer(t, confined.Limits{})
	given := &render.Values{Imports: render.Imports{Data: map[string]any{"secret": secret, "number": int64(987654321), "short": "abcd"}}}
	forms := map[string]string{
		"plain": "fail .imports.secret", "quoted": "fail (quote .imports.secret)", "JSON": "fail (toJson .imports.secret)",
		"base64": "fail (b64enc .imports.secret)", "URL": "fail (urlquery .imports.secret)", "number": "fail (printf `%.0f` .imports.number)",
		"short": "fail (quote .imports.short)", "YAML": "fail (squote .imports.secret)", "hex": "fail (printf `%x` .imports.secret)",
		"upper hex": "fail (printf `%X` .imports.secret)", "base64 of a login": "fail (b64enc (printf `user:%s` .imports.secret))",
		"number in base64": "fail (b64enc (printf `%.0f` .imports.number))",
	}
	shown := []string{secret, strconv.Quote(secret), base64.StdEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret), "987654321", "abcd", "w\\\"ord", "70407373", "2F7722",
		base64.StdEncoding.EncodeToString([]byte("user:" + secret))[8:20], "OTg3NjU0MzIx"}
	for name, call := range forms {
		t.Run(name, func(t *testing.T) {
			_, err := r.Plan(t.Context(), environment("ns", templating.KindGoTemplate, "a: {{ "+call+" }}"), given, nil)
			require.ErrorContains(t, err, "[masked]")
			for _, form := range shown {
				assert.NotContains(t, err.Error(), form)
			}
		})
	}
}

func TestMaskingOfLargeInputsIsBounded(t *testing.T) {
	var lines strings.Builder
	for i := range 60000 {
		lines.WriteString("line" + strconv.Itoa(i) + "\n")
	}
	given := &render.Values{Imports: render.Imports{Data: map[string]any{"large": lines.String()}}}
	before := time.Now()
	_, err := renderer(t, confined.Limits{}).Plan(t.Context(), environment("ns", templating.KindGoTemplate, "a: {{ fail .imports.large }}"), given, nil)
	require.Error(t, err)
	assert.Less(t, time.Since(before), pace.Within(time.Second))
	assert.NotContains(t, err.Error(), "line777")
}

func TestFilesAreThoseOfTheBlueprint(t *testing.T) {
	env := environment("ns", templating.KindGoTemplate, `a: {{ readFile "missing.txt" }}`)
	_, err := renderer(t, confined.Limits{}).Plan(t.Context(), env, values(), nil)
	require.ErrorContains(t, err, "its directory has: self.tpl")
	env.Files = broken{}
	_, err = renderer(t, confined.Limits{}).Plan(t.Context(), env, values(), nil)
	require.ErrorContains(t, err, "the disk is gone")
	assert.NotContains(t, err.Error(), "/machine")
}

// broken is a disk.
type broken struct{}

func (broken) Open(string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: "/machine/x", Err: errors.New("the disk is gone")}
}

func TestCanceledContextEndsTheJob(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := renderer(t, confined.Limits{}).Plan(ctx, environment("ns", templating.KindGoTemplate, `{{ range 9999999999 }}{{ end }}`), values(), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// fuzzLimits end what fuzzing makes up.
var fuzzLimits = confined.Limits{Time: 5 * time.Second, Memory: 128 << 20}

// fine fails when a child died of something that is not the fault of its job.
func fine(t *testing.T, err error) {
	var ended *confined.Ended
	if errors.Is(err, confined.ErrNotStarted) || errors.As(err, &ended) && ended.Reason == confined.Died {
		t.Fatal(err)
	}
}

func FuzzGoTemplate(f *testing.F) {
	for _, seed := range []string{
		`a: {{ .imports.name }}`, `{{ range until 3 }}{{ . }}{{ end }}`, `{{ include "self.tpl" . }}`, `{{ printf "%5d" 1 }}`,
		`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, `{{ toYaml .cd }}`, `{{ $x := dict }}{{ $_ := set $x "a" $x }}{{ $x }}`,
		"{{ getResourceKey `cd://resources/image` }}",
	} {
		f.Add(seed)
	}
	r := renderer(f, fuzzLimits)
	f.Fuzz(func(t *testing.T, source string) {
		_, err := r.Plan(t.Context(), environment("ns", templating.KindGoTemplate, source), values(), nil)
		fine(t, err)
	})
}

func FuzzSpiff(f *testing.F) {
	for _, seed := range []string{`a: (( imports.name ))`, `a: (( [1..3] ))`, "f: (( |x|->x ))\na: (( .f(1) ))", `a: (( read("self.tpl") ))`,
		"t:\n  <<: (( &template ))\n  x: 1\na: (( *t ))", `a: (( &state(rand()) ))`, `a: (( env("HOME") ))`, `a: ((! x ))`} {
		f.Add(seed)
	}
	r := renderer(f, fuzzLimits)
	f.Fuzz(func(t *testing.T, source string) {
		_, err := r.Plan(t.Context(), environment("ns", templating.KindSpiff, source), values(), nil)
		fine(t, err)
	})
}

func FuzzMapping(f *testing.F) {
	for _, seed := range []string{`a: (( name ))`, `a: {b: (( [1..3] ))}`, `a: (( missing || 1 ))`} {
		f.Add([]byte(seed))
	}
	r := renderer(f, fuzzLimits)
	f.Fuzz(func(t *testing.T, source []byte) {
		var mappings map[string]v1alpha1.AnyJSON
		if yaml.Unmarshal(source, &mappings) != nil {
			return
		}
		_, err := r.Satisfy(t.Context(), &render.Environment{Namespace: "ns", Blueprint: &model.Blueprint{}}, &render.Imports{Data: map[string]any{"name": "app"}}, mappings)
		fine(t, err)
	})
}

// TestReadsOfSchemasHaveADeadline has a registry that does not answer.
func TestReadsOfSchemasHaveADeadline(t *testing.T) {
	r := renderer(t, confined.Limits{Answer: 200 * time.Millisecond})
	options := schema.Options{Resource: func(ctx context.Context, _ string) ([]byte, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Minute):
			return []byte(`{}`), nil
		}
	}}
	err := r.Validate(t.Context(), options, []byte(`{"$ref":"cd://resources/a"}`), "x")
	require.ErrorContains(t, err, "there was no answer within 200ms")
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"string"}`), []byte(`"x"`))
	f.Add([]byte(`{"$ref":"local://pair#/definitions/word"}`), []byte(`1`))
	f.Add([]byte(`{"$ref":"cd://componentReferences/a/resources/s"}`), []byte(`true`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}}}`), []byte(`{"a":{"a":1}}`))
	r := renderer(f, fuzzLimits)
	pair := v1alpha1.NewAnyJSON([]byte(`{"definitions":{"word":{"type":"string"}}}`))
	options := schema.Options{LocalTypes: map[string]v1alpha1.AnyJSON{"pair": pair}, Resource: func(context.Context, string) ([]byte, error) { return []byte(`{}`), nil }}
	f.Fuzz(func(t *testing.T, raw, data []byte) {
		var parsed any
		if yaml.Unmarshal(data, &parsed) != nil {
			return
		}
		err := r.Validate(t.Context(), options, raw, parsed)
		fine(t, err)
		if err != nil && strings.Contains(err.Error(), "panicked") {
			t.Fatal(err)
		}
	})
}

func FuzzImportValues(f *testing.F) {
	for _, seed := range []string{`port: 8080`, `port: zero`, `settings: {a: b}`, "settings: {a: 1}\nextra: [1, {b: null}]", `anything: (( 1 + 1 ))`,
		`anything: "{{ . }}"`, `anything: <no value>`, `cluster: {spec: {type: x}}`, `anything: {"<<": (( merge )), "((a))": "! b"}`, `anything: 1e400`} {
		f.Add(seed, `port: (( port ))`)
		f.Add(seed, `anything: {a: (( anything.b || "none" ))}`)
	}
	r, env := renderer(f, fuzzLimits), whole(f)
	f.Fuzz(func(t *testing.T, imported, mapped string) {
		var data map[string]any
		var mappings map[string]v1alpha1.AnyJSON
		if yaml.Unmarshal([]byte(imported), &data) != nil || yaml.Unmarshal([]byte(mapped), &mappings) != nil {
			return
		}
		rendered, err := r.Satisfy(t.Context(), env, &render.Imports{Data: data}, mappings)
		fine(t, err)
		if err != nil {
			return
		}
		plan, err := r.Plan(t.Context(), env, rendered, nil)
		fine(t, err)
		if err == nil {
			require.Len(t, plan.DeployItems, 3)
		}
	})
}

// TestARenderInAChildCostsAMillisecondAtMost has a template rendered in turn in the own process and in a child. What asks the parent for files and the like
// takes the time of that beside it, and is only told.
func TestARenderInAChildCostsAMillisecondAtMost(t *testing.T) {
	if !pace.IsExact() {
		t.Skip("a millisecond says nothing on a busy machine; make bench measures it")
	}
	one := environment("ns", templating.KindGoTemplate, "deployItems:\n- {name: x, type: example.com/x, config: {name: {{ .imports.name }}}}")
	child, own := inTurn(t, one, values())
	assert.LessOrEqual(t, child-own, time.Millisecond)
	all := whole(t)
	given, err := render.Satisfy(t.Context(), all, &render.Imports{Data: map[string]any{"anything": "x"}}, nil)
	require.NoError(t, err)
	inTurn(t, all, given)
}

// inTurn returns the medians of how long a plan takes in a child and in the own process.
func inTurn(t *testing.T, env *render.Environment, given *render.Values) (time.Duration, time.Duration) {
	t.Helper()
	r := renderer(t, confined.Limits{})
	_, err := r.Plan(t.Context(), env, given, nil)
	require.NoError(t, err)
	const rounds = 400
	child, own := make([]time.Duration, rounds), make([]time.Duration, rounds)
	for i := range rounds {
		began := time.Now()
		_, err := r.Plan(t.Context(), env, given, nil)
		child[i] = time.Since(began)
		require.NoError(t, err)
		began = time.Now()
		_, _, err = render.DeployItems(t.Context(), env, given, nil)
		require.NoError(t, err)
		_, _, err = render.Subinstallations(t.Context(), env, given, nil)
		own[i] = time.Since(began)
		require.NoError(t, err)
	}
	slices.Sort(child)
	slices.Sort(own)
	t.Logf("%d executions: %s in a child, %s in the own process", len(env.Blueprint.DeployExecutions), child[rounds/2], own[rounds/2])
	return child[rounds/2], own[rounds/2]
}

func BenchmarkRender(b *testing.B) {
	env, given := whole(b), &render.Imports{Data: map[string]any{"anything": "x"}}
	b.Run("child", func(b *testing.B) {
		r := rendering.New(confined.Limits{})
		_, err := r.Satisfy(b.Context(), env, given, nil)
		require.NoError(b, err)
		for b.Loop() {
			rendered, _ := r.Satisfy(b.Context(), env, given, nil)
			_, _ = r.Plan(b.Context(), env, rendered, nil)
		}
	})
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			rendered, _ := render.Satisfy(b.Context(), env, given, nil)
			_ = render.ImportExecutions(b.Context(), env, rendered)
			_, _, _ = render.DeployItems(b.Context(), env, rendered, nil)
			_, _, _ = render.Subinstallations(b.Context(), env, rendered, nil)
		}
	})
}

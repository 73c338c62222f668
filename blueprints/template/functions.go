// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	gotemplate "text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// outsideWorld are functions of Sprig that look outside the blueprint.
var outsideWorld = []string{"env", "expandenv", "getHostByName"}

// cheapFunctions neither walk into nested values nor print them, so that their arguments need no measuring.
var cheapFunctions = set(`get set unset hasKey default empty coalesce ternary all any compact mustCompact typeOf typeIs typeIsLike
	kindOf kindIs first mustFirst last mustLast rest mustRest initial mustInitial reverse mustReverse slice mustSlice list tuple dict
	append mustAppend push mustPush prepend mustPrepend concat chunk mustChunk keys values pick omit pluck dig until untilStep
	include readFile readDir getResource getResources getComponent getRepositoryContext now hello fail
	add add1 sub div mod mul add1f addf subf divf mulf biggest max min maxf minf ceil floor round int int64 float64 atoi randInt`)

// deepResults return values that are new in all their depth.
var deepResults = set("fromYaml fromJson mustFromJson deepCopy mustDeepCopy merge mustMerge mergeOverwrite mustMergeOverwrite")

func set(names string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(names) {
		out[name] = true
	}
	return out
}

// libraryFunctions are the functions that need nothing from the execution. print and its kin replace the built-in ones, so that
// they are measured as well.
var libraryFunctions = sync.OnceValue(func() gotemplate.FuncMap {
	out := sprig.TxtFuncMap()
	for _, name := range outsideWorld {
		delete(out, name)
	}
	for name, f := range map[string]any{
		"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
		"html": gotemplate.HTMLEscaper, "js": gotemplate.JSEscaper, "urlquery": gotemplate.URLQueryEscaper,
		"toYaml": toYAML, "fromYaml": fromYAML,
		"parseOCIRef": parseOCIRef, "ociRefRepo": ociRefRepo, "ociRefVersion": ociRefVersion,
	} {
		out[name] = f
	}
	return out
})

func toYAML(v any) string {
	out, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(out), "\n")
}

func fromYAML(text string) (any, error) {
	var out any
	if err := foreign.Unmarshal([]byte(text), &out); err != nil {
		return nil, unreadable("the text", err)
	}
	return out, nil
}

// metered returns functions that count against the meter.
func (m *meter) metered(functions gotemplate.FuncMap) gotemplate.FuncMap {
	out := make(gotemplate.FuncMap, len(functions))
	for name, f := range functions {
		out[name] = m.meteredFunction(name, reflect.ValueOf(f))
	}
	return out
}

// meteredFunction wraps one function. It reports by panic because not every function has an error result; text/template turns the
// panic into the error of the call.
func (m *meter) meteredFunction(name string, f reflect.Value) any {
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		m.must(m.tick())
		m.must(m.admit(name, args))
		results := call(args)
		m.must(m.account(name, results[0]))
		return results
	}).Interface()
}

func (m *meter) must(err error) {
	if err != nil {
		panic(err)
	}
}

// admit checks the arguments of a call before it happens.
func (m *meter) admit(name string, args []reflect.Value) error {
	var bytes int64
	if !cheapFunctions[name] {
		size, err := m.measureAll(args)
		if err != nil {
			return err
		}
		bytes = size
	}
	if cost, ok := costs[name]; ok {
		return m.afford(cost(bytes, args))
	}
	return nil
}

func (m *meter) measureAll(args []reflect.Value) (int64, error) {
	var sum int64
	for _, arg := range args {
		if !arg.CanInterface() {
			continue
		}
		size, err := m.measure(arg.Interface())
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}

// account counts the result of a call.
func (m *meter) account(name string, result reflect.Value) error {
	if !deepResults[name] || !result.CanInterface() {
		return m.spend(shallow(result))
	}
	size, err := m.measure(result.Interface())
	if err != nil {
		return err
	}
	return m.spend(size)
}

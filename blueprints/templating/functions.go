// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	gotemplate "text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// outsideWorld are functions of Sprig that look outside the blueprint.
var outsideWorld = []string{"env", "expandenv", "getHostByName"}

// gone says what takes the place of functions that templates of the existing system had once.
var gone = map[string]string{"resolve": `is gone; use getResourceContent "cd://resources/…"`}

// CureOf says what to do about a function that templates do not have.
func CureOf(function string) string {
	return cmp.Or(gone[function], "does not exist in templates of blueprints; check its spelling")
}

var undefined = regexp.MustCompile(`(?:function "(\w+)" not defined|unknown function '(\w+)')`)

// withCure adds to the message of an engine what to do about a function that is gone.
func withCure(err error) error {
	match := undefined.FindStringSubmatch(err.Error())
	if match == nil || gone[match[1]+match[2]] == "" {
		return err
	}
	return fmt.Errorf("%w: %s %s", err, match[1]+match[2], gone[match[1]+match[2]])
}

func set(names string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(names) {
		out[name] = true
	}
	return out
}

// libraryFunctions are the functions that need nothing from the execution.
var libraryFunctions = sync.OnceValue(func() gotemplate.FuncMap {
	out := sprig.TxtFuncMap()
	for _, name := range outsideWorld {
		delete(out, name)
	}
	maps.Copy(out, numberFunctions(out))
	maps.Copy(out, map[string]any{
		"toYaml": toYAML, "fromYaml": fromYAML, "mustFromJson": fromJSON,
		"fromJson":    func(text string) any { value, _ := fromJSON(text); return value },
		"parseOCIRef": parseOCIRef, "ociRefRepo": ociRefRepo, "ociRefVersion": ociRefVersion,
	})
	return out
})

func toYAML(v any) string {
	out, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(out), "\n")
}

func fromJSON(text string) (any, error) {
	var out any
	if err := foreign.DecodeJSON([]byte(text), &out); err != nil {
		return nil, unreadable("the text", err)
	}
	return out, nil
}

func fromYAML(text string) (any, error) {
	var out any
	if err := foreign.Unmarshal([]byte(text), &out); err != nil {
		return nil, unreadable("the text", err)
	}
	return out, nil
}

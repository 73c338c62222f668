// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package constructor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fluxcd/pkg/envsubst"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
)

// Templaters that a constructor may go through.
const (
	// Subst replaces ${NAME}.
	Subst = "subst"
	// Go is Go's text/template with the values as the dot.
	Go = "go"
	// Spiff is Spiff++ with the values under values.
	Spiff = "spiff"
	// None leaves the text as it is.
	None = "none"
)

// Values reads the settings file, which may be empty, and then KEY=VALUE arguments, which win.
func Values(settings []byte, arguments []string) (map[string]any, error) {
	values := map[string]any{}
	if err := foreign.CoreUnmarshal(settings, &values); err != nil {
		return nil, fmt.Errorf("the settings are not a YAML object: %w", err)
	}
	if values == nil {
		values = map[string]any{}
	}
	for _, argument := range arguments {
		key, value, found := strings.Cut(argument, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("argument %q is not of the form KEY=VALUE", argument)
		}
		values[key] = value
	}
	return values, nil
}

// renderer runs templates in child processes.
var renderer = sync.OnceValue(func() *rendering.Renderer { return rendering.New(confined.Limits{}) })

// Substitute lets a constructor go through a templater. A value that is missing is an error, which names it.
func Substitute(ctx context.Context, text []byte, templater string, values map[string]any) ([]byte, error) {
	switch templater {
	case None:
		return text, nil
	case Subst, "":
		return substitute(text, values)
	case Go:
		out, err := renderer().Execute(ctx, templating.KindGoTemplate, templating.Input{Name: "constructor", Source: string(text), Values: values, RejectNoValue: true})
		return out.Document, err
	case Spiff:
		out, err := renderer().Execute(ctx, templating.KindSpiff, templating.Input{Name: "constructor", Source: string(text), Values: map[string]any{"values": values}})
		return out.Document, err
	}
	return nil, fmt.Errorf("templater %q is unknown; use %s, %s, %s or %s", templater, Subst, Go, Spiff, None)
}

func substitute(text []byte, values map[string]any) ([]byte, error) {
	missing := map[string]bool{}
	out, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		value, found := values[name]
		if !found {
			missing[name] = true
			return "", false
		}
		return fmt.Sprint(value), true
	})
	if err != nil && len(missing) > 0 {
		return nil, fmt.Errorf("the constructor uses ${%s}, which has no value; add %[1]s=VALUE to the arguments, or --templater none", slices.Sorted(maps.Keys(missing))[0])
	}
	if err != nil {
		return nil, fmt.Errorf("the constructor has a malformed ${…}: %w; write $${ for a literal one, or add --templater none", err)
	}
	return []byte(out), nil
}

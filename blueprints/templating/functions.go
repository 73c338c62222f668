// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"sync"
	gotemplate "text/template"
	"time"

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

// numberFunctions take the place of functions of Go and Sprig, for which a number is not the same with and without a fraction. Templates may have been
// written for values whose numbers were all float64.
func numberFunctions(sprig gotemplate.FuncMap) gotemplate.FuncMap {
	shown := func(show func(...any) string) any {
		return func(values ...any) string { return show(each(values, printable)...) }
	}
	toString := sprig["toString"].(func(any) string)
	out := gotemplate.FuncMap{
		"print": shown(fmt.Sprint), "println": shown(fmt.Sprintln),
		"printf":   func(format string, values ...any) string { return fmt.Sprintf(format, each(values, formatted)...) },
		"toString": func(value any) string { return toString(printable(value)) },
		"eq":       oneOf(comparison("eq")),
	}
	for _, name := range []string{"quote", "squote", "cat"} {
		out[name] = shown(sprig[name].(func(...any) string))
	}
	for _, name := range []string{"ne", "lt", "le", "gt", "ge"} {
		out[name] = comparison(name)
	}
	return out
}

func each(values []any, change func(any) any) []any {
	out := make([]any, len(values))
	for i, value := range values {
		out[i] = change(value)
	}
	return out
}

// printable turns floats that are whole, as computing makes them, into integers, so that a million is not printed as 1e+06.
func printable(value any) any {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return value
}

// formatted prepares a value for printf: a whole number can be written in the formats of floats, and a float that is whole in that of any value.
func formatted(value any) any {
	switch n := value.(type) {
	case int64:
		return whole{n, new(big.Float).SetInt64(n)}
	case float64:
		return whole{printable(n), n}
	}
	return value
}

// whole is a number as an integer and as a float.
type whole struct{ integer, float any }

// Format implements fmt.Formatter.
func (w whole) Format(state fmt.State, verb rune) {
	shown := w.float
	if _, isInteger := w.integer.(int64); isInteger && !strings.ContainsRune("eEfFgG", verb) {
		shown = w.integer
	}
	_, _ = fmt.Fprintf(state, fmt.FormatString(state, verb), shown)
}

// comparison is the function of text/template with a name, which refuses to compare integers with floats, for these as well.
func comparison(name string) func(a, b any) (bool, error) {
	compare := gotemplate.Must(gotemplate.New("").Parse("{{" + name + " .A .B}}"))
	return func(a, b any) (bool, error) {
		switch x, y := reflect.ValueOf(a), reflect.ValueOf(b); {
		case x.CanInt() && y.CanFloat():
			a = float64(x.Int())
		case x.CanFloat() && y.CanInt():
			b = float64(y.Int())
		}
		var out strings.Builder
		err := compare.Execute(&out, struct{ A, B any }{a, b})
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
			err = inner
		}
		return out.String() == "true", err
	}
}

// oneOf reports whether a value is one of others.
func oneOf(equal func(a, b any) (bool, error)) func(value any, others ...any) (bool, error) {
	return func(value any, others ...any) (bool, error) {
		if len(others) == 0 {
			return false, errors.New("missing argument for comparison")
		}
		for _, other := range others {
			if found, err := equal(value, other); found || err != nil {
				return found, err
			}
		}
		return false, nil
	}
}

// parseOCIRef splits an OCI reference into repository and version: the digest, or else the tag. The host docker.io and its
// directory library, which are the defaults, are left out.
func parseOCIRef(ref string) ([2]string, error) {
	repository, version, found := strings.Cut(ref, "@")
	if found {
		repository, _, _ = cutTag(repository)
	} else {
		repository, version, found = cutTag(ref)
	}
	if !found || repository == "" || version == "" {
		return [2]string{}, fmt.Errorf("OCI reference %q has neither tag nor digest; write repository:tag or repository@digest", ref)
	}
	return [2]string{familiar(repository), version}, nil
}

func cutTag(ref string) (repository, tag string, found bool) {
	colon := strings.LastIndexByte(ref, ':')
	if colon < 0 || strings.Contains(ref[colon:], "/") {
		return ref, "", false
	}
	return ref[:colon], ref[colon+1:], true
}

func familiar(repository string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(repository, "index.docker.io/"), "docker.io/")
	if name, ok := strings.CutPrefix(short, "library/"); ok && (short != repository || !strings.Contains(name, "/")) {
		return name
	}
	return short
}

func ociRefRepo(ref string) (string, error) {
	parts, err := parseOCIRef(ref)
	return parts[0], err
}

func ociRefVersion(ref string) (string, error) {
	parts, err := parseOCIRef(ref)
	return parts[1], err
}

var errNoClusters = errors.New("kubeconfigs cannot be issued here: this function is not available here")

// call is a function of templates on JSON-like data.
type call func(args ...any) (any, error)

// executionFunctions are the functions of both languages that need something of the execution.
func executionFunctions(ctx context.Context, in Input) map[string]call {
	c, k := componentsOf(ctx, in), clusterCalls{ctx: ctx, clusters: in.Clusters}
	return map[string]call{
		"getResource":                 func(args ...any) (any, error) { return c.resource(args...) },
		"getComponent":                func(args ...any) (any, error) { return c.component(args...) },
		"getResourceKey":              unary(func(ref any) (any, error) { return c.resourceKey(ref) }),
		"getShootAdminKubeconfig":     k.issuing(ShootAdmin, plain),
		"getServiceAccountKubeconfig": k.issuing(ServiceAccount, plain),
		"getOidcKubeconfig":           k.oidc,
		"getShootAdminKubeconfigWithExpirationTimestamp":     k.issuing(ShootAdmin, expiring),
		"getServiceAccountKubeconfigWithExpirationTimestamp": k.issuing(ServiceAccount, expiring),
	}
}

func unary(f func(any) (any, error)) call {
	return func(args ...any) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("one argument is needed, not %d", len(args))
		}
		return f(args[0])
	}
}

// clusterCalls issue kubeconfigs.
type clusterCalls struct {
	ctx      context.Context
	clusters Clusters
}

func (c clusterCalls) issuing(kind string, shown func(Kubeconfig) any) call {
	return func(args ...any) (any, error) {
		if len(args) != 4 {
			return nil, errors.New("four arguments are needed: name, namespace, expiration in seconds, target")
		}
		seconds, err := wholeSeconds(args[2])
		if err != nil {
			return nil, err
		}
		return c.request(KubeconfigRequest{Kind: kind, Name: str(args[0]), Namespace: str(args[1]), Seconds: seconds, Target: args[3]}, shown)
	}
}

func (c clusterCalls) oidc(args ...any) (any, error) {
	if len(args) != 3 {
		return nil, errors.New("three arguments are needed: issuer URL, client ID, target")
	}
	return c.request(KubeconfigRequest{Kind: OIDC, IssuerURL: str(args[0]), ClientID: str(args[1]), Target: args[2]}, plain)
}

func (c clusterCalls) request(wanted KubeconfigRequest, shown func(Kubeconfig) any) (any, error) {
	if c.clusters == nil {
		return nil, errNoClusters
	}
	kubeconfig, err := c.clusters.Kubeconfig(c.ctx, wanted)
	if err != nil {
		return nil, err
	}
	return shown(kubeconfig), nil
}

func plain(k Kubeconfig) any { return base64.StdEncoding.EncodeToString(k.Content) }

func expiring(k Kubeconfig) any {
	return map[string]any{
		"kubeconfig":                  plain(k),
		"expirationTimestamp":         k.Expiration.Unix(),
		"expirationTimestampReadable": k.Expiration.UTC().Format(time.RFC3339),
	}
}

// wholeSeconds accepts integers and floats.
func wholeSeconds(seconds any) (int64, error) {
	switch t := seconds.(type) {
	case int:
		return int64(t), nil
	case int64:
		return t, nil
	case float64:
		if math.Abs(t) < 1<<53 {
			return int64(t), nil
		}
	}
	return 0, fmt.Errorf("the expiration must be a number of seconds, not a value of type %s", typeName(seconds))
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/mandelsoft/spiff/dynaml"
	spiffyaml "github.com/mandelsoft/spiff/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// spiffFunctions are the functions beside those that the library has built in.
type spiffFunctions struct {
	dynaml.Functions
}

func newSpiffFunctions(ctx context.Context, in Input) *spiffFunctions {
	c := componentsOf(ctx, in)
	k := clusterCalls{ctx: ctx, clusters: in.Clusters}
	f := &spiffFunctions{Functions: dynaml.NewFunctions()}
	f.add("getResource", func(args []any) (any, error) { return c.resource(args...) })
	f.add("getComponent", func(args []any) (any, error) { return componentOf(c, args) })
	f.add("getResourceKey", unary(func(ref any) (any, error) { return c.resourceKey(ref) }))
	f.add("getResourceContent", unary(func(ref any) (any, error) { return contentValue(c, ref) }))
	f.add("parseOCIRef", unary(func(ref any) (any, error) { return ociParts(ref) }))
	f.add("ociRefRepo", unary(func(ref any) (any, error) { return ociRefRepo(str(ref)) }))
	f.add("ociRefVersion", unary(func(ref any) (any, error) { return ociRefVersion(str(ref)) }))
	f.add("getShootAdminKubeconfig", issuing(plain(k.shoot)))
	f.add("getShootAdminKubeconfigWithExpirationTimestamp", issuing(expiring(k.shoot)))
	f.add("getServiceAccountKubeconfig", issuing(plain(k.serviceAccount)))
	f.add("getServiceAccountKubeconfigWithExpirationTimestamp", issuing(expiring(k.serviceAccount)))
	f.add("getOidcKubeconfig", func(args []any) (any, error) {
		if len(args) != 3 {
			return nil, errors.New("three arguments are needed: issuer URL, client ID, target")
		}
		return k.oidc(str(args[0]), str(args[1]), args[2])
	})
	return f
}

// add registers a function on JSON-like data.
func (f *spiffFunctions) add(name string, call func(args []any) (any, error)) {
	f.RegisterFunction(name, func(args []any, _ dynaml.Binding) (any, dynaml.EvaluationInfo, bool) {
		info := dynaml.DefaultInfo()
		result, err := f.invoke(args, call)
		if err != nil {
			return info.Error("%s: %s", name, err)
		}
		return result, info, true
	})
}

func (f *spiffFunctions) invoke(args []any, call func(args []any) (any, error)) (any, error) {
	converted := make([]any, len(args))
	for i, arg := range args {
		value, err := fromNode(nodeOf(arg))
		if err != nil {
			return nil, err
		}
		converted[i] = value
	}
	result, err := call(converted)
	if err != nil {
		return nil, err
	}
	node, err := toNode(result, false)
	if err != nil {
		return nil, errors.New("the result is not JSON data")
	}
	return node.Value(), nil
}

func unary(call func(any) (any, error)) func(args []any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("one argument is needed, not %d", len(args))
		}
		return call(args[0])
	}
}

func issuing[T any](call func(name, namespace string, seconds, target any) (T, error)) func(args []any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 4 {
			return nil, errors.New("four arguments are needed: name, namespace, expiration in seconds, target")
		}
		return call(str(args[0]), str(args[1]), args[2], args[3])
	}
}

func componentOf(c components, args []any) (any, error) {
	found, err := c.component(args...)
	return map[string]any(found), err
}

func ociParts(ref any) (any, error) {
	parts, err := parseOCIRef(str(ref))
	return []any{parts[0], parts[1]}, err
}

// contentValue reads the content of a resource as YAML, or returns it in base64 when it is binary.
func contentValue(c components, ref any) (any, error) {
	content, err := c.content(ref)
	if err != nil {
		return nil, err
	}
	if content.MediaType == "application/octet-stream" {
		return base64.StdEncoding.EncodeToString(content.Data), nil
	}
	var out any
	if err := foreign.Unmarshal(content.Data, &out); err != nil {
		return nil, errors.New("the content of the resource " + foreign.Problem(err))
	}
	return out, nil
}

// asNodes returns the entries of an object.
func asNodes(node spiffyaml.Node) map[string]spiffyaml.Node {
	out, _ := node.Value().(map[string]spiffyaml.Node)
	return out
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package templating runs the two template languages of blueprints, GoTemplate and Spiff, on bindings and the files of one
// blueprint. A template reaches nothing else: no environment, no file outside the blueprint, no network. What needs a registry or
// a cluster is a capability that the caller hands in with the Input. Nothing here ends a template that does not
// end by itself: run those of others in a process that can be killed, as package confined/rendering does. It promises nothing
// to others.
package templating

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"
)

// Names of the template languages as blueprints write them.
const (
	// KindGoTemplate is Go's text/template with the functions of Sprig.
	KindGoTemplate = "GoTemplate"
	// KindSpiff is Spiff++.
	KindSpiff = "Spiff"
)

// Executor runs templates of one language.
type Executor interface {
	// Execute renders the template of the input. Errors are of type *Error and contain values of the bindings only where the input says so.
	Execute(ctx context.Context, in Input) (Output, error)
}

// For returns the Executor of a language. It fails for any name but KindGoTemplate and KindSpiff.
func For(kind string) (Executor, error) {
	switch kind {
	case KindGoTemplate:
		return GoTemplate{}, nil
	case KindSpiff:
		return Spiff{}, nil
	}
	return nil, fmt.Errorf("template type %q is unknown; use %s or %s", kind, KindGoTemplate, KindSpiff)
}

// Input is one template with everything it may see.
type Input struct {
	// Name of the executor, for error messages.
	Name string
	// File the template was read from, for error messages; empty for an inline template.
	File string
	// Source is the text of the template.
	Source string
	// Files is the blueprint; nil means that there are no files.
	Files fs.FS
	// Values are the bindings: JSON-like data (maps with string keys, slices, strings, numbers, booleans, nil). They are not modified.
	Values map[string]any
	// State is what the previous execution stored; nil means that this execution keeps no state.
	State map[string]any
	// Resources reads contents of component resources; nil makes functions that need it fail.
	Resources ResourceReader
	// Closure knows the components of the binding components; nil means that references lead to exactly the versions they name, all of them
	// in the default repository.
	Closure *Closure
	// Clusters issues kubeconfigs; nil makes functions that need it fail.
	Clusters Clusters
	// RejectNoValue fails when a GoTemplate printed a missing value.
	RejectNoValue bool
	// Unmasked lets errors show values, to a person who has given them.
	Unmasked bool
}

// Output is what a template produced.
type Output struct {
	// Document is the result as a JSON object.
	Document json.RawMessage
	// State to keep for the next execution, a JSON value; nil when the template stored none.
	State json.RawMessage
}

// ResourceKey names one resource of one component version.
type ResourceKey struct {
	// ComponentName and ComponentVersion name the component version.
	ComponentName, ComponentVersion string
	// Identity holds the resource's name under "name" and its extra identity.
	Identity map[string]string
}

// ResourceReader reads contents of component resources.
type ResourceReader interface {
	// ResourceContent returns the content of a resource.
	ResourceContent(ctx context.Context, key ResourceKey) (Content, error)
}

// Content is that of a resource.
type Content struct {
	Data      []byte
	MediaType string
}

// Closure is what is known of the components behind the binding components. Keys are made by ComponentKey; nil knows nothing.
type Closure struct {
	// Followed has name and version of the components that references lead to, where overwrites make them others than those named.
	Followed map[string][2]string
	// Repositories are the typed repositories of components that are not in the default repository of the Context.
	Repositories map[string]map[string]any
}

// ComponentKey is a component version as a key of Closure.
func ComponentKey(name, version string) string { return name + ":" + version }

// follow returns name and version of the component that a reference to name and version leads to.
func (c *Closure) follow(name, version string) (string, string) {
	if c != nil {
		if to, ok := c.Followed[ComponentKey(name, version)]; ok {
			return to[0], to[1]
		}
	}
	return name, version
}

// Kubeconfig is an issued kubeconfig.
type Kubeconfig struct {
	// Content is the kubeconfig in YAML.
	Content []byte
	// Expiration is when its credentials end; zero when they do not.
	Expiration time.Time
}

// Kinds of KubeconfigRequest.
const (
	// ShootAdmin is an admin kubeconfig of the Gardener shoot Name in Namespace, through the garden cluster in Target.
	ShootAdmin = "shootAdmin"
	// ServiceAccount has a token of the service account Name in Namespace of the target cluster.
	ServiceAccount = "serviceAccount"
	// OIDC logs in at the target cluster with OpenID Connect.
	OIDC = "oidc"
)

// KubeconfigRequest says what kubeconfig a template wants.
type KubeconfigRequest struct {
	Kind, Name, Namespace string
	// Seconds until its credentials end.
	Seconds int64
	// IssuerURL and ClientID are those of OIDC.
	IssuerURL, ClientID string
	// Target is the Target object as the template sees it.
	Target any
}

// Clusters issues kubeconfigs for the functions of that name in templates.
type Clusters interface {
	// Kubeconfig issues one, with the rights of the Target in the request.
	Kubeconfig(ctx context.Context, request KubeconfigRequest) (Kubeconfig, error)
}

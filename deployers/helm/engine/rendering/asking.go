// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/confined"
)

// AskLookup is the question of a child for objects of the cluster.
const AskLookup = "lookup"

// Sought are the arguments of the function lookup of templates.
type Sought struct{ APIVersion, Kind, Namespace, Name string }

// markKind is the kind by which a template says that it begins. Nobody looks up such a kind.
const markKind = "\x00begins"

// mark goes before the text of each template and renders to nothing.
const mark = `{{with lookup "" "` + `\x00begins` + `" "" .Template.Name}}{{end}}`

// asking is the function lookup of templates in a child: it hands each question over to the parent.
type asking struct {
	parent *confined.Parent
	// asked becomes true with the first question.
	asked *bool
}

// GetClientFor returns a client for a kind. Whether that has namespaces is known to the parent only.
func (a asking) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return askingClient{asking: a, sought: Sought{APIVersion: apiVersion, Kind: kind}}, true, nil
}

// askingClient reads objects of one kind.
type askingClient struct {
	dynamic.NamespaceableResourceInterface
	asking
	sought Sought
}

// Namespace returns the client for one namespace.
func (a askingClient) Namespace(namespace string) dynamic.ResourceInterface {
	a.sought.Namespace = namespace
	return a
}

// Get reads one object.
func (a askingClient) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if a.sought.Kind == markKind {
		a.parent.Begin("template " + name)
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	a.sought.Name = name
	return a.ask()
}

// List reads all objects.
func (a askingClient) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	found, err := a.ask()
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetUnstructuredContent(found.Object)
	return list, nil
}

func (a askingClient) ask() (*unstructured.Unstructured, error) {
	*a.asked = true
	answer, err := confined.Ask[Sought, json.RawMessage](a.parent, AskLookup, a.sought)
	if err != nil {
		return nil, err
	}
	found := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(answer, &found); err != nil {
		return nil, errors.New("the answer cannot be read")
	}
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, a.sought.Name)
	}
	return &unstructured.Unstructured{Object: found}, nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	helmengine "helm.sh/helm/v3/pkg/engine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// lookupTime bounds one question.
const lookupTime = 30 * time.Second

// askLookup is the question of a child for objects of the cluster.
const askLookup = "lookup"

// sought are the arguments of the function lookup of templates.
type sought struct{ APIVersion, Kind, Namespace, Name string }

// lookups answers the questions of one task, with the rights of the connection that it is for.
type lookups struct {
	cluster *target.Cluster

	mu sync.Mutex
	// failure is the last error of a question.
	failure error
}

// answers returns what a task may ask.
func (l *lookups) answers() map[string]confined.Answer {
	return map[string]confined.Answer{askLookup: l.answer}
}

// answer asks the cluster as Helm's own function does.
func (l *lookups) answer(ctx context.Context, raw []byte) ([]byte, error) {
	var asked sought
	if err := json.Unmarshal(raw, &asked); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	find := helmengine.NewLookupFunction(newGetter(ctx, l.cluster, asked.Namespace).config)
	found, err := find(asked.APIVersion, asked.Kind, asked.Namespace, asked.Name)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failure = err
		return nil, err
	}
	return json.Marshal(found)
}

// explain returns the error of a task together with that of the question that it may have failed with.
func (l *lookups) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || l.failure == nil {
		return err
	}
	return &askedError{error: err, question: l.failure}
}

// askedError is the error of a task that has asked for something in vain.
type askedError struct {
	error
	question error
}

// Unwrap returns both errors.
func (a *askedError) Unwrap() []error { return []error{a.error, a.question} }

// markKind is the kind by which a template says that it begins. Nobody looks up such a kind.
const markKind = "\x00begins"

// mark goes before the text of each template and renders to nothing.
const mark = `{{with lookup "" "` + `\x00begins` + `" "" .Template.Name}}{{end}}`

// asking is the function lookup of templates in a child: it hands each question over to the parent.
type asking struct{ parent *confined.Parent }

// GetClientFor returns a client for a kind. Whether that has namespaces is known to the parent only.
func (a asking) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return askingClient{parent: a.parent, sought: sought{APIVersion: apiVersion, Kind: kind}}, true, nil
}

// askingClient reads objects of one kind.
type askingClient struct {
	dynamic.NamespaceableResourceInterface
	parent *confined.Parent
	sought sought
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
	raw, err := json.Marshal(a.sought)
	if err != nil {
		return nil, err
	}
	answer, err := confined.Ask[[]byte, []byte](a.parent, askLookup, raw)
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

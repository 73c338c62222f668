// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package page serves a landscape to browsers: the page itself, the landscape as JSON, and what changes in it. It only reads, and sends no
// content of Secrets, DataObjects, Targets and configurations of DeployItems.
package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// Landscape is what /api/changes sends first: all objects with what a person wants to know first, and how they hang together.
type Landscape struct {
	// Version counts the changes since the server started.
	Version int64 `json:"version"`
	// Cluster says where the landscape is, and Namespace is the one that is shown; empty for all.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace,omitempty"`
	// Withheld are the kinds that the reader may not list; they are left out.
	Withheld []string `json:"withheld,omitempty"`
	Nodes    []Node   `json:"nodes"`
	Edges    []Edge   `json:"edges"`
}

// Node is one object of a landscape: an Installation, Kustomization, Environment, Target or Flux source.
type Node struct {
	// Key is kind, namespace and name with slashes, and is never that of another node.
	Key string `json:"key"`
	landscape.ID
	// Title is the name in the blueprint of the parent for a sub-installation, else the name.
	Title string `json:"title"`
	// Parent is the key of the Installation that has this one as sub-installation.
	Parent string `json:"parent,omitempty"`
	// State is Well, Working, Failing, Held or Drifted, and Word is the phase, or what Ready says.
	State  string           `json:"state"`
	Word   string           `json:"word"`
	Status landscape.Status `json:"status"`
	// Clusters are the keys of the Environments, or else of the Targets, that a root Installation imports, sorted.
	Clusters []string `json:"clusters,omitempty"`
	// Kustomization is the key of the one that applies the object. It may not be among the nodes.
	Kustomization string `json:"kustomization,omitempty"`
}

// Edge leads from one node to another.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Kind says what flows from an Installation to another, data or target, or that a Kustomization comes before another: order.
	Kind string `json:"kind"`
	// Names are those of the DataObjects or Targets that flow.
	Names []string `json:"names,omitempty"`
	// Missing says that one of them does not exist yet.
	Missing bool `json:"missing,omitempty"`
}

// stateOf is the health, or Drifted for what is well in all other ways.
func stateOf(status landscape.Status) string {
	if status.Health == landscape.Well && status.Drifted {
		return "Drifted"
	}
	return string(status.Health)
}

func keyOf(id landscape.ID) string { return id.Kind + "/" + id.Namespace + "/" + id.Name }

// shown are the kinds with nodes.
var shown = []string{"Installation", "Kustomization", "Environment", "Target", "GitRepository", "OCIRepository"}

// overview returns the nodes and edges of a snapshot, each sorted.
func overview(s *landscape.Snapshot, now time.Time) ([]Node, []Edge) {
	nodes, edges := []Node{}, []Edge{}
	environments := map[landscape.ID]string{}
	for _, target := range s.Select("Target", landscape.ListOptions{}) {
		environments[landscape.IDOf(target)] = target.GetAnnotations()[v1alpha1.EnvironmentAnnotation]
	}
	for _, kind := range shown {
		for _, object := range s.Select(kind, landscape.ListOptions{}) {
			nodes = append(nodes, nodeOf(s, object, now))
			switch object := object.(type) {
			case *v1alpha1.Installation:
				if s.Parent(object) == nil {
					nodes[len(nodes)-1].Clusters = clustersOf(s, object, environments)
				}
				edges = append(edges, flows(s, object)...)
			case *kustomizev1.Kustomization:
				for _, before := range object.Spec.DependsOn {
					from := landscape.ID{Kind: kind, Namespace: cmp.Or(before.Namespace, object.Namespace), Name: before.Name}
					edges = append(edges, Edge{From: keyOf(from), To: keyOf(landscape.IDOf(object)), Kind: "order"})
				}
			}
		}
	}
	nodes = slices.CompactFunc(nodes, func(a, b Node) bool { return a.Key == b.Key })
	return nodes, edges
}

func nodeOf(s *landscape.Snapshot, object client.Object, now time.Time) Node {
	id, status := landscape.IDOf(object), landscape.StatusOf(object, now)
	if status.Health != landscape.Working {
		status.Took.Duration = status.Took.Round(100 * time.Millisecond)
	}
	status.Message, status.Revision, status.Drift = landscape.Short(status.Message), landscape.Short(status.Revision), landscape.Short(status.Drift)
	node := Node{
		Key: keyOf(id), ID: id, Title: id.Name, Status: status, State: stateOf(status), Word: status.Word(), Kustomization: kustomizationOf(object),
	}
	inst, ok := object.(*v1alpha1.Installation)
	if !ok {
		return node
	}
	if parent := s.Parent(inst); parent != nil {
		node.Parent = keyOf(landscape.IDOf(parent))
		node.Title = cmp.Or(inst.Annotations[v1alpha1.SubinstallationNameAnnotation], id.Name)
	}
	return node
}

func kustomizationOf(object client.Object) string {
	name := landscape.KustomizationOf(object)
	if name.Name == "" {
		return ""
	}
	return keyOf(landscape.ID{Kind: kustomizev1.KustomizationKind, Namespace: name.Namespace, Name: name.Name})
}

// clustersOf returns where a root Installation deploys to: the Environments of its Targets, or the Targets themselves.
func clustersOf(s *landscape.Snapshot, inst *v1alpha1.Installation, environments map[landscape.ID]string) []string {
	var keys []string
	for _, imported := range s.Imports(inst) {
		if environment := environments[imported.ID]; environment != "" {
			keys = append(keys, keyOf(landscape.ID{Kind: "Environment", Name: environment}))
		} else if imported.ID.Kind == "Target" {
			keys = append(keys, keyOf(imported.ID))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// flows returns what comes to an Installation from others, one edge for each producer and kind.
func flows(s *landscape.Snapshot, inst *v1alpha1.Installation) []Edge {
	var edges []Edge
	to := keyOf(landscape.IDOf(inst))
	for _, imported := range s.Imports(inst) {
		if imported.From == nil || imported.From == inst {
			continue
		}
		edge := Edge{From: keyOf(landscape.IDOf(imported.From)), To: to, Kind: "data", Names: []string{imported.ID.Name}, Missing: imported.Missing}
		if imported.ID.Kind == "Target" {
			edge.Kind = "target"
		}
		i := slices.IndexFunc(edges, func(e Edge) bool { return e.From == edge.From && e.Kind == edge.Kind })
		if i < 0 {
			edges = append(edges, edge)
			continue
		}
		edges[i].Missing = edges[i].Missing || edge.Missing
		if !slices.Contains(edges[i].Names, imported.ID.Name) {
			edges[i].Names = append(edges[i].Names, imported.ID.Name)
		}
	}
	return edges
}

// idOf reads a key.
func idOf(key string) (landscape.ID, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return landscape.ID{}, false
	}
	return landscape.ID{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, parts[2] != ""
}

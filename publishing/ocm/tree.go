// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// Node is one component version of a tree.
type Node struct {
	// Component and Version of it.
	Component string `json:"component"`
	Version   string `json:"version"`
	// Reference is the name under which its parent refers to it; empty for the root.
	Reference string `json:"reference,omitempty"`
	// Resources of the component.
	Resources []Leaf `json:"resources,omitempty"`
	// References are the components that it refers to.
	References []*Node `json:"references,omitempty"`
	// Seen tells that the component was shown before, with all below it.
	Seen bool `json:"seen,omitempty"`
}

// Leaf is a resource of a component version.
type Leaf struct {
	// Name, Version and Type of the resource.
	Name    string `json:"name"`
	Version string `json:"version"`
	Type    string `json:"type"`
	// Access is the type of its access, with the place where it is one.
	Access string `json:"access"`
}

// Tree arranges a closure as a tree; a component that several refer to is shown in full once.
func Tree(closed *component.Closed) (*Node, error) {
	return node(closed, closed.Root, "", map[component.Key]bool{})
}

func node(closed *component.Closed, d *component.Descriptor, name string, seen map[component.Key]bool) (*Node, error) {
	n := &Node{Component: d.Name, Version: d.Version, Reference: name, Seen: seen[d.Key()]}
	if n.Seen {
		return n, nil
	}
	seen[d.Key()] = true
	for i := range d.Resources {
		n.Resources = append(n.Resources, leaf(&d.Resources[i]))
	}
	for i := range d.References {
		next, err := closed.Follow(&d.References[i])
		if err != nil {
			return nil, err
		}
		below, err := node(closed, next, d.References[i].Name, seen)
		if err != nil {
			return nil, err
		}
		n.References = append(n.References, below)
	}
	return n, nil
}

func leaf(r *component.Resource) Leaf {
	l := Leaf{Name: r.Name, Version: r.Version, Type: r.Type, Access: r.Access.Type}
	access, err := component.ParseAccess(r.Access)
	if err != nil {
		return l
	}
	if place := placeOf(access); place != "" {
		l.Access += " " + place
	}
	return l
}

func placeOf(access component.Access) string {
	switch t := access.(type) {
	case component.OCIArtifact:
		return t.ImageReference
	case component.RelativeOCIReference:
		return t.Reference
	case component.LocalBlob:
		return t.ReferenceName
	case component.HelmChart:
		return strings.TrimSuffix(t.Repository, "/") + " " + t.Chart
	case component.Web:
		return t.URL
	case component.GitHub:
		return t.RepoURL
	case component.Git:
		return t.Repository
	}
	return ""
}

// Text draws the tree with lines, resources before references.
func (n *Node) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s:%s\n", n.Component, n.Version)
	n.draw(&out, "")
	return out.String()
}

func (n *Node) draw(out *strings.Builder, indent string) {
	name, kind, version := 0, 0, 0
	for _, r := range n.Resources {
		name, kind, version = max(name, len(r.Name)), max(kind, len(r.Type)), max(version, len(r.Version))
	}
	rest := len(n.Resources) + len(n.References)
	for _, r := range n.Resources {
		rest--
		line := fmt.Sprintf("%-*s  %-*s  %-*s  %s", name, r.Name, kind, r.Type, version, r.Version, r.Access)
		fmt.Fprintf(out, "%s%s%s\n", indent, branch(rest), strings.TrimRight(line, " "))
	}
	for _, r := range n.References {
		rest--
		note := ""
		if r.Seen {
			note = "  (shown above)"
		}
		fmt.Fprintf(out, "%s%s%s → %s:%s%s\n", indent, branch(rest), r.Reference, r.Component, r.Version, note)
		r.draw(out, indent+stem(rest))
	}
}

func branch(rest int) string {
	if rest == 0 {
		return "└── "
	}
	return "├── "
}

func stem(rest int) string {
	if rest == 0 {
		return "    "
	}
	return "│   "
}

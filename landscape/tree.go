// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Node is one object of a tree with all below it. What stands on a target has no status.
type Node struct {
	ID
	// Title is what the tree shows of the object.
	Title string `json:"-"`
	// Detail is said where there is no revision: the type of a DeployItem and its Target.
	Detail   string  `json:"detail,omitempty"`
	Status   *Status `json:"status,omitempty"`
	Imports  []Flow  `json:"imports,omitempty"`
	Children []*Node `json:"children,omitempty"`
}

// Flow is one import in a tree.
type Flow struct {
	ID
	// From is the Installation that exports it, empty where none does.
	From    string `json:"from,omitempty"`
	Missing bool   `json:"missing,omitempty"`
}

// TreeOptions say what a tree shows.
type TreeOptions struct {
	// Data adds the imports of Installations.
	Data bool
	// Failed leaves out what is well, unless something below it is not.
	Failed bool
	// Sources adds the Flux sources as roots.
	Sources bool
	// Under is the object whose tree is shown, nil for all.
	Under client.Object
	Now   time.Time

	seen map[types.UID]bool // owners may lead round in a circle
}

// Tree returns Kustomization → Installations → sub-installations → DeployItems → objects on the targets.
func (s *Snapshot) Tree(options TreeOptions) []*Node {
	var roots []*Node
	options.seen = map[types.UID]bool{}
	switch {
	case options.Under == nil:
		roots = s.roots(options)
	case kindName(options.Under) == "Kustomization":
		roots = []*Node{s.kustomization(client.ObjectKeyFromObject(options.Under), options)}
	default:
		roots = []*Node{s.node(options.Under, options)}
	}
	if options.Failed {
		roots = slices.DeleteFunc(roots, func(n *Node) bool { return !n.keepUnwell() })
	}
	return roots
}

// roots are the Kustomizations, those that labels name and nobody can see included, and the Installations without one.
func (s *Snapshot) roots(options TreeOptions) []*Node {
	var roots []*Node
	if options.Sources {
		for _, object := range slices.Concat(s.Objects(sourcev1.GitRepositoryKind), s.Objects(sourcev1.OCIRepositoryKind)) {
			roots = append(roots, s.node(object, options))
		}
	}
	var names []types.NamespacedName
	var alone []*v1alpha1.Installation
	for i := range s.Installations.Items {
		inst := &s.Installations.Items[i]
		if s.Parent(inst) != nil {
			continue
		}
		name := KustomizationOf(inst)
		switch {
		case name.Name == "":
			alone = append(alone, inst)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		roots = append(roots, s.kustomization(name, options))
	}
	for _, inst := range alone {
		roots = append(roots, s.node(inst, options))
	}
	return roots
}

func (s *Snapshot) kustomization(name types.NamespacedName, options TreeOptions) *Node {
	node := &Node{ID: ID{"Kustomization", name.Namespace, name.Name}}
	if object := s.Find("Kustomization", name.Namespace, name.Name); object != nil {
		status := StatusOf(object, options.Now)
		node.Status = &status
	}
	node.Title = node.String()
	for i := range s.Installations.Items {
		if inst := &s.Installations.Items[i]; KustomizationOf(inst) == name && s.Parent(inst) == nil {
			child := s.node(inst, options)
			if inst.Namespace != name.Namespace {
				child.Title = child.namespacedTitle()
			}
			node.Children = append(node.Children, child)
		}
	}
	return node
}

// node returns an object with all below it. The DeployItems of an Execution stand below its Installation.
func (s *Snapshot) node(object client.Object, options TreeOptions) *Node {
	status := StatusOf(object, options.Now)
	node := &Node{ID: IDOf(object), Status: &status}
	node.Title = node.String()
	switch object := object.(type) {
	case *v1alpha1.Installation:
		if options.Data {
			for _, imported := range s.Imports(object) {
				flow := Flow{ID: imported.ID, Missing: imported.Missing}
				if imported.From != nil {
					flow.From = imported.From.Name
				}
				node.Imports = append(node.Imports, flow)
			}
		}
		if status.Revision == "" && object.Status.ObservedGeneration > 0 {
			node.Detail = fmt.Sprintf("generation %d", object.Status.ObservedGeneration)
		}
	case *v1alpha1.DeployItem:
		node.Title = "DeployItem " + cmp.Or(object.Labels[v1alpha1.ExecutionManagedNameLabel], object.Name)
		node.Detail = object.Spec.Type[strings.LastIndex(object.Spec.Type, "/")+1:]
		if target := targetName(object); target != "" {
			node.Detail += " → " + target
		}
		for _, deployed := range DeployedBy(object) {
			node.Children = append(node.Children, deployedNode(deployed))
		}
	}
	options.seen[object.GetUID()] = true
	for _, child := range s.Children(object) {
		if options.seen[child.GetUID()] {
			continue
		}
		if execution, ok := child.(*v1alpha1.Execution); ok && kindName(object) == "Installation" {
			for _, item := range s.Children(execution) {
				node.Children = append(node.Children, s.node(item, options))
			}
			continue
		}
		node.Children = append(node.Children, s.node(child, options))
	}
	return node
}

func deployedNode(deployed Deployed) *Node {
	node := &Node{ID: deployed.ID, Title: deployed.Kind + " " + deployed.Name}
	if deployed.Namespace != "" {
		node.Title = deployed.Kind + " " + deployed.Namespace + "/" + deployed.Name
	}
	if deployed.Release {
		node.Title += fmt.Sprintf(", revision %d", deployed.Revision)
	}
	return node
}

func (n *Node) namespacedTitle() string {
	return n.Kind + " " + n.Namespace + "/" + strings.TrimPrefix(n.Title, n.Kind+" ")
}

// keepUnwell removes what is well, and reports whether anything is left.
func (n *Node) keepUnwell() bool {
	n.Children = slices.DeleteFunc(n.Children, func(child *Node) bool { return !child.keepUnwell() })
	return len(n.Children) > 0 || n.Status != nil && (n.Status.Health != Well || n.Status.Drifted || n.Status.Suspended)
}

// Walk calls visit for every node of a tree, each before those below it.
func Walk(nodes []*Node, visit func(*Node)) {
	for _, node := range nodes {
		visit(node)
		Walk(node.Children, visit)
	}
}

// TreeTable shows trees as a table. Namespaced says that the roots are shown with their namespaces.
func TreeTable(roots []*Node, namespaced bool) *Table {
	table := &Table{Columns: []Column{
		{Title: "OBJECT"}, {Title: "STATE", Painted: true}, {Title: "FLAGS"}, {Title: "REVISION", Drop: 1}, {Title: "RUNS", Drop: 3, Right: true},
		{Title: "TOOK", Drop: 2, Right: true}, {Title: "MESSAGE", Wraps: true},
	}}
	for _, root := range roots {
		title := root.Title
		if namespaced && root.Namespace != "" {
			title = root.namespacedTitle()
		}
		table.addNode(root, title, "", "")
	}
	return table
}

// addNode adds a node and all below it. Indent stands before the node, and below before what is below it.
func (t *Table) addNode(node *Node, title, indent, below string) {
	row := Row{Cells: make([]string, len(t.Columns)), Indent: indent, Below: below + "   "}
	row.Cells[0] = title
	lines := len(node.Children) + len(node.Imports)
	if lines > 0 {
		row.Below = below + "│  "
	}
	if s := node.Status; s != nil {
		row.Health, row.Minor = s.Health, s.Health == Well && !s.Drifted
		runs := ""
		if s.Runs > 0 {
			runs = fmt.Sprint(s.Runs)
		}
		copy(row.Cells[1:], []string{
			strings.TrimSpace(s.Mark() + " " + s.Word()), strings.ReplaceAll(s.Flags(), " ", "\n"), Short(cmp.Or(s.Revision, node.Detail)), runs, ShowDuration(s.Took.Duration), s.Text(),
		})
	}
	t.Rows = append(t.Rows, row)
	branch := func() (string, string) {
		if lines--; lines > 0 {
			return below + "├─ ", below + "│  "
		}
		return below + "└─ ", below + "   "
	}
	for _, flow := range node.Imports {
		before, after := branch()
		t.Rows = append(t.Rows, Row{Cells: append([]string{flow.String()}, make([]string, len(t.Columns)-1)...), Indent: before, Below: after})
	}
	for _, child := range node.Children {
		before, after := branch()
		t.addNode(child, child.Title, before, after)
	}
}

// String says what is imported, and from whom.
func (f Flow) String() string {
	text := "imports " + f.ID.String()
	if f.From != "" {
		text += " from " + f.From
	}
	if f.Missing {
		text += ", which does not exist"
	}
	return text
}

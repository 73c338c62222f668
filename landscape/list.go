// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ListOptions say what a list shows.
type ListOptions struct {
	// Names are those of the objects, by default all.
	Names    []string
	Selector labels.Selector
	// Copies adds what controllers made for their own use.
	Copies bool
	// Wide adds columns, and Namespaced the one with the namespace.
	Wide, Namespaced bool
	Now              time.Time
}

// Select returns objects of a kind, sorted by namespace and name.
func (s *Snapshot) Select(kind string, options ListOptions) []client.Object {
	objects := slices.DeleteFunc(s.Objects(kind), func(object client.Object) bool {
		switch {
		case len(options.Names) > 0 && !slices.Contains(options.Names, object.GetName()) && !slices.Contains(options.Names, NameOf(object)),
			options.Selector != nil && !options.Selector.Matches(labels.Set(object.GetLabels())):
			return true
		}
		return !options.Copies && IsCopy(object)
	})
	slices.SortFunc(objects, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(NameOf(a), NameOf(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// ListTable shows objects of one kind as a table: the columns that the kind has something for.
func ListTable(objects []client.Object, options ListOptions) *Table {
	table := &Table{Columns: []Column{
		{Title: "NAME"}, {Title: "NAMESPACE"}, {Title: "TYPE", Drop: 2}, {Title: "TARGET", Drop: 1}, {Title: "FROM", Drop: 1}, {Title: "OBJECT", Drop: 7},
		{Title: "READY", Painted: true}, {Title: "PHASE", Drop: 3}, {Title: "REVISION", Drop: 4}, {Title: "SUSPENDED", Quiet: true}, {Title: "DRIFT", Quiet: true},
		{Title: "PENDING", Quiet: true}, {Title: "RUNS", Drop: 7, Right: true}, {Title: "TOOK", Drop: 7, Right: true}, {Title: "JOB", Drop: 8},
		{Title: "DEPLOYER", Drop: 8}, {Title: "AGE", Drop: 5}, {Title: "MESSAGE", Wraps: true},
	}}
	for _, object := range objects {
		table.Rows = append(table.Rows, table.listRow(object, options))
	}
	return table
}

func (t *Table) listRow(object client.Object, options ListOptions) Row {
	status := StatusOf(object, options.Now)
	cells := map[string]string{
		"NAME": NameOf(object), "READY": status.Ready, "PHASE": status.Phase, "REVISION": Short(status.Revision),
		"AGE": ShowAge(object.GetCreationTimestamp().Time, options.Now), "MESSAGE": status.Text(),
	}
	if options.Namespaced {
		cells["NAMESPACE"] = object.GetNamespace()
	}
	if options.Copies || options.Wide {
		cells["OBJECT"] = strings.TrimSuffix(object.GetName(), NameOf(object))
	}
	yes := func(is bool) string { return map[bool]string{true: "True", false: "False"}[is] }
	switch object := object.(type) {
	case *v1alpha1.Installation:
		cells["SUSPENDED"], cells["DRIFT"], cells["PENDING"] = yes(status.Suspended), yes(status.Drifted), yes(status.Pending)
	case *v1alpha1.Execution:
		cells["DRIFT"] = yes(status.Drifted)
	case *v1alpha1.DeployItem:
		cells["DRIFT"], cells["PENDING"] = yes(status.Drifted), yes(status.Pending)
		cells["TYPE"] = object.Spec.Type[strings.LastIndex(object.Spec.Type, "/")+1:]
		cells["TARGET"] = targetName(object)
		if options.Wide && object.Status.Deployer != nil {
			cells["DEPLOYER"] = object.Status.Deployer.Name + " " + object.Status.Deployer.Version
		}
	case *v1alpha1.Target:
		cells["TYPE"], cells["FROM"] = object.Spec.Type[strings.LastIndex(object.Spec.Type, "/")+1:], exporterOf(object)
	case *v1alpha1.DataObject:
		cells["FROM"] = exporterOf(object)
		if object.SecretReference != nil {
			cells["TYPE"] = "sensitive"
		}
	case *v1alpha1.Context:
		cells["MESSAGE"] = repositoryOf(object)
	case *v1alpha1.TargetSync:
		cells["SUSPENDED"] = yes(status.Suspended)
	}
	if object, ok := object.(job); ok && options.Wide {
		if status.Runs > 0 {
			cells["RUNS"] = fmt.Sprint(status.Runs)
		}
		cells["TOOK"], cells["JOB"] = ShowDuration(status.Took.Duration), object.Job().JobID
	}
	row := Row{Health: status.Health, Below: gap, Minor: status.Health == Well && !status.Drifted}
	for _, column := range t.Columns {
		row.Cells = append(row.Cells, cells[column.Title])
	}
	return row
}

// repositoryOf says in one line where a Context finds components.
func repositoryOf(object *v1alpha1.Context) string {
	if object.RepositoryContext == nil {
		return ""
	}
	var repository struct {
		Type, BaseURL string
		SourceRef     struct{ Kind, Name string }
	}
	if json.Unmarshal(object.RepositoryContext.RawMessage, &repository) != nil {
		return ""
	}
	if repository.SourceRef.Name != "" {
		return repository.SourceRef.Kind + " " + repository.SourceRef.Name
	}
	return cmp.Or(repository.BaseURL, repository.Type)
}

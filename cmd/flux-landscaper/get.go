// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

func showCommand() *cobra.Command {
	cmd := group("get", "Show what is in the landscaper cluster", nil)
	for _, kind := range landscape.Kinds[:7] {
		get := &getFlags{kinds: []string{kind.Name}}
		aliases := append([]string{strings.ToLower(kind.Name)}, kind.Short...)
		cmd.AddCommand(get.command(kind.Plural, aliases, "Show "+landscape.PluralOf(kind.Name)))
	}
	environments := &getFlags{kinds: []string{"Environment", "Installation"}, table: environmentTable}
	deployers := &getFlags{kinds: []string{"DeployerRegistration", "Environment", "Installation"}, table: deployerTable, named: 1}
	all := &getFlags{kinds: []string{"Installation", "Execution", "DeployItem", "Target", "DataObject", "Context", "TargetSync"}}
	cmd.AddCommand(
		environments.command("environments", []string{"environment", "env"}, "Show the Environments and whether their agents are alive"),
		deployers.command("deployers", []string{"deployer", "dreg", "deployerregistrations"}, "Show the deployers of all Environments, and how far their installation is"),
		all.command("all", nil, "Show all objects of a namespace, kind by kind"))
	return cmd
}

// getFlags are the flags of get.
type getFlags struct {
	cluster
	// kinds are those that are read; the first one is shown, or all in turn where there are more and no table.
	kinds []string
	// table is what is shown of kinds that have no namespace, and named the column with the name.
	table func(*landscape.Snapshot) *landscape.Table
	named int

	all, watch, copies bool
	selector, output   string
	list               landscape.ListOptions
}

func (f *getFlags) command(name string, aliases []string, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " [NAME...]", Aliases: aliases, Short: short,
		Example: "  flux-landscaper get " + name,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.bindFlags(flags)
	flags.StringVarP(&f.output, "output", "o", "", "How to print the result: wide, name, yaml or json; by default a table.")
	flags.StringVarP(&f.selector, "selector", "l", "", "A selector of labels, such as team=shop.")
	flags.BoolVarP(&f.watch, "watch", "w", false, "Keep running and print what changes.")
	if f.table == nil {
		f.bindNamespace(flags)
	}
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "Show the objects of all namespaces.")
	if f.table == nil {
		cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	}
	if slices.Contains(f.kinds, "DataObject") || slices.Contains(f.kinds, "Target") {
		flags.BoolVar(&f.copies, "copies", false, "Also show the copies of imports that controllers make for their own use.")
	}
	if len(f.kinds) == 1 || f.table != nil {
		cmd.ValidArgsFunction = f.completeNames(f.kinds[0])
	} else {
		cmd.Args, cmd.Use = cobra.NoArgs, name
	}
	f.complete(cmd)
	return cmd
}

func (f *getFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := checkOutput(f.output, "", "wide", "name", "yaml", "json"); err != nil {
		return err
	}
	f.list = landscape.ListOptions{Names: args, Copies: f.copies, Wide: f.output == "wide", Namespaced: f.all && f.table == nil}
	if f.list.Selector, err = labels.Parse(f.selector); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	view, err := f.view(f.all || f.table != nil)
	if err != nil {
		return err
	}
	if f.watch {
		if f.output != "" && f.output != "wide" {
			return fmt.Errorf("--watch shows a table; leave --output %s out", f.output)
		}
		return f.follow(cmd, view)
	}
	snapshot, err := view.read(cmd, f.kinds...)
	if err != nil {
		return err
	}
	return f.print(cmd, view, snapshot)
}

// shown are the kinds that are printed.
func (f *getFlags) shown() []string {
	if f.table != nil {
		return f.kinds[:1]
	}
	return f.kinds
}

func (f *getFlags) print(cmd *cobra.Command, view *viewer, snapshot *landscape.Snapshot) error {
	if len(f.kinds) == 1 && slices.Contains(snapshot.Withheld, f.kinds[0]) {
		return fmt.Errorf("you may not list %s in %s", landscape.PluralOf(f.kinds[0]), where(view.namespace))
	}
	f.list.Now = time.Now()
	var found []client.Object
	var tables []*landscape.Table
	for _, kind := range f.shown() {
		objects := snapshot.Select(kind, f.list)
		found = append(found, objects...)
		if len(objects) > 0 {
			tables = append(tables, f.tableOf(snapshot, objects))
		}
	}
	if f.table != nil && len(found) == 0 {
		tables = []*landscape.Table{f.tableOf(snapshot, nil)} // deployers may be missing, and say so
	}
	for _, name := range f.list.Names {
		if !slices.ContainsFunc(found, func(o client.Object) bool { return o.GetName() == name || landscape.NameOf(o) == name }) {
			return fmt.Errorf("there is no %s %s in %s", f.kinds[0], name, where(view.namespace))
		}
	}
	switch f.output {
	case "name", "yaml", "json":
		return printObjects(cmd, view.client.Scheme(), found, f.output, len(f.list.Names) == 1)
	}
	if len(found) == 0 && f.table == nil {
		printAction(cmd, "nothing found in %s", where(view.namespace))
	}
	for i, table := range tables {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		printLines(cmd.OutOrStdout(), table.Lines(view.screen.Width(), view.screen.Paint))
	}
	return nil
}

// tableOf shows objects of one kind. Where all kinds are shown each name has its kind.
func (f *getFlags) tableOf(snapshot *landscape.Snapshot, objects []client.Object) *landscape.Table {
	if f.table != nil {
		table := f.table(snapshot)
		if len(f.list.Names) == 0 && f.list.Selector.Empty() {
			return table
		}
		table.Rows = slices.DeleteFunc(table.Rows, func(row landscape.Row) bool {
			return !slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetName() == row.Cells[f.named] })
		})
		return table
	}
	table := landscape.ListTable(objects, f.list)
	if len(f.kinds) > 1 {
		for i := range table.Rows {
			table.Rows[i].Cells[0] = strings.ToLower(landscape.IDOf(objects[i]).Kind) + "/" + table.Rows[i].Cells[0]
		}
	}
	return table
}

// follow prints the table and then the rows that change.
func (f *getFlags) follow(cmd *cobra.Command, view *viewer) error {
	printed := map[string]string{}
	return view.follow(cmd, func(snapshot *landscape.Snapshot) error {
		f.list.Now = time.Now()
		for _, kind := range f.shown() {
			objects := snapshot.Select(kind, f.list)
			table := f.tableOf(snapshot, objects)
			blocks := table.Blocks(view.screen.Width(), view.screen.Paint)
			if _, begun := printed[kind]; !begun && len(table.Rows) > 0 {
				printed[kind] = ""
				printLines(cmd.OutOrStdout(), blocks[0])
			}
			for i, row := range table.Rows {
				name, text := kind+" "+strings.Join(row.Cells[:f.named+1], " "), strings.Join(rowWithoutAge(table, row), "\t")
				if f.table == nil {
					name = string(objects[i].GetUID())
				}
				if before, known := printed[name]; !known || before != text {
					printed[name] = text
					printLines(cmd.OutOrStdout(), blocks[i+1])
				}
			}
		}
		return nil
	}, f.kinds...)
}

// rowWithoutAge are the cells that change only when the object does.
func rowWithoutAge(table *landscape.Table, row landscape.Row) []string {
	cells := slices.Clone(row.Cells)
	for i, column := range table.Columns {
		if column.Title == "AGE" || column.Title == "TOOK" {
			cells[i] = ""
		}
	}
	return cells
}

// printObjects prints names, or objects as the API server has them, without managed fields: one alone or as a list.
func printObjects(cmd *cobra.Command, scheme *runtime.Scheme, objects []client.Object, output string, alone bool) error {
	items := []map[string]any{}
	for _, object := range objects {
		kinds, _, err := scheme.ObjectKinds(object)
		if err != nil {
			return err
		}
		if output == "name" {
			fmt.Fprintf(cmd.OutOrStdout(), "%s.%s/%s\n", strings.ToLower(kinds[0].Kind), kinds[0].Group, object.GetName())
			continue
		}
		item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		item["apiVersion"], item["kind"] = kinds[0].GroupVersion().String(), kinds[0].Kind
		delete(item["metadata"].(map[string]any), "managedFields")
		items = append(items, item)
	}
	switch {
	case output == "name":
		return nil
	case alone && len(items) == 1:
		return printStructured(cmd, items[0], output)
	}
	return printStructured(cmd, map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, output)
}

// printStructured prints a value as yaml or json.
func printStructured(cmd *cobra.Command, value any, output string) error {
	if output == "json" {
		return printJSON(cmd, value)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

func printLines(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

func where(namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace
}

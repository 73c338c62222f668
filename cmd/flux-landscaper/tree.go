// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// treeFlags are the flags of tree.
type treeFlags struct {
	cluster
	all, watch, data, failed bool
	output                   string
	// kinds are those whose trees can be asked for; the first one where only a name is given.
	kinds []string
	// inspects prints yaml and json in the form of landscaper-cli.
	inspects bool
}

func showTreeCommand() *cobra.Command {
	f := &treeFlags{kinds: []string{"Installation", "Kustomization"}}
	cmd := &cobra.Command{
		Use:   "tree [[kustomization|installation] NAME]",
		Short: "Show what belongs to what, and how it is",
		Long: "Show Kustomizations of Flux, the Installations that they apply, with sub-installations and deploy items, and what is deployed on the targets.\n" +
			"RUNS counts the jobs that status.history remembers, TOOK is the time of the last one.\n" +
			"A terminal, or $COLUMNS, gives the width; columns that do not fit are left out, and messages are wrapped.",
		Args: cobra.MaximumNArgs(2),
		Example: "  flux-landscaper tree -n team\n" +
			"  flux-landscaper tree installation shop -n team --data\n" +
			"  flux-landscaper tree -A --failed",
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return append([]string{"kustomization", "installation"}, f.names("Installation", "")...), cobra.ShellCompDirectiveNoFileComp
			}
			if kind, ok := landscape.KindOf(args[0]); ok && len(args) == 1 {
				return f.names(kind.Name, ""), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.watch, "watch", "w", false, "Keep running and show what changes: in place on a terminal, else line by line.")
	flags.BoolVar(&f.data, "data", false, "Show what Installations import, and from whom.")
	return cmd
}

func inspectCommand() *cobra.Command {
	f := &treeFlags{kinds: []string{"Installation"}, inspects: true}
	cmd := &cobra.Command{
		Use: "inspect [NAME]", Aliases: []string{"status", "tree"}, Args: cobra.MaximumNArgs(1),
		Short: "Show Installations with all below them; tree does the same and will stay",
		Long: "Show Installations with all below them. Use `flux landscaper tree` instead: this command is removed in the next release. -o yaml and -o json have\n" +
			"the form of landscaper-cli.",
		Example: "  flux-landscaper installation inspect -n team\n" +
			"  flux-landscaper installation inspect shop -n team --failed",
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
		ValidArgsFunction: f.completeNames("Installation"),
	}
	f.bind(cmd)
	return cmd
}

func (f *treeFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.bindFlags(flags)
	f.bindNamespace(flags)
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "Show the Installations of all namespaces.")
	flags.BoolVarP(&f.failed, "failed", "f", false, "Show only what is not well, drifted or suspended, with what is above it.")
	flags.StringVarP(&f.output, "output", "o", "text", "How to print the result: text, yaml or json.")
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	f.complete(cmd)
}

func (f *treeFlags) run(cmd *cobra.Command, args []string) error {
	if err := checkOutput(f.output, "text", "wide", "yaml", "json"); err != nil {
		return err
	}
	kind, name, err := f.named(args)
	if err != nil {
		return err
	}
	v, err := f.view(f.all)
	if err != nil {
		return err
	}
	if f.watch {
		if f.output != "text" && f.output != "wide" {
			return fmt.Errorf("--watch shows a tree; leave --output %s out", f.output)
		}
		return f.follow(cmd, v, kind, name)
	}
	snapshot, err := v.readFor(cmd, kind, f.reads()...)
	if err != nil {
		return err
	}
	under, err := find(snapshot, v.namespace, kind, name)
	if err != nil {
		return err
	}
	switch {
	case f.output != "text" && f.output != "wide" && f.inspects:
		return printStructured(cmd, inspected(snapshot, under, f.failed), f.output)
	case f.output != "text" && f.output != "wide":
		return printStructured(cmd, f.tree(snapshot, under), f.output)
	}
	table := landscape.TreeTable(f.tree(snapshot, under), f.all)
	if len(table.Rows) == 0 {
		printDone(cmd, "nothing to show in %s", where(v.namespace))
		return nil
	}
	printLines(cmd.OutOrStdout(), table.Lines(v.screen.Width(), v.screen.Paint))
	return nil
}

// reads are the kinds that the tree is made of.
func (f *treeFlags) reads() []string {
	kinds := []string{"Kustomization", "Installation", "Execution", "DeployItem"}
	if f.data {
		kinds = append(kinds, "DataObject", "Target")
	}
	return kinds
}

func (f *treeFlags) tree(snapshot *landscape.Snapshot, under client.Object) []*landscape.Node {
	return snapshot.Tree(landscape.TreeOptions{Data: f.data, Failed: f.failed, Under: under, Now: time.Now()})
}

// follow shows the tree in place on a terminal, and line by line elsewhere.
func (f *treeFlags) follow(cmd *cobra.Command, v *viewer, kind, name string) error {
	var changes landscape.Changes
	return v.follow(cmd, func(snapshot *landscape.Snapshot) error {
		under, err := find(snapshot, v.namespace, kind, name)
		if err != nil {
			return err
		}
		roots := f.tree(snapshot, under)
		if v.screen.Live {
			v.screen.Show(landscape.TreeTable(roots, f.all).Lines(v.screen.Width(), v.screen.Paint))
			return nil
		}
		printLines(cmd.OutOrStdout(), changes.Lines(roots, time.Now()))
		return nil
	}, f.reads()...)
}

// named reads KIND NAME, KIND/NAME or NAME.
func (f *treeFlags) named(args []string) (kind, name string, err error) {
	if len(args) == 0 {
		return "", "", nil
	}
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return f.kinds[0], args[0], nil
	}
	found, name, err := kindAndName(args)
	if err == nil && !slices.Contains(f.kinds, found) {
		err = fmt.Errorf("a tree is that of a Kustomization or Installation, not of a %s", found)
	}
	return found, name, err
}

// kindAndName reads KIND NAME or KIND/NAME.
func kindAndName(args []string) (kind, name string, err error) {
	if len(args) == 1 {
		args = strings.SplitN(args[0], "/", 2)
	}
	if len(args) != 2 || args[1] == "" {
		return "", "", fmt.Errorf("%q names nothing; give KIND/NAME, such as installation/shop", strings.Join(args, " "))
	}
	found, ok := landscape.KindOf(args[0])
	if !ok {
		known := &cobra.Command{Use: "flux-landscaper get"}
		for _, k := range landscape.Kinds {
			known.AddCommand(&cobra.Command{Use: strings.ToLower(k.Name), Run: func(*cobra.Command, []string) {}})
		}
		return "", "", fmt.Errorf("%q is no kind of a landscape%s", args[0], didYouMean(known, strings.ToLower(args[0]), ""))
	}
	return found.Name, args[1], nil
}

// find returns the object that is named, nil where none is.
func find(snapshot *landscape.Snapshot, namespace, kind, name string) (client.Object, error) {
	if name == "" {
		return nil, nil
	}
	found := snapshot.Named(kind, namespace, name)
	if len(found) == 0 && kind == "Kustomization" { // it is mostly in another namespace than what it applies
		found = snapshot.Named(kind, "", name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && found[0].GetNamespace() != found[1].GetNamespace():
		return nil, fmt.Errorf("there are %d %s %s: say --namespace, such as %s", len(found), landscape.PluralOf(kind), name, found[0].GetNamespace())
	case len(found) > 1:
		return nil, fmt.Errorf("there are %d %s %s: name one, %s", len(found), landscape.PluralOf(kind), name, candidates(snapshot, found))
	case slices.Contains(snapshot.Withheld, kind):
		return nil, fmt.Errorf("you may not list %s in %s", landscape.PluralOf(kind), where(namespace))
	}
	return nil, fmt.Errorf("there is no %s %s in %s", kind, name, where(namespace))
}

// candidates lists the names of objects, and which Installation each belongs to.
func candidates(snapshot *landscape.Snapshot, found []client.Object) string {
	var names []string
	for _, object := range found {
		name := object.GetName()
		if owner := snapshot.Parent(object); owner != nil {
			name += " (of " + owner.GetName() + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, " or ")
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	"github.com/xlab/treeprint"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func installationCommand() *cobra.Command {
	return group("installation", "Show Installations as trees", []string{"installations", "inst", "i"},
		inspectCommand(),
		former("reconcile", reconcileCommand()), former("interrupt", interruptCommand()), former("force-delete", deleteCommand(), "--force", "--silent"))
}

// former is an earlier name of a command on an Installation.
func former(name string, verb *cobra.Command, flags ...string) *cobra.Command {
	cmd, _, _ := verb.Find([]string{"installation"})
	verb.RemoveCommand(cmd)
	cmd.Use, cmd.Aliases, cmd.Deprecated = name+" NAME", nil, "use "+strings.Join(append([]string{"flux-landscaper", verb.Name(), "installation"}, flags...), " ")
	_ = cmd.Flags().Set("wait", "false")
	for _, flag := range flags {
		_ = cmd.Flags().Set(strings.TrimPrefix(flag, "--"), "true")
	}
	return cmd
}

// installationTree is an Installation with all below it, in the form of installations inspect of landscaper-cli.
type installationTree struct {
	Installation     *v1alpha1.Installation `json:"installation"`
	SubInstallations []*installationTree    `json:"subInstallations,omitempty"`
	Execution        *executionTree         `json:"execution,omitempty"`
}

type executionTree struct {
	Execution   *v1alpha1.Execution `json:"execution"`
	DeployItems []deployItemLeaf    `json:"deployItems,omitempty"`
}

type deployItemLeaf struct {
	DeployItem *v1alpha1.DeployItem `json:"deployItem"`
}

// inspectFlags are the flags of installation inspect.
type inspectFlags struct {
	from   cluster
	all    bool
	failed bool
	output string
}

func inspectCommand() *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use: "inspect [NAME]", Aliases: []string{"status", "tree"}, Args: cobra.MaximumNArgs(1),
		Short: "Show Installations with all below them as trees, and why they failed",
		Long: "Show an Installation, or all root Installations of the namespace, with sub-installations, Executions and DeployItems, the phase of each\n" +
			"and its last error, or why it is not ready. \"outdated\" are those that have not yet the job of their root.",
		Example: "  flux-landscaper installation inspect -n team\n" +
			"  flux-landscaper installation inspect shop -n team --failed",
		RunE: func(cmd *cobra.Command, args []string) error { return f.inspect(cmd, args) },
	}
	f.from.bindFlags(cmd.Flags())
	f.from.bindNamespace(cmd.Flags())
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "Show the Installations of all namespaces.")
	cmd.Flags().BoolVarP(&f.failed, "failed", "f", false, "Show only what has failed, and what it is below.")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "How to print the result: text, wide, yaml or json.")
	cmd.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	return cmd
}

func (f *inspectFlags) inspect(cmd *cobra.Command, args []string) error {
	if err := checkOutput(f.output, "text", "wide", "yaml", "json"); err != nil {
		return err
	}
	_, c, err := f.from.open()
	if err != nil {
		return err
	}
	namespace := ""
	if !f.all {
		if namespace, err = f.from.namespaceOr(); err != nil {
			return err
		}
	}
	found := &inventory{}
	if err := found.read(cmd.Context(), c, namespace); err != nil {
		return err
	}
	trees := found.trees(args)
	if len(args) > 0 && len(trees) == 0 {
		return fmt.Errorf("there is no Installation %s in %s", args[0], where(namespace))
	}
	if f.failed {
		trees = slices.DeleteFunc(trees, func(t *installationTree) bool { return !t.keepFailed() })
	}
	return f.print(cmd, trees)
}

func where(namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace
}

func (f *inspectFlags) print(cmd *cobra.Command, trees []*installationTree) error {
	switch f.output {
	case "json":
		return printJSON(cmd, trees)
	case "yaml":
		text, err := yaml.Marshal(trees)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	for _, tree := range trees {
		name := tree.Installation.Name
		if f.all {
			name = tree.Installation.Namespace + "/" + name
		}
		drawing := treeprint.NewWithRoot(line("Installation", name, tree.Installation.Job(), ""))
		tree.draw(drawing, tree.Installation.Status.JobID, f.output == "wide")
		if _, err := fmt.Fprint(cmd.OutOrStdout(), drawing.String()); err != nil {
			return err
		}
	}
	return nil
}

// inventory is what there is in a namespace, or in all, with what each object controls.
type inventory struct {
	installations v1alpha1.InstallationList
	executions    v1alpha1.ExecutionList
	items         v1alpha1.DeployItemList

	children     map[types.UID][]*v1alpha1.Installation
	executionsOf map[types.UID]*v1alpha1.Execution
	itemsOf      map[types.UID][]deployItemLeaf
}

func (in *inventory) read(ctx context.Context, c client.Reader, namespace string) error {
	for _, list := range []client.ObjectList{&in.installations, &in.executions, &in.items} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	in.children, in.executionsOf = map[types.UID][]*v1alpha1.Installation{}, map[types.UID]*v1alpha1.Execution{}
	in.itemsOf = map[types.UID][]deployItemLeaf{}
	for i := range in.installations.Items {
		inst := &in.installations.Items[i]
		if owner := metav1.GetControllerOf(inst); owner != nil {
			in.children[owner.UID] = append(in.children[owner.UID], inst)
		}
	}
	for i := range in.executions.Items {
		execution := &in.executions.Items[i]
		if owner := metav1.GetControllerOf(execution); owner != nil {
			in.executionsOf[owner.UID] = execution
		}
	}
	for i := range in.items.Items {
		item := &in.items.Items[i]
		if owner := metav1.GetControllerOf(item); owner != nil {
			in.itemsOf[owner.UID] = append(in.itemsOf[owner.UID], deployItemLeaf{item})
		}
	}
	return nil
}

// trees returns those of the root Installations, or of the Installations that are named.
func (in *inventory) trees(names []string) []*installationTree {
	var trees []*installationTree
	for i := range in.installations.Items {
		inst := &in.installations.Items[i]
		if len(names) == 0 && inst.IsRoot() || slices.Contains(names, inst.Name) {
			trees = append(trees, in.tree(inst, map[types.UID]bool{}))
		}
	}
	return trees
}

// tree returns an Installation with all below it, each once: owners may lead round in a circle.
func (in *inventory) tree(inst *v1alpha1.Installation, seen map[types.UID]bool) *installationTree {
	seen[inst.UID] = true
	out := &installationTree{Installation: inst}
	for _, child := range in.children[inst.UID] {
		if !seen[child.UID] {
			out.SubInstallations = append(out.SubInstallations, in.tree(child, seen))
		}
	}
	if execution := in.executionsOf[inst.UID]; execution != nil {
		out.Execution = &executionTree{Execution: execution, DeployItems: in.itemsOf[execution.UID]}
	}
	return out
}

// keepFailed removes what has not failed, and reports whether anything is left.
func (t *installationTree) keepFailed() bool {
	t.SubInstallations = slices.DeleteFunc(t.SubInstallations, func(child *installationTree) bool { return !child.keepFailed() })
	if t.Execution != nil {
		t.Execution.DeployItems = slices.DeleteFunc(t.Execution.DeployItems, func(i deployItemLeaf) bool { return !hasFailed(i.DeployItem.Job()) })
		if len(t.Execution.DeployItems) == 0 && !hasFailed(t.Execution.Execution.Job()) {
			t.Execution = nil
		}
	}
	return len(t.SubInstallations) > 0 || t.Execution != nil || hasFailed(t.Installation.Job())
}

// draw adds what is below an Installation. Job is that of the root.
func (t *installationTree) draw(at treeprint.Tree, job string, wide bool) {
	for _, child := range t.SubInstallations {
		inst := child.Installation
		child.draw(at.AddBranch(line("Installation", inst.Name, inst.Job(), outdated(inst.Job(), job))), job, wide)
	}
	if t.Execution == nil {
		return
	}
	execution := t.Execution.Execution
	below := at.AddBranch(line("Execution", execution.Name, execution.Job(), outdated(execution.Job(), job)))
	for _, i := range t.Execution.DeployItems {
		item, more := i.DeployItem, ""
		if wide {
			more = " " + string(item.Spec.Type)
			if item.Spec.Target != nil {
				more += " → " + item.Spec.Target.Name
			}
		}
		below.AddNode(line("DeployItem", item.Name, item.Job(), more+outdated(item.Job(), job)))
	}
}

// outdated says that an object has not yet the job of its root.
func outdated(job *v1alpha1.JobStatus, root string) string {
	if job.JobID != root {
		return " (outdated)"
	}
	return ""
}

// hasFailed reports whether the last job failed, or what it made is lost or broken since.
func hasFailed(job *v1alpha1.JobStatus) bool {
	return job.Phase.IsFailed() || job.Phase == v1alpha1.PhaseSucceeded && apimeta.IsStatusConditionFalse(job.Conditions, meta.ReadyCondition)
}

// line shows an object with its phase, and below that its last error, else why it is not ready.
func line(kind, name string, job *v1alpha1.JobStatus, more string) string {
	mark := "🏗️"
	switch {
	case hasFailed(job):
		mark = "❌"
	case job.Phase == v1alpha1.PhaseSucceeded:
		mark = "✅"
	}
	out := fmt.Sprintf("[%s %s] %s %s%s", mark, cmp.Or(string(job.Phase), "-"), kind, name, more)
	ready := apimeta.FindStatusCondition(job.Conditions, meta.ReadyCondition)
	switch {
	case job.LastError != nil && job.Phase != v1alpha1.PhaseSucceeded:
		out += "\nLast error: " + strings.Join(strings.Fields(job.LastError.Message), " ")
	case ready != nil && ready.Status == metav1.ConditionFalse:
		out += "\nNot ready: " + ready.Reason + ": " + strings.Join(strings.Fields(ready.Message), " ")
	}
	return out
}

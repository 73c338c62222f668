// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
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

// inspected returns trees in that form: of the objects, or of all root Installations where there are none.
func inspected(s *landscape.Snapshot, under client.Object, failed bool) []*installationTree {
	trees := []*installationTree{}
	for i := range s.Installations.Items {
		inst := &s.Installations.Items[i]
		if under == nil && s.Parent(inst) == nil || under != nil && inst.UID == under.GetUID() {
			trees = append(trees, inspect(s, inst, map[types.UID]bool{}))
		}
	}
	if failed {
		trees = slices.DeleteFunc(trees, func(t *installationTree) bool { return !t.keepFailed() })
	}
	return trees
}

// inspect returns an Installation with all below it, each once: owners may lead round in a circle.
func inspect(s *landscape.Snapshot, inst *v1alpha1.Installation, seen map[types.UID]bool) *installationTree {
	seen[inst.UID] = true
	out := &installationTree{Installation: inst}
	inst.ManagedFields = nil
	for _, child := range s.Children(inst) {
		switch child := child.(type) {
		case *v1alpha1.Installation:
			if !seen[child.UID] {
				out.SubInstallations = append(out.SubInstallations, inspect(s, child, seen))
			}
		case *v1alpha1.Execution:
			out.Execution = &executionTree{Execution: child}
			child.ManagedFields = nil
			for _, item := range s.Children(child) {
				if item, ok := item.(*v1alpha1.DeployItem); ok {
					item.ManagedFields = nil
					out.Execution.DeployItems = append(out.Execution.DeployItems, deployItemLeaf{item})
				}
			}
		}
	}
	return out
}

// keepFailed removes what has not failed, and reports whether anything is left.
func (t *installationTree) keepFailed() bool {
	t.SubInstallations = slices.DeleteFunc(t.SubInstallations, func(child *installationTree) bool { return !child.keepFailed() })
	if t.Execution != nil {
		t.Execution.DeployItems = slices.DeleteFunc(t.Execution.DeployItems, func(i deployItemLeaf) bool { return !hasFailed(i.DeployItem) })
		if len(t.Execution.DeployItems) == 0 && !hasFailed(t.Execution.Execution) {
			t.Execution = nil
		}
	}
	return len(t.SubInstallations) > 0 || t.Execution != nil || hasFailed(t.Installation)
}

// hasFailed reports whether the last job failed or is tried again, or what it made is lost or broken since.
func hasFailed(object client.Object) bool {
	return landscape.StatusOf(object, time.Now()).Health == landscape.Failing
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// deletion is how an Installation is deleted.
type deletion struct {
	orphan, force, silent, awaits bool
}

func deleteCommand() *cobra.Command {
	return verb("delete", "Delete an Installation and what it has deployed",
		"Before it asks, it lists what is uninstalled and what stays. An Installation that Flux applies from Git comes back, unless it is removed there.",
		func(cmd *cobra.Command, _ string) func(*action, *unstructured.Unstructured) error {
			d := &deletion{}
			cmd.Flags().BoolVar(&d.orphan, "orphan", false, "Leave what was deployed as it is.")
			cmd.Flags().BoolVar(&d.force, "force", false, "Wait for nothing and uninstall nothing; a ConfigMap says what was left behind. For targets that are gone.")
			cmd.Flags().BoolVarP(&d.silent, "silent", "s", false, "Do not ask.")
			cmd.Flags().BoolVar(&d.awaits, "wait", true, "Wait until the Installation is gone.")
			cmd.MarkFlagsMutuallyExclusive("orphan", "force")
			return d.run
		}, "Installation")
}

func (d *deletion) run(a *action, object *unstructured.Unstructured) error {
	if !d.force {
		if err := a.root(object, "delete"); err != nil {
			return err
		}
	}
	if err := d.announce(a, object); err != nil {
		return err
	}
	if !d.silent {
		if err := confirm(a.cmd, "Delete "+describe(object)+"?"); err != nil {
			return err
		}
	}
	uid := object.GetUID()
	if err := a.c.Delete(a.cmd.Context(), object, client.Preconditions{UID: &uid}, client.DryRunAll); err != nil {
		return err // before an annotation that a later deletion would follow
	}
	annotation := map[bool]string{d.orphan: v1alpha1.DeleteWithoutUninstallAnnotation, d.force: v1alpha1.ForceDeleteAnnotation}[true]
	if annotation != "" {
		if err := a.annotate(object, annotation, "true"); err != nil {
			return err
		}
	}
	if err := a.c.Delete(a.cmd.Context(), object, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return err
	}
	if !d.awaits {
		printAction(a.cmd, "%s is being deleted", describe(object))
		return nil
	}
	return a.gone(object, a.poll(object, never))
}

// announce lists what goes with an Installation and what stays.
func (d *deletion) announce(a *action, object *unstructured.Unstructured) error {
	if object.GetLabels()[kustomizev1.GroupVersion.Group+"/name"] != "" {
		printWarning(a.cmd, "Flux applies %s from Git and makes it again at its next sync, unless it is removed there", describe(object))
	}
	found, err := landscape.Read(a.cmd.Context(), a.c, object.GetNamespace(), "Installation", "Execution", "DeployItem")
	if err != nil {
		return err
	}
	if len(found.Withheld) > 0 {
		printWarning(a.cmd, "you may not list %ss: what goes of them is not shown", strings.Join(found.Withheld, "s, "))
	}
	var list func(tree *installationTree, stays bool)
	list = func(tree *installationTree, stays bool) {
		inst, fate := tree.Installation, "is uninstalled"
		stays = stays || inst.Spec.Suspend || inst.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan ||
			inst.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] == "true"
		if stays {
			fate = "stays as it is"
		}
		printAction(a.cmd, "Installation %s goes", inst.Name)
		if tree.Execution != nil {
			for _, leaf := range tree.Execution.DeployItems {
				item, on := leaf.DeployItem, ""
				if item.Spec.Target != nil {
					on = " on Target " + item.Spec.Target.Name
				}
				printAction(a.cmd, "  DeployItem %s goes; what it has deployed%s %s", item.Name, on, fate)
			}
		}
		for _, child := range tree.SubInstallations {
			list(child, stays)
		}
	}
	for _, tree := range inspected(found, object, false) {
		list(tree, d.orphan || d.force)
	}
	return nil
}

// confirm asks a person.
func confirm(cmd *cobra.Command, question string) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	type line struct {
		text string
		err  error
	}
	answered := make(chan line, 1)
	go func() { // reading cannot be ended
		text, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		answered <- line{text, err}
	}()
	select {
	case <-cmd.Context().Done():
		return errors.New("nothing was done")
	case answer := <-answered:
		switch {
		case strings.EqualFold(strings.TrimSpace(answer.text), "y"):
			return nil
		case answer.err != nil:
			return errors.New("nobody answered, and nothing was done: --silent does not ask")
		}
		return errors.New("nothing was done")
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	cluster
	target, targetKubeconfig, output string
}

func traceCommand() *cobra.Command {
	f := &traceFlags{}
	cmd := &cobra.Command{
		Use:   "trace KIND/[NAMESPACE/]NAME",
		Short: "Say where an object on a target cluster comes from, up to the commit",
		Long: "Say which deploy item has deployed an object, which Installations that item belongs to, and from which blueprint, chart, source revision and\n" +
			"Kustomization they come. It reads the inventories in the status of deploy items, in all namespaces or that of -n.\n" +
			"With --target-kubeconfig it also follows owners, so that it finds the Installation behind the Pod of a Deployment.",
		Example: "  flux-landscaper trace deployment/shop/web\n" +
			"  flux-landscaper trace pod/shop/web-7d4b9-x2x --target-kubeconfig production.kubeconfig",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "The namespace of the landscaper cluster; by default all.")
	cmd.Flags().StringVar(&f.target, "target", "", "The name of the Target that the object is on; by default any.")
	cmd.Flags().StringVar(&f.targetKubeconfig, "target-kubeconfig", "", "The kubeconfig of the cluster that the object is on.")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "How to print the result: text, yaml or json.")
	_ = cmd.MarkFlagFilename("target-kubeconfig")
	f.complete(cmd)
	return cmd
}

func (f *traceFlags) run(cmd *cobra.Command, object string) error {
	if err := checkOutput(f.output, "text", "yaml", "json"); err != nil {
		return err
	}
	parts := strings.Split(object, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return fmt.Errorf("%q names no object; give KIND/NAME or KIND/NAMESPACE/NAME, such as deployment/shop/web", object)
	}
	asked := landscape.ID{Kind: parts[0], Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		asked.Namespace = parts[1]
	}
	ways := []landscape.ID{asked}
	if f.targetKubeconfig != "" {
		owners, err := ownersOn(cmd.Context(), f.targetKubeconfig, asked)
		if err != nil {
			return err
		}
		ways = owners
	}
	v, err := f.view(f.namespace == "")
	if err != nil {
		return err
	}
	snapshot, err := v.read(cmd, "DeployItem", "Execution", "Installation", "Kustomization", "GitRepository", "OCIRepository")
	if err != nil {
		return err
	}
	for i, way := range ways {
		found := snapshot.Trace(way, f.target, time.Now())
		if len(found) == 0 {
			continue
		}
		for _, owner := range ways[:i] {
			printAction(cmd, "%s %s belongs to %s %s", owner.Kind, owner.Name, ways[i].Kind, ways[i].Name)
		}
		if f.output != "text" {
			return printStructured(cmd, found, f.output)
		}
		for _, trace := range found {
			printLines(cmd.OutOrStdout(), trace.Lines(v.screen.Width(), v.screen.Paint))
		}
		return nil
	}
	if slices.Contains(snapshot.Withheld, "DeployItem") {
		return fmt.Errorf("you may not list DeployItems in %s, and only they know what is deployed", where(v.namespace))
	}
	return fmt.Errorf("no deploy item in %s has recorded %s", where(v.namespace), object)
}

// ownersOn returns an object of a cluster and those that control it, each after what it controls.
func ownersOn(ctx context.Context, kubeconfig string, asked landscape.ID) ([]landscape.ID, error) {
	_, c, err := (&cluster{kubeconfig: kubeconfig}).open()
	if err != nil {
		return nil, err
	}
	kind, err := kindOn(c, asked.Kind)
	if err != nil {
		return nil, fmt.Errorf("--target-kubeconfig %s: %w", kubeconfig, err)
	}
	ways := []landscape.ID{}
	for name := asked.Name; ; {
		ways = append(ways, landscape.ID{Kind: kind.Kind, Namespace: asked.Namespace, Name: name})
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind)
		if err := c.Get(ctx, client.ObjectKey{Namespace: asked.Namespace, Name: name}, object); err != nil {
			if len(ways) > 1 { // whoever may not see the owner has its name
				return ways, nil
			}
			return nil, fmt.Errorf("--target-kubeconfig %s: %w", kubeconfig, err)
		}
		owner := metav1.GetControllerOfNoCopy(object)
		if owner == nil || len(ways) > 10 {
			return ways, nil
		}
		kind, name = schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), owner.Name
	}
}

// kindOn finds the kind that a person means by a kind or resource, whatever its case.
func kindOn(c client.Client, name string) (schema.GroupVersionKind, error) {
	return c.RESTMapper().KindFor(schema.GroupVersionResource{Resource: strings.ToLower(name)})
}

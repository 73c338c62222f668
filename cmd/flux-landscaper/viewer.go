// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// viewer is a landscape that a command shows.
type viewer struct {
	config *rest.Config
	client client.WithWatch
	// namespace is the one that is shown, empty for all, and at names the cluster for errors.
	namespace, at string
	screen        *landscape.Screen
}

// view opens the landscape of a namespace, or of all.
func (k *cluster) view(all bool) (*viewer, error) {
	config, c, err := k.open()
	if err != nil {
		return nil, err
	}
	v := &viewer{config: config, client: c, at: k.where(), screen: landscape.NewScreen(os.Stdout)}
	if !all {
		if v.namespace, err = k.namespaceOr(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// read lists the landscape and says what may not be listed.
func (v *viewer) read(cmd *cobra.Command, kinds ...string) (*landscape.Snapshot, error) {
	snapshot, err := landscape.Read(cmd.Context(), v.client, v.namespace, kinds...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.at, err)
	}
	v.warn(cmd, snapshot)
	return snapshot, nil
}

// warn says what may not be listed.
func (v *viewer) warn(cmd *cobra.Command, snapshot *landscape.Snapshot) {
	var withheld []string
	for _, kind := range snapshot.Withheld {
		withheld = append(withheld, landscape.PluralOf(kind))
	}
	if len(withheld) > 0 {
		printWarning(cmd, "you may not list %s in %s; they are left out", strings.Join(withheld, ", "), where(v.namespace))
	}
}

// readFor reads what is around an object of a kind: a Kustomization applies Installations to any namespace.
func (v *viewer) readFor(cmd *cobra.Command, kind string, kinds ...string) (*landscape.Snapshot, error) {
	if kind == "Kustomization" && v.namespace != "" {
		everywhere, err := landscape.Read(cmd.Context(), v.client, "", kinds...)
		if err == nil && len(everywhere.Withheld) == 0 {
			return everywhere, nil
		}
	}
	return v.read(cmd, kinds...)
}

// bindObject makes a command one about an object that is named.
func (k *cluster) bindObject(cmd *cobra.Command) {
	cmd.Args = cobra.RangeArgs(1, 2)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return k.completeObject(args, begun)
	}
	k.bindFlags(cmd.Flags())
	k.bindNamespace(cmd.Flags())
	k.complete(cmd)
}

// about reads the landscape around an object that is named.
func (k *cluster) about(cmd *cobra.Command, args []string, kinds ...string) (*viewer, *landscape.Snapshot, client.Object, error) {
	kind, name, err := kindAndName(args)
	if err != nil {
		return nil, nil, nil, err
	}
	v, err := k.view(false)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(kinds) > 0 && !slices.Contains(kinds, kind) {
		kinds = append(kinds, kind)
	}
	snapshot, err := v.readFor(cmd, kind, kinds...)
	if err != nil {
		return nil, nil, nil, err
	}
	object, err := find(snapshot, v.namespace, kind, name)
	return v, snapshot, object, err
}

// follow shows the landscape after each change until the command is stopped.
func (v *viewer) follow(cmd *cobra.Command, show func(*landscape.Snapshot) error, kinds ...string) error {
	snapshots, err := landscape.Watch(cmd.Context(), v.config, v.client, v.namespace, kinds...)
	if err != nil {
		return fmt.Errorf("%s: %w", v.at, err)
	}
	warned := false
	for snapshot := range snapshots {
		if !warned {
			v.warn(cmd, snapshot)
			warned = true
		}
		if err := show(snapshot); err != nil {
			return err
		}
	}
	return nil
}

// completionTimeout is how long the shell waits for names.
const completionTimeout = 3 * time.Second

// complete lets the shell complete the flags that say where to look.
func (k *cluster) complete(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := k.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for name := range raw.Contexts {
			names = append(names, name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagFilename("kubeconfig")
	if cmd.Flags().Lookup("namespace") == nil {
		return
	}
	_ = cmd.RegisterFlagCompletionFunc("namespace", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		_, c, err := k.open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
		defer cancel()
		list := &corev1.NamespaceList{}
		if err := c.List(ctx, list); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeNames completes the names of objects of a kind.
func (k *cluster) completeNames(kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return k.names(kind, ""), cobra.ShellCompDirectiveNoFileComp
	}
}

// names returns those of the objects of a kind, each after a prefix; none where the cluster does not answer.
func (k *cluster) names(kind, prefix string) []string {
	v, err := k.view(false)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	snapshot, err := landscape.Read(ctx, v.client, v.namespace, kind)
	if err != nil {
		return nil
	}
	var names []string
	for _, object := range snapshot.Select(kind, landscape.ListOptions{}) {
		names = append(names, prefix+landscape.NameOf(object))
	}
	return names
}

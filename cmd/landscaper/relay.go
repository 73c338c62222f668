// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flux-landscaper/flux-landscaper/controllers/relay"
	deployersrelay "github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

// relayFlags are the flags of the content relay.
type relayFlags struct {
	process
	accessFlags
	address    string
	timeout    time.Duration
	publicOnly bool
}

func relayOf() (*cobra.Command, *relayFlags) {
	flags := &relayFlags{process: process{name: "relay"}}
	command := serving("relay", "Serve the content of DeployItems to the deployers of fenced clusters", flags.run)
	flags.bindServerFlags(command.Flags())
	flags.bindReferenceFlags(command.Flags())
	flags.accessFlags.bindFlags(command.Flags())
	bindPublicOnly(command.Flags(), &flags.publicOnly)
	command.Flags().StringVar(&flags.address, "content-addr", ":9444", "The address that content is served on, over TLS.")
	command.Flags().DurationVar(&flags.timeout, "content-timeout", 2*time.Minute, "How long content may take to be found.")
	flags.watch.AllNamespaces = true
	return command, flags
}

func (f *relayFlags) run(ctx context.Context) error {
	mgr, err := f.start(func(*ctrl.Options, labels.Selector) {})
	if err != nil {
		return err
	}
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	access, cleanUp, err := f.accessFlags.open(mgr, live, f.sourcePolicy(), "", f.publicOnly)
	if err != nil {
		return err
	}
	defer cleanUp()
	finders, err := relay.Finders(access)
	if err != nil {
		return err
	}
	options := f.options(live, finders)
	if options.Keys, err = relay.ReadKeys(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
		return err
	}
	handler, err := relay.New(options)
	if err != nil {
		return err
	}
	server := relay.NewServer(f.address, handler)
	if err := mgr.AddReadyzCheck("content", server.Ready); err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// options is what the flags say about the service, which finds content with the finders.
func (f *relayFlags) options(live client.Client, finders map[deployersrelay.Kind]relay.Finder) relay.Options {
	return relay.Options{Client: live, Finders: finders, Timeout: f.timeout, Metrics: ctrlmetrics.Registry}
}

// contentFlags say whether a deployer gets content from the relay.
type contentFlags struct {
	relay string
}

func (c *contentFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.relay, "content-relay", "",
		"The Service of the content relay on the landscaper cluster, as namespace/name: charts, components and blueprints come from it alone, and no registry is contacted.")
}

// open returns the client of the relay, nil where there is none.
func (c *contentFlags) open(mgr ctrl.Manager) (*deployersrelay.Client, error) {
	if c.relay == "" {
		return nil, nil
	}
	opened, err := deployersrelay.NewClient(mgr.GetConfig(), mgr.GetHTTPClient(), c.relay)
	if err != nil {
		return nil, fmt.Errorf("--content-relay: %w", err)
	}
	return opened, nil
}

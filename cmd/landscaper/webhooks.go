// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/webhooks"
)

// shortestLifetime of a certificate leaves the API server some seconds to learn of the next one.
const shortestLifetime = 30 * time.Second

// webhooksFlags are the flags of the webhooks alone.
type webhooksFlags struct {
	process
	port        int
	disabled    []string
	service     string
	servicePort int32
	url         string
	namespace   string
	lifetime    time.Duration
}

// webhooksOf returns the command of the webhooks and what its flags set.
func webhooksOf() (*cobra.Command, *webhooksFlags) {
	flags := &webhooksFlags{process: process{name: "webhooks"}}
	command := serving("webhooks", "Refuse malformed objects when they are written", flags.run)
	flags.bindServerFlags(command.Flags())
	flags.bindOwnFlags(command.Flags())
	flags.watch.AllNamespaces = true
	return command, flags
}

func (f *webhooksFlags) bindOwnFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "The same as --landscaper-kubeconfig.")
	flags.IntVar(&f.port, "port", 9443, "The port that the webhooks are served on.")
	flags.StringSliceVar(&f.disabled, "disable-webhooks", nil,
		"Kinds that are not validated, of installations, deployitems, executions, targets; or all, which removes the registration.")
	flags.StringVar(&f.service, "webhook-service", "", "The Service at which the API server reaches the webhooks, as namespace/name.")
	flags.Int32Var(&f.servicePort, "webhook-service-port", 9443, "The port of that Service.")
	flags.StringVar(&f.url, "webhook-url", "", "The https URL at which the API server reaches the webhooks, in place of a Service.")
	flags.StringVar(&f.namespace, "cert-ns", "",
		"The namespace of the Secret with the certificates; by default that of the Service, else that of the process.")
	flags.DurationVar(&f.lifetime, "certificate-lifetime", 90*24*time.Hour,
		"The time a certificate is valid; the next one is made after two thirds of it.")
}

func (f *webhooksFlags) run(ctx context.Context) error {
	kinds, err := webhooks.Enabled(f.disabled)
	if err != nil {
		return err
	}
	if len(kinds) == 0 {
		return f.runNone(ctx)
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	options.Kinds = kinds
	reconciler := webhooks.New(options)
	mgr, err := f.start(func(o *ctrl.Options, _ labels.Selector) {
		o.Cache.ByObject = webhooks.CacheOptions(options.Namespace)
		o.WebhookServer = reconciler.Server(f.port)
	})
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := reconciler.Prepare(ctx); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// options checks the flags that say where the webhooks are.
func (f *webhooksFlags) options() (webhooks.Options, error) {
	endpoint, err := webhooks.ParseEndpoint(f.service, f.servicePort, f.url)
	if err != nil {
		return webhooks.Options{}, err
	}
	namespace := cmp.Or(f.namespace, endpoint.Namespace(), os.Getenv("RUNTIME_NAMESPACE"))
	if namespace == "" {
		return webhooks.Options{}, errors.New("name the namespace of the certificates: --cert-ns")
	}
	if f.lifetime < shortestLifetime {
		return webhooks.Options{}, errors.New("--certificate-lifetime has to be at least " + shortestLifetime.String())
	}
	return webhooks.Options{Endpoint: endpoint, Namespace: namespace, Lifetime: f.lifetime, Now: time.Now}, nil
}

// runNone removes the registration and stays, so that a Deployment whose webhooks are all disabled is healthy.
func (f *webhooksFlags) runNone(ctx context.Context) error {
	mgr, err := f.start(func(*ctrl.Options, labels.Selector) {})
	if err != nil {
		return err
	}
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	if err := webhooks.Unregister(ctx, direct); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

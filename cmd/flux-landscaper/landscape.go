// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// landscape says which landscaper cluster a command works on.
type landscape struct {
	kubeconfig, context, namespace string
}

func (l *landscape) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.kubeconfig, "kubeconfig", "", "The kubeconfig of the landscaper cluster; by default as kubectl finds it.")
	flags.StringVar(&l.context, "context", "", "The context of the kubeconfig; by default the current one.")
}

func (l *landscape) bindNamespace(flags *pflag.FlagSet) {
	flags.StringVarP(&l.namespace, "namespace", "n", "", "The namespace; by default that of the context.")
}

// loader reads the kubeconfig.
func (l *landscape) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = l.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: l.context})
}

// namespaceOr returns the namespace of the flag, or else that of the context.
func (l *landscape) namespaceOr() (string, error) {
	if l.namespace != "" {
		return l.namespace, nil
	}
	namespace, _, err := l.loader().Namespace()
	return namespace, err
}

// open connects to the landscaper cluster.
func (l *landscape) open() (*rest.Config, client.WithWatch, error) {
	config, err := l.loader().ClientConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	c, err := connect(config)
	return config, c, err
}

// connect opens a cluster.
func connect(config *rest.Config) (client.WithWatch, error) {
	config.QPS = -1 // the API server knows how much it can take
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

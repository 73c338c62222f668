// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command flux-landscaper is the command line for people: it checks and publishes blueprints and component versions, and checks
// deployers. Flux finds it as the plugin `flux landscaper`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// version is set when a release is built.
var version = "v0.0.0-dev"

// errReported ends the process with status 1 after everything has been said.
var errReported = errors.New("reported")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, errReported) {
		printError(os.Stderr, err)
	}
	os.Exit(1)
}

func rootCommand() *cobra.Command {
	var timeout time.Duration
	var cancel context.CancelFunc
	root := &cobra.Command{
		Use:           "flux-landscaper",
		Short:         "Check and publish blueprints and components for landscapes on Flux, and check deployers",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s is not positive; give a duration such as 5m", timeout)
			}
			var ctx context.Context
			ctx, cancel = context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("the operation took longer than --timeout %s", timeout))
			cmd.SetContext(ctx)
			return nil
		},
		PersistentPostRun: func(*cobra.Command, []string) { cancel() },
	}
	root.PersistentFlags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long the operation may take.")
	root.AddCommand(blueprintCommand(), componentCommand(), deployerCommand(), agentCommand(), mirrorCommand(), showCommand(), installationCommand(), targetCommand())
	return root
}

// printAction says what is being done, on stderr, so that stdout has results only.
func printAction(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "► "+format+"\n", args...)
}

func printDone(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "✔ "+format+"\n", args...)
}

func printWarning(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "⚠ "+format+"\n", args...)
}

func printError(w io.Writer, err error) {
	fmt.Fprintf(w, "✗ %v\n", err)
}

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

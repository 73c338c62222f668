// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command flux-landscaper is the command line for people: it checks and publishes blueprints and component versions, and checks
// deployers. Flux finds it as the plugin `flux landscaper`.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// version is set when a release is built.
var version = "v0.0.0-dev"

// errReported ends the process with statusDiffers after everything has been said.
var errReported = errors.New("reported")

func main() {
	log.SetLogger(logr.Discard()) // errors are returned
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := rootCommand().ExecuteContext(ctx); {
	case errors.Is(err, errReported):
		os.Exit(statusDiffers)
	case err != nil:
		printError(os.Stderr, err)
		os.Exit(statusError)
	}
}

// Exit statuses beside 0.
const (
	// statusDiffers says that the command worked, and what it looked at is not as it should be.
	statusDiffers = 1
	// statusError says that the command could not do its work.
	statusError = 2
)

func rootCommand() *cobra.Command {
	var timeout time.Duration
	cancel := func() {}
	root := &cobra.Command{
		Use:   "flux-landscaper",
		Short: "See, explain and steer landscapes on Flux, and check and publish blueprints and components",
		Long: "See, explain and steer landscapes on Flux, and check and publish blueprints and components.\n\n" +
			"Results go to standard output, all else to standard error. The exit status is 0 if all is well, 1 if what a command was asked to check\n" +
			"is not as it should be, and 2 after an error.",
		Args:          cobra.ArbitraryArgs,
		RunE:          helpOrUnknown,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s is not positive; give a duration such as 5m", timeout)
			}
			if watches(cmd) && !cmd.Flags().Changed("timeout") {
				return nil
			}
			var ctx context.Context
			ctx, cancel = context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("the operation took longer than --timeout %s", timeout))
			cmd.SetContext(ctx)
			return nil
		},
		PersistentPostRun: func(*cobra.Command, []string) { cancel() },
	}
	root.PersistentFlags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long the operation may take.")
	root.AddCommand(blueprintCommand(), componentCommand(), deployerCommand(), agentCommand(), mirrorCommand(), showCommand(), forecastCommand(), installationCommand(), targetCommand(),
		reconcileCommand(), suspendCommand(), resumeCommand(), interruptCommand(), waitCommand(), deleteCommand(), checkCommand(), logsCommand(), lintCommand(), schemaCommand())
	root.AddCommand(showTreeCommand(), whyCommand(), traceCommand(), eventsCommand(), versionCommand(), migrateCommand(), uiCommand())
	root.FParseErrWhitelist.UnknownFlags = true // as in group
	root.SetFlagErrorFunc(flagError)
	return root
}

// watches reports whether a command goes on until it is stopped.
func watches(cmd *cobra.Command) bool {
	watch := cmd.Flags().Lookup("watch")
	return cmd.Name() == uiCommandName || watch != nil && watch.Value.String() == "true"
}

// helpOrUnknown is what a command does that only holds others.
func helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(cmd, args[0], ""))
}

// didYouMean names the commands that look like a name; prefix stands before each.
func didYouMean(cmd *cobra.Command, name, prefix string) string {
	cmd.SuggestionsMinimumDistance = 2
	alike := cmd.SuggestionsFor(name)
	if len(alike) == 0 {
		return "; see " + cmd.Root().Name() + " --help"
	}
	for i := range alike {
		alike[i] = prefix + alike[i]
	}
	return "; did you mean " + strings.Join(alike, " or ") + "?"
}

// flagError adds to the error about an unknown flag which one may be meant.
func flagError(cmd *cobra.Command, err error) error {
	_, name, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	flags := &cobra.Command{Use: cmd.CommandPath()} // its suggestions are among commands
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
	})
	return fmt.Errorf("%w%s", err, didYouMean(flags, name, "--"))
}

// printAction says what is being done, on stderr, so that stdout has results only.
func printAction(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintln(cmd.ErrOrStderr(), "► "+landscape.Plain(fmt.Sprintf(format, args...)))
}

func printDone(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintln(cmd.ErrOrStderr(), "✔ "+landscape.Plain(fmt.Sprintf(format, args...)))
}

func printWarning(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintln(cmd.ErrOrStderr(), "⚠ "+landscape.Plain(fmt.Sprintf(format, args...)))
}

func printError(w io.Writer, err error) {
	fmt.Fprintln(w, "✗ "+landscape.Plain(err.Error()))
}

// cluster says which landscaper cluster a command works on.
type cluster struct {
	kubeconfig, context, namespace string
}

func (k *cluster) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "The kubeconfig of the landscaper cluster; by default as kubectl finds it.")
	flags.StringVar(&k.context, "context", "", "The context of the kubeconfig; by default the current one.")
}

func (k *cluster) bindNamespace(flags *pflag.FlagSet) {
	flags.StringVarP(&k.namespace, "namespace", "n", "", "The namespace; by default that of the context.")
}

// loader reads the kubeconfig.
func (k *cluster) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: k.context})
}

// namespaceOr returns the namespace of the flag, or else that of the context.
func (k *cluster) namespaceOr() (string, error) {
	if k.namespace != "" {
		return k.namespace, nil
	}
	namespace, _, err := k.loader().Namespace()
	return namespace, err
}

// open connects to the landscaper cluster.
func (k *cluster) open() (*rest.Config, client.WithWatch, error) {
	config, err := k.loader().ClientConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", k.where(), err)
	}
	c, err := connect(config)
	return config, c, err
}

// where names kubeconfig and context, for errors.
func (k *cluster) where() string {
	access := k.loader().ConfigAccess()
	at := "kubeconfig " + strings.Join(access.GetLoadingPrecedence(), ":")
	if access.IsExplicitFile() {
		at = "kubeconfig " + access.GetExplicitFile()
	}
	raw, err := k.loader().RawConfig()
	if name := cmp.Or(k.context, raw.CurrentContext); err == nil && name != "" {
		at += ", context " + name
	}
	return at
}

// connect opens a cluster.
func connect(config *rest.Config) (client.WithWatch, error) {
	config.QPS = -1 // the API server knows how much it can take
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := landscape.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// maxLayer is how many bytes a layer of an image to copy may have. It passes through the disk.
const maxLayer = 64 << 30

// registryFlags say how registries are reached, and as whom.
type registryFlags struct {
	config   string
	provider string
	insecure bool
	caFile   string
}

func (f *registryFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "registry-config", "",
		"The Docker configuration with logins, by default config.json in $DOCKER_CONFIG or ~/.docker. Credential helpers are never run.")
	flags.StringVar(&f.provider, "provider", "generic", "The provider of logins; generic is the only one.")
	flags.BoolVar(&f.insecure, "insecure-registry", false, "Reach the registry over plain HTTP. Loopback addresses need no flag.")
	flags.StringVar(&f.caFile, "ca-file", "", "A file with further certificate authorities in PEM; the registry is reached over TLS then, also at a loopback address.")
}

// transferTimeout is for uploads of people, whose networks may be slow.
const transferTimeout = 30 * time.Minute

// open returns the registry that refs belong to, and a function to call at the end.
func (f *registryFlags) open(refs ...string) (publishing.Registry, func(), error) {
	none := func() {}
	if f.provider != "generic" {
		return publishing.Registry{}, none, fmt.Errorf("--provider %s is not known; use generic and log in with docker login", f.provider)
	}
	registry := publishing.Registry{}
	var err error
	registry.Credentials, registry.DockerConfig, err = f.credentials()
	if err != nil {
		return publishing.Registry{}, none, err
	}
	options := oci.Options{MaxContent: maxLayer, TransferTimeout: transferTimeout}
	if f.insecure && f.caFile != "" {
		return publishing.Registry{}, none, errors.New("--insecure-registry and --ca-file contradict each other; keep one of them")
	}
	if f.insecure {
		options.PlainHTTP = hosts(refs)
	}
	if f.caFile != "" {
		if options.CA, err = os.ReadFile(f.caFile); err != nil {
			return publishing.Registry{}, none, fmt.Errorf("--ca-file: %w", err)
		}
		options.Mirrors = overTLS(refs)
	}
	if registry.Client, err = oci.New(options); err != nil {
		return publishing.Registry{}, none, err
	}
	return registry, func() { _ = registry.Client.Close() }, nil
}

// credentials reads the Docker configuration. Only one that was named has to exist.
func (f *registryFlags) credentials() (oci.Credentials, []byte, error) {
	path := f.config
	if path == "" {
		path = defaultDockerConfig()
	}
	text, err := os.ReadFile(path)
	if f.config == "" && errors.Is(err, fs.ErrNotExist) {
		return oci.Credentials{}, nil, nil
	}
	if err != nil {
		return oci.Credentials{}, nil, fmt.Errorf("--registry-config: %w", err)
	}
	credentials, err := oci.ParseDockerConfig(text)
	if err != nil {
		return oci.Credentials{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return credentials, text, nil
}

func defaultDockerConfig() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker", "config.json")
}

// hosts returns the hosts of references.
func hosts(refs []string) []string {
	var out []string
	for _, ref := range refs {
		if _, rest, found := strings.Cut(ref, "://"); found {
			ref = rest
		}
		if host, _, _ := strings.Cut(ref, "/"); host != "" {
			out = append(out, host)
		}
	}
	return out
}

// overTLS makes the client use TLS for the hosts of references, loopback addresses included.
func overTLS(refs []string) map[string]string {
	out := map[string]string{}
	for _, host := range hosts(refs) {
		out[host] = "https://" + host
	}
	return out
}

// explainLogin adds to a refusal what a person at the command line can do.
func explainLogin(err error) error {
	if errors.Is(err, oci.ErrUnauthorized) {
		return fmt.Errorf("%w\n  log in with docker login, or name a Docker configuration with --registry-config (credential helpers are never run)", err)
	}
	return err
}

// checkOutput refuses a value of --output that is not among the known ones.
func checkOutput(value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	known = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return name == "" })
	return fmt.Errorf("--output %q is not known; use %s", value, strings.Join(known, " or "))
}

// group returns a command that only holds others.
func group(use, short string, aliases []string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Aliases: aliases, Short: short, Args: cobra.ArbitraryArgs, RunE: helpOrUnknown}
	cmd.FParseErrWhitelist.UnknownFlags = true // they are of a command that is none, which is what is wrong
	cmd.AddCommand(commands...)
	return cmd
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

func mirrorCommand() *cobra.Command {
	return group("mirror", "Carry artifacts to registries without internet", nil, mirrorPullCommand(), mirrorPushCommand())
}

// mirrorFlags are the flags of mirror.
type mirrorFlags struct {
	registry registryFlags
	list     string
}

func mirrorPullCommand() *cobra.Command {
	f := &mirrorFlags{}
	cmd := &cobra.Command{
		Use:   "pull DIRECTORY REF...",
		Short: "Save artifacts in an OCI image layout",
		Long: "Save artifacts of registries in an OCI image layout, byte by byte, so that digests and signatures stay: images with all platforms, charts,\n" +
			"Flux artifacts and component versions, each with its signatures, attestations and bills of materials. What the directory has is not fetched again.",
		Example: "  flux-landscaper mirror pull ./mirror ghcr.io/flux-landscaper/landscaper:v1.2.0 ghcr.io/flux-landscaper/manifests:v1.2.0",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.pull(cmd, args[0], args[1:]) },
	}
	f.registry.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.list, "file", "f", "", "A file with further references, one in each line; lines that begin with # are comments.")
	return cmd
}

func mirrorPushCommand() *cobra.Command {
	f := &mirrorFlags{}
	cmd := &cobra.Command{
		Use:   "push DIRECTORY REGISTRY",
		Short: "Copy the artifacts of an OCI image layout to a registry",
		Long: "Copy everything that mirror pull has saved to a registry, below REGISTRY, which is a host or a host with a path. Paths, tags and digests stay,\n" +
			"so that ghcr.io/flux-landscaper/landscaper:v1.2.0 becomes REGISTRY/flux-landscaper/landscaper:v1.2.0. The new references are printed.",
		Example: "  flux-landscaper mirror push ./mirror registry.factory.example.com",
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.push(cmd, args[0], args[1]) },
	}
	f.registry.bindFlags(cmd.Flags())
	return cmd
}

func (f *mirrorFlags) pull(cmd *cobra.Command, dir string, refs []string) error {
	refs, err := f.references(refs)
	if err != nil {
		return err
	}
	layout, err := oci.OpenLayout(dir)
	if err != nil {
		return err
	}
	registry, done, err := f.registry.open(refs...)
	if err != nil {
		return err
	}
	defer done()
	for _, ref := range refs {
		printAction(cmd, "saving %s", ref)
		saved, err := registry.Client.Save(cmd.Context(), ref, layout, registry.Credentials)
		if err != nil {
			return explainLogin(err)
		}
		for _, one := range saved {
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", one.Name, one.Digest)
		}
	}
	printDone(cmd, "saved %d artifacts in %s", len(refs), dir)
	return nil
}

// references are those of the arguments and of the file.
func (f *mirrorFlags) references(refs []string) ([]string, error) {
	if f.list != "" {
		text, err := os.ReadFile(f.list)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		lines := bufio.NewScanner(strings.NewReader(string(text)))
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
				refs = append(refs, line)
			}
		}
	}
	if len(refs) == 0 {
		return nil, errors.New("there is nothing to save; name references like ghcr.io/flux-landscaper/landscaper:v1.2.0, or a file of them with --file")
	}
	return refs, nil
}

func (f *mirrorFlags) push(cmd *cobra.Command, dir, base string) error {
	if _, err := os.Stat(filepath.Join(dir, ocispec.ImageLayoutFile)); err != nil {
		return fmt.Errorf("%s is not an OCI image layout; name a directory of mirror pull: %w", dir, err)
	}
	layout, err := oci.OpenLayout(dir)
	if err != nil {
		return err
	}
	names, err := layout.Names(cmd.Context())
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s holds no artifacts; name a directory of mirror pull", dir)
	}
	registry, done, err := f.registry.open(base)
	if err != nil {
		return err
	}
	defer done()
	for _, name := range names {
		pushed, err := registry.Client.Load(cmd.Context(), layout, name, base, registry.Credentials)
		if err != nil {
			return explainLogin(err)
		}
		fmt.Fprintln(cmd.OutOrStdout(), pushed)
	}
	printDone(cmd, "copied %d artifacts to %s", len(names), base)
	return nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/ocm"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// componentFlags are the flags of component push.
type componentFlags struct {
	registry    registryFlags
	file        string
	repository  string
	ctf         string
	archive     string
	settings    string
	templater   string
	output      string
	overwrite   bool
	skipDigests bool
	signing     signingFlags
}

// signingFlags say how to sign component versions.
type signingFlags struct {
	signature    string
	privateKey   string
	certificates string
}

func pushComponentCommand() *cobra.Command {
	f := &componentFlags{}
	cmd := &cobra.Command{
		Use:   "push -f component-constructor.yaml --repository oci://HOST/PATH [KEY=VALUE…]",
		Short: "Make component versions from a constructor and publish them",
		Long: "Make the component versions of a constructor and publish them to a registry, or write them as a CTF or component archive.\n" +
			"KEY=VALUE arguments replace ${KEY} in the constructor. A version that is published with other content is not replaced.",
		Example: "  flux-landscaper component push -f component-constructor.yaml --repository oci://registry.example.com/components VERSION=1.2.0\n" +
			"  flux-landscaper component push -f component-constructor.yaml --ctf ./ctf",
		RunE: func(cmd *cobra.Command, args []string) error { return f.push(cmd, args) },
	}
	f.registry.bindFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "The component constructor.")
	flags.StringVar(&f.repository, "repository", "", "The registry to publish to, as oci://host/path.")
	flags.StringVar(&f.ctf, "ctf", "", "A directory to write in Common Transport Format instead.")
	flags.StringVar(&f.archive, "archive", "", "A directory to write one component version to as a component archive instead.")
	flags.StringVar(&f.settings, "settings", "", "A YAML file with values for the constructor; KEY=VALUE arguments win.")
	flags.StringVar(&f.templater, "templater", ocm.Subst, "How values get into the constructor: subst, go, spiff or none.")
	flags.StringVarP(&f.output, "output", "o", "", "How to print the result: json, or by default one reference per line.")
	flags.BoolVar(&f.overwrite, "overwrite", false, "Replace versions, and artifacts next to them, that exist with other content.")
	flags.BoolVar(&f.skipDigests, "skip-digest-generation", false, "Do not look up the digests of artifacts in other registries.")
	flags.StringVar(&f.signing.signature, "signature", "", "Sign the versions, under this name.")
	flags.StringVar(&f.signing.privateKey, "private-key", "", "A file with the unencrypted RSA private key of the signer in PEM.")
	flags.StringVar(&f.signing.certificates, "certificates", "", "A file with the certificates of the signer in PEM, its own first.")
	cmd.MarkFlagsRequiredTogether("signature", "private-key")
	_ = cmd.MarkFlagRequired("file")
	cmd.MarkFlagsOneRequired("repository", "ctf", "archive")
	cmd.MarkFlagsMutuallyExclusive("repository", "ctf", "archive")
	return cmd
}

func (f *componentFlags) push(cmd *cobra.Command, arguments []string) error {
	if err := checkOutput(f.output, "json", ""); err != nil {
		return err
	}
	signing, err := f.signing.options()
	if err != nil {
		return err
	}
	read, err := f.read(cmd, arguments)
	if err != nil {
		return err
	}
	registry, done, err := f.registry.open(f.repository)
	if err != nil {
		return err
	}
	defer done()
	workspace, err := publishing.NewWorkspace()
	if err != nil {
		return err
	}
	defer func() { _ = workspace.Close() }()
	builder := &ocm.Builder{Dir: filepath.Dir(f.file), Workspace: workspace, Registry: registry}
	if !f.skipDigests {
		builder.Digest = digestOf(registry)
	}
	var place *ocm.Place
	if f.repository != "" {
		if place, err = ocm.ParsePlace(f.repository); err != nil {
			return err
		}
		builder.Repository, builder.Base = place.Spec, place.Base()
	}
	versions, err := build(cmd, builder, read)
	if err != nil {
		return explainLogin(err)
	}
	if signing != nil {
		if err := ocm.Sign(cmd.Context(), registry, place, versions, *signing); err != nil {
			return explainLogin(err)
		}
	}
	if err := f.carry(cmd, registry, builder); err != nil {
		return explainLogin(err)
	}
	return explainLogin(f.publish(cmd, registry, place, versions))
}

// options reads the files that the flags name; nil without signature.
func (f *signingFlags) options() (*component.SignOptions, error) {
	if f.signature == "" {
		if f.certificates != "" {
			return nil, errors.New("--certificates belongs to a signature: add --signature and --private-key")
		}
		return nil, nil
	}
	text, err := readFile("--private-key", f.privateKey)
	if err != nil {
		return nil, err
	}
	options := &component.SignOptions{Name: f.signature}
	if options.Key, err = publishing.ParsePrivateKey(text); err != nil {
		return nil, fmt.Errorf("--private-key: %s: %w", f.privateKey, err)
	}
	if f.certificates != "" {
		options.Certificates, err = readFile("--certificates", f.certificates)
	}
	return options, err
}

// read reads the constructor with its values.
func (f *componentFlags) read(cmd *cobra.Command, arguments []string) (*ocm.Constructor, error) {
	text, err := readFile("--file", f.file)
	if err != nil {
		return nil, err
	}
	var settings []byte
	if f.settings != "" {
		if settings, err = readFile("--settings", f.settings); err != nil {
			return nil, err
		}
	}
	values, err := ocm.Values(settings, arguments)
	if err != nil {
		return nil, err
	}
	text, err = ocm.Substitute(cmd.Context(), text, f.templater, values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file, err)
	}
	read, err := ocm.ParseConstructor(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file, err)
	}
	for _, warning := range read.Warnings {
		printWarning(cmd, "%s: %s", f.file, warning)
	}
	return read, nil
}

func readFile(flag, path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > ocm.MaxText {
		err = fmt.Errorf("%s is larger than %d bytes", path, ocm.MaxText)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return text, nil
}

func digestOf(registry publishing.Registry) func(context.Context, string) (digest.Digest, error) {
	return func(ctx context.Context, reference string) (digest.Digest, error) {
		found, err := registry.Client.Resolve(ctx, reference, registry.Credentials)
		return found.Digest, err
	}
}

// build makes all versions before any is published.
func build(cmd *cobra.Command, builder *ocm.Builder, read *ocm.Constructor) ([]component.Version, error) {
	var versions []component.Version
	for i := range read.Components {
		c := &read.Components[i]
		printAction(cmd, "building component %s:%s", c.Name, c.Version)
		v, err := builder.Build(cmd.Context(), c)
		if err != nil {
			return nil, err
		}
		versions = append(versions, v)
	}
	return ocm.Order(versions), nil
}

// carry copies the artifacts that the versions take over.
func (f *componentFlags) carry(cmd *cobra.Command, registry publishing.Registry, builder *ocm.Builder) error {
	for _, artifact := range builder.Artifacts {
		unchanged, err := artifact.CopyTo(cmd.Context(), registry, builder.Base, f.overwrite)
		if err != nil {
			return err
		}
		what := "copied"
		if unchanged {
			what = "unchanged"
		}
		printDone(cmd, "artifact %s %s: digest %s", artifact.Name(), what, artifact.Digest)
	}
	return nil
}

func (f *componentFlags) publish(cmd *cobra.Command, registry publishing.Registry, place *ocm.Place, versions []component.Version) error {
	switch {
	case f.archive != "" && len(versions) != 1:
		return errors.New("--archive takes one component version, and the constructor makes several; use --ctf")
	case f.archive != "":
		return written(cmd, f.archive, ocm.WriteArchive(f.archive, versions[0], f.overwrite))
	case f.ctf != "":
		return written(cmd, f.ctf, ocm.WriteCTF(f.ctf, versions, f.overwrite))
	}
	results := []*ocm.Pushed{}
	for _, v := range versions {
		pushed, err := ocm.Push(cmd.Context(), registry, place, v, f.overwrite)
		if err != nil {
			return err
		}
		results = append(results, pushed)
		what := "pushed"
		if pushed.Unchanged {
			what = "unchanged"
		}
		printDone(cmd, "component %s:%s %s: digest %s", pushed.Component, pushed.Version, what, pushed.Digest)
	}
	return f.print(cmd, results)
}

func written(cmd *cobra.Command, dir string, err error) error {
	if err != nil {
		return err
	}
	printDone(cmd, "components written to %s", dir)
	return nil
}

func (f *componentFlags) print(cmd *cobra.Command, results []*ocm.Pushed) error {
	if f.output == "json" {
		return printJSON(cmd, results)
	}
	for _, pushed := range results {
		fmt.Fprintf(cmd.OutOrStdout(), "%s@%s\n", pushed.Reference, pushed.Digest)
	}
	return nil
}

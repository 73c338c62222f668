// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/publishing/ocm"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func componentCommand() *cobra.Command {
	return group("component", "Publish and read component versions of the Open Component Model", []string{"components", "comp"},
		pushComponentCommand(), getCommand(), treeCommand(), verifyCommand())
}

// lookupFlags are the flags of commands that read component versions.
type lookupFlags struct {
	registry   registryFlags
	repository string
	output     string
}

func (f *lookupFlags) bind(cmd *cobra.Command, output, outputs string) {
	f.registry.bindFlags(cmd.Flags())
	cmd.Flags().StringVar(&f.repository, "repository", "", "The repository, as oci://host/path, or a CTF or component archive: a directory, .tar or .tgz.")
	cmd.Flags().StringVarP(&f.output, "output", "o", output, "How to print the result: "+outputs+".")
}

// read looks up the component version of a reference and gives it to use.
func (f *lookupFlags) read(written string, use func(*ocm.Reader, component.Key) error) error {
	place, key, err := ocm.ParseName(written, f.repository)
	if err != nil {
		return err
	}
	return f.open(place, key, use, written)
}

// open gives a component version of a place to use. References name the registries that may be asked.
func (f *lookupFlags) open(place *ocm.Place, key component.Key, use func(*ocm.Reader, component.Key) error, references ...string) error {
	registry, done, err := f.registry.open(append(references, f.repository)...)
	if err != nil {
		return err
	}
	defer done()
	reader, err := ocm.NewReader(registry, place)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	return explainLogin(use(reader, key))
}

func getCommand() *cobra.Command {
	f := &lookupFlags{}
	var schema string
	cmd := &cobra.Command{
		Use:   "get REF",
		Short: "Print the descriptor of a component version",
		Long: "Print the descriptor of a component version. REF is NAME[:VERSION] with --repository, or REPOSITORY//NAME[:VERSION].\n" +
			"Without a version, the highest one is taken.",
		Example: "  flux-landscaper component get example.com/shop:1.2.0 --repository oci://registry.example.com/components\n" +
			"  flux-landscaper component get registry.example.com/components//example.com/shop -o json --schema v3alpha1",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(f.output, "yaml", "json"); err != nil {
				return err
			}
			return f.read(args[0], func(reader *ocm.Reader, key component.Key) error {
				d, err := reader.Get(cmd.Context(), key)
				if err != nil {
					return err
				}
				if err := d.CheckNames(); err != nil {
					printWarning(cmd, "%v", err)
				}
				return printDescriptor(cmd, d, schema, f.output)
			})
		},
	}
	f.bind(cmd, "yaml", "yaml or json")
	cmd.Flags().StringVar(&schema, "schema", "", "The schema of the descriptor: v2 or v3alpha1; by default the one it was published in.")
	return cmd
}

func printDescriptor(cmd *cobra.Command, d *component.Descriptor, schema, output string) error {
	known := map[string]string{"": d.Schema, "v2": component.SchemaV2, "v3alpha1": component.SchemaV3, component.SchemaV3: component.SchemaV3}
	chosen, ok := known[schema]
	if !ok {
		return fmt.Errorf("--schema %q is not known; use v2 or v3alpha1", schema)
	}
	if output == "json" {
		return printJSON(cmd, d.View(chosen))
	}
	text, err := d.Encode(chosen)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), strings.TrimRight(string(text), "\n")+"\n")
	return err
}

func treeCommand() *cobra.Command {
	f := &lookupFlags{}
	cmd := &cobra.Command{
		Use:     "tree REF",
		Short:   "Show a component version with all that it refers to",
		Long:    "Show a component version with its resources and all components that it refers to. REF is as in component get.",
		Example: "  flux-landscaper component tree example.com/shop:1.2.0 --repository oci://registry.example.com/components",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(f.output, "text", "json"); err != nil {
				return err
			}
			return f.read(args[0], func(reader *ocm.Reader, key component.Key) error {
				root, err := reader.Get(cmd.Context(), key)
				if err != nil {
					return err
				}
				closed, err := reader.Closure(cmd.Context(), root)
				if err != nil {
					return err
				}
				return printTree(cmd, closed, f.output)
			})
		},
	}
	f.bind(cmd, "text", "text or json")
	return cmd
}

func printTree(cmd *cobra.Command, closed *component.Closed, output string) error {
	tree, err := ocm.Tree(closed)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(cmd, tree)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), tree.Text())
	return err
}

// verifyFlags are the flags of component verify.
type verifyFlags struct {
	lookupFlags
	signature, publicKey, authorities string
}

func verifyCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify REF --signature NAME (--public-key FILE | --ca FILE)",
		Short: "Check a signature of a component version",
		Long: "Check a signature of a component version, with the digests of all components behind it and of the content of their resources, as the\n" +
			"controller does. REF is as in component get. The digest that was signed is printed; the exit status is 1 if the signature is not valid.",
		Example: "  flux-landscaper component verify example.com/shop:1.2.0 --repository oci://registry.example.com/components \\\n" +
			"    --signature release --public-key release.pub",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(f.output, "text", "json"); err != nil {
				return err
			}
			keys, err := f.keys()
			if err != nil {
				return err
			}
			return f.read(args[0], func(reader *ocm.Reader, key component.Key) error {
				verified, err := reader.Verify(cmd.Context(), key, f.signature, keys)
				if err != nil {
					return err
				}
				return printVerified(cmd, verified, f.output)
			})
		},
	}
	f.bind(cmd, "text", "text or json")
	flags := cmd.Flags()
	flags.StringVar(&f.signature, "signature", "", "The name of the signature.")
	flags.StringVar(&f.publicKey, "public-key", "", "A file with the RSA public key, or the certificate, of the signer in PEM.")
	flags.StringVar(&f.authorities, "ca", "", "A file with the certificate authorities in PEM, one of which vouches for the certificate in the signature.")
	_ = cmd.MarkFlagRequired("signature")
	cmd.MarkFlagsOneRequired("public-key", "ca")
	cmd.MarkFlagsMutuallyExclusive("public-key", "ca")
	return cmd
}

// keys reads the file that a flag names.
func (f *verifyFlags) keys() (keys component.Keys, err error) {
	if f.publicKey != "" {
		keys.PublicKey, err = readFile("--public-key", f.publicKey)
		return keys, err
	}
	keys.Certificates, err = readFile("--ca", f.authorities)
	return keys, err
}

func printVerified(cmd *cobra.Command, verified *ocm.Verified, output string) error {
	printDone(cmd, "signature %q of component %s:%s is valid", verified.Signature, verified.Component, verified.Version)
	if output == "json" {
		return printJSON(cmd, verified)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), verified.Digest.HashAlgorithm+":"+verified.Digest.Value)
	return err
}

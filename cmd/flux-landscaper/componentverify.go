// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flux-landscaper/flux-landscaper/publishing/ocm"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/signing"
)

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
			"controller does. REF is as for get. The digest that was signed is printed; the exit status is 1 if the signature is not valid.",
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
func (f *verifyFlags) keys() (keys signing.Keys, err error) {
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

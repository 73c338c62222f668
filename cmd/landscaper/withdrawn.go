// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// useMirror is what to do in place of the content relay.
const useMirror = "there is no content relay; fill a registry inside the fence with flux-landscaper mirror push and name it with --oci-mirror, see docs/relay-to-mirror.md"

// withdrawn are the flags that former releases had, with what to do instead.
var withdrawn = map[string]string{
	"content-relay":           useMirror,
	"content-relay-namespace": useMirror,
}

// withCure adds to an error about the flags of a command what to do in place of a withdrawn one.
func withCure(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && withdrawn[unknown.GetSpecifiedName()] != "" {
		return fmt.Errorf("--%s is withdrawn: %s", unknown.GetSpecifiedName(), withdrawn[unknown.GetSpecifiedName()])
	}
	return err
}

// formerRelay is the sub-command of the content relay, for those whose manifests still start it.
func formerRelay() *cobra.Command {
	return &cobra.Command{Use: "relay", Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error { return errors.New(useMirror) }}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/pflag"

// targetFlags say how clusters are reached that Targets name.
type targetFlags struct {
	publicOnly bool
}

func (t *targetFlags) bindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.publicOnly, "no-private-targets", false,
		"Reach only clusters at public addresses, except the landscaper cluster itself by selfConfig. Names count as what they resolve to.")
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package spec holds the words of reference pages that the command line says, too.
package spec

import _ "embed"

// Reasons is the YAML of docs/reference/reasons.md: a list of reason, means and cure.
//
//go:embed reasons.yaml
var Reasons []byte

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package sites keeps the record of which objects and releases a DeployItem has on which cluster, finds what is missing in it, and
// leaves clusters that a Target no longer leads to. It does not apply anything. It promises nothing to others.
package sites

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

// For tests that work on real clusters.
var (
	MergeInto  = mergeInto
	TakeoverOf = takeoverOf
)

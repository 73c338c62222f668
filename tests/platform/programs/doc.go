// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs starts programs that end with the test, and the networks that they may run in. It reads their logs for data races. It
// knows nothing of clusters.
package programs

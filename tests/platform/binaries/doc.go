// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the programs that tests start: those of others from the cache, a download or the Go modules below
// tests/platform/tools, and those of this checkout. It starts none of them but the Go command.
package binaries

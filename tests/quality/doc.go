// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package quality holds the gates that no compiler has: which room may import which, the shape of functions, comments on everything
// exported, generated files that are up to date, and documentation that names every field and flag. Its tests are part of make test.
//
// The package itself is what the tests and the command cmd/docs share: the module as the go command sees it, the rules of the rooms,
// the counter of lines and the reader of comments.
package quality

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps the values that were used last, as far as they fit into a size. It promises nothing to others.
package cache

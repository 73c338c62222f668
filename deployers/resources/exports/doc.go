// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package exports reads values from objects on a target. It promises nothing to others.
package exports

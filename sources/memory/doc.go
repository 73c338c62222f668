// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory has the caches of a process, each with a size in bytes, and measures what values take. It promises nothing to others.
package memory

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pages keeps the memory of a process free of what only its start needed. It promises nothing to others.
package pages

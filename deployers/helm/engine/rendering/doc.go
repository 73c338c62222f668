// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering does everything that depends on the content of charts, in child processes: it loads, renders and post-renders
// them. It knows no cluster; what templates look up there it asks its parent for. It promises nothing to others.
package rendering

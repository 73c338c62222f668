// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering runs package blueprints/render in child processes: templates, mappings, and schemas with the patterns of users. What a
// template may call is carried out by the parent, with the capabilities of the Environment. Callers use it as they would use
// package render: results and errors are the same. It promises nothing to others.
package rendering

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema checks data against the JSON schemas of blueprints: drafts 4, 6, 7, 2019-09 and 2020-12. References lead to local
// types of the blueprint (local://), to its files (blueprint://) and to resources of components (cd://), and nowhere else.
// It promises nothing to others.
package schema

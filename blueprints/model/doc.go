// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package model reads blueprints: the document blueprint.yaml with its defaults and rules, and blueprints that are written into an
// Installation as a file system in YAML. It promises nothing to others.
package model

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pack makes reproducible archives of directories: the same files give the same bytes, whoever packs them, when and where.
//
// Archives hold regular files only, in the order of their paths, with fixed modes and without times and owners. Directories without
// files are left out, as in Git. What is packed never lies outside the directory, and everything is held to the limits that readers
// apply, so that what was published can also be read. It promises nothing to others.
package pack

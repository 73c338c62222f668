// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package secrecy finds secrets in values, and takes them out of texts. It promises nothing to others.
package secrecy

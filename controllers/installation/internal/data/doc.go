// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package data says of DataObjects and Targets whose they are, whether two of them hold the same, and what has to be done to publish one. It
// reads and writes nothing. It promises nothing to others.
package data

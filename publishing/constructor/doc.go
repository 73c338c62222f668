// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package constructor reads component constructors, the files from which people make component versions of the Open Component Model,
// and builds the component versions with their blobs. What is built is reproducible: the same files give the same bytes.
// It promises nothing to others.
package constructor

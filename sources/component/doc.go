// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package component knows the Open Component Model: component descriptors (schemas v2 and ocm.software/v3alpha1), identities, access
// and repository specifications, references, closures of references, overwrites, the layout of component versions in OCI registries and
// in archives, and signatures.
//
// It is pure: bytes and fs.FS come in, values go out. Who holds a network connection implements Resolver and Repository.
// It promises nothing to others.
package component

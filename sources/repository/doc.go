// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package repository finds component versions and the content of their resources, for one Installation at a time.
//
// A Scope says what the Installation may use; everything in it was read with that Installation's rights. A Session looks
// up descriptors in the repositories of the Scope and opens content, which is verified by the digests of the descriptor
// before the caller sees its first byte.
//
// What was found is kept: content on disk, decoded descriptors in memory. It is served again only to a Scope whose own
// logins found it in the same repository. Component versions never change by the rules of OCM, so a registry is asked once
// for a version and a set of logins within Options.Remember; a version that somebody replaced all the same is seen after
// that time.
package repository

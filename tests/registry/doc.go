// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry is an OCI registry for tests: real HTTP or HTTPS on loopback, with basic authentication or bearer
// tokens, and faults on demand. Content is kept in memory.
//
// A Registry counts what it answers, so that a test can tell one download from a thousand, and can be taken down and up
// again under the same address.
package registry

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package health says how an object is that has no built-in readiness check: by its status as kstatus reads it, and by CEL expressions of the
// user (RFC 0009 of Flux). It makes no requests. Expressions are foreign programs: their length, cost and time are bounded, and functions whose
// cost cannot be bounded are refused. It promises nothing to others.
package health

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness decides when objects are ready, and says what they lack. It only reads. It promises nothing to others.
package readiness

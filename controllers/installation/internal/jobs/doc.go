// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package jobs decides about jobs of Installations from objects alone: what may ask for one and which it is, whether children and siblings have
// it or have ended it, what an export and a failure mean for it. It reads and writes nothing. It promises nothing to others.
package jobs

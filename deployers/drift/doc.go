// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package drift finds out from the metadata of deployed objects which of them somebody may have changed or deleted. It watches each kind of a
// target once for all who deploy there, keeps a few bytes of each object, and compares nothing itself: see Watches.
// It promises nothing to others.
package drift

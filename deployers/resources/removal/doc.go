// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package removal deletes recorded objects, deletion group by deletion group. It does not know why they have to go. It promises
// nothing to others.
package removal

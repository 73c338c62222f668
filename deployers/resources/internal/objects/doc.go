// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package objects names objects, finds out how a target serves their kinds, and words errors about them. It does not know whose
// an object is. It promises nothing to others.
package objects

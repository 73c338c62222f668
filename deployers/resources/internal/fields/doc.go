// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package fields decides what the content of an object becomes: the manifest, with what others have put on the object by its
// managed fields. It is pure: it knows no target and no owner. It promises nothing to others.
package fields

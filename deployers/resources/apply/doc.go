// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings objects to what their manifests want, by policy and strategy, and finds where they differ from that. It
// deletes only to make an object anew, and does not know what earlier jobs left. It promises nothing to others.
package apply

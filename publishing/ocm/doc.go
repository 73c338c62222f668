// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package ocm publishes component versions to OCI registries and archives, and reads them with all that they refer to.
// It promises nothing to others.
package ocm

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package faults breaks connections: a Door in front of an API server that is closed, a Wire in front of any server that is cut, lists whose pages come to
// no end by an Expiry. It knows nothing of clusters.
package faults

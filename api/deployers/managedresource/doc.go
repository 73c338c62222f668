// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package managedresource holds the types that the configurations and statuses of the deployers share when they manage single
// objects on a target: what was deployed, when it is ready, what is exported and how it is deleted (spec/deployers.md §6).
package managedresource

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm is the deployer of DeployItems of type landscaper.gardener.cloud/helm: it installs charts as Helm releases or, in template
// mode, applies the objects that they render to one by one (spec/deployers.md §7).
//
// One job reads as a straight line: configuration, chart, values, exports from the values, what is where, release or objects, what has to go,
// readiness, exports from objects. Every step may run again at any time; the release itself records which job made it, and its history what
// attempts set out to apply. The inventory in the provider status records the releases, and what outlives the history.
// It promises nothing to others.
package helm

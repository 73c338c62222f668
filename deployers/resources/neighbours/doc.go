// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package neighbours finds out what other DeployItems have a right to on a target. It only reads. It promises nothing to others.
package neighbours

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent joins a fenced cluster to a landscaper cluster: it connects outwards only, keeps the Environment that describes the cluster, gives
// the deployers of the cluster their access, and runs the helm deployer that installs them. Credentials of the cluster stay in it.
// It promises nothing to others.
package agent

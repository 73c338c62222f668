// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package resources brings objects to targets, and takes them away again: what deployers of objects have in common. By idea:
//
//   - objects.go, session.go and owner.go say how a target serves an object, for whom it is worked on, and whose it is.
//   - apply.go plans the groups, writer.go and serverside.go write single objects, strategy.go, keep.go and takeover.go decide what their content becomes.
//   - drift.go compares objects with their manifests.
//   - readiness.go, checks.go and pods.go say when objects are ready, and what they lack.
//   - delete.go deletes, deletion group by deletion group; inventory.go and leave.go keep and empty the record of what is on which cluster.
//   - holdings.go asks what other DeployItems have a right to. exports.go reads values of objects.
package resources

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay is the content relay: it serves to the deployers of fenced clusters what their DeployItems name, so that they need neither a way to registries
// nor logins there. It finds content as a deployer does, with the Context of the item, and serves it to whom the landscaper cluster lets read the
// item. It changes nothing. It promises nothing to others.
package relay

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package records changes what Helm records of a release, and where: drivers of Helm's storage around Helm's own. It knows no
// DeployItem. It promises nothing to others.
package records

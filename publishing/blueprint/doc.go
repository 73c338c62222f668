// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package blueprint publishes blueprints as OCI artifacts and reads them back: what is pushed can be taken by an OCIRepository of Flux,
// and what `flux push artifact` has pushed is a blueprint as it is. It promises nothing to others.
package blueprint

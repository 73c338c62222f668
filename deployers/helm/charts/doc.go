// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package charts gets the chart that a DeployItem names, from wherever that is: an archive, a registry, a Helm repository, a Flux source or a
// component. It knows nothing of releases and Targets. It promises nothing to others.
package charts

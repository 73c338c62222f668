// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud logs in at the registries of AWS, Azure and Google as a ServiceAccount, or as this process.
//
// A ServiceAccount logs in by a token that Kubernetes issues for it and that the cloud accepts, as its annotations say: what Flux calls
// object-level workload identity. It works in a process that has called auth.EnableObjectLevelWorkloadIdentity. The identity of the process
// itself serves nobody unless Options say so, since everybody who writes objects could use it. It promises nothing to others.
package cloud

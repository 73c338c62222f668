// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest is the deployer of DeployItems of type landscaper.gardener.cloud/kubernetes-manifest (spec/deployers.md §8):
// it applies objects to a target, removes those that left the manifests, waits until they are ready and exports fields of them.
//
// Every step is derived from what is observed on the target, so a call that follows the death of the process does what is left:
//
//   - An object that was created but not recorded exists when the next call creates it; the call reads it and follows policy and
//     strategy, which for an object in its wanted state writes nothing.
//   - An object that was created but not recorded, and left the manifests before the job ran again, is in no record and no
//     manifest. The provider status says up to which generation of the DeployItem it is complete; when a generation in between may
//     have been deployed, the target is searched for objects with the label and the UID of the DeployItem. This needs a spec change
//     between the death and the next call, and costs nothing otherwise.
//   - An object that was deleted but is still recorded is not found, which is what the deletion wants.
package manifest

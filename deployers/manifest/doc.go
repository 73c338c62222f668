// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest is the deployer of DeployItems of type landscaper.gardener.cloud/kubernetes-manifest (spec/deployers.md §8):
// it applies objects to a target, removes those that left the manifests, waits until they are ready and exports fields of them.
//
// Every step is derived from what is observed on the target, so a call that follows the death of the process does what is left:
//
//   - An object that was created but not recorded exists when the next call creates it; the call reads it and follows policy and
//     strategy, which for an object in its wanted state writes nothing.
//   - An object that was created but not recorded, and left the manifests before the job ran again, stands in the inventory: the write
//     that picks a job up records what the job sets out to apply, and on which Target. It is looked for and deleted when it carries label and
//     UID of the DeployItem. Statuses without inventory only say up to which generation they are complete; where one in between may have
//     been deployed, all kinds of the target are searched.
//   - An object on another cluster, because the DeployItem names another Target or the Target leads elsewhere, stands in the inventory too.
//     It is uninstalled by the Target that led there; what cannot be reached is reported and stays recorded.
//   - An object that was deleted but is still recorded is not found, which is what the deletion wants. It promises nothing to others.
package manifest

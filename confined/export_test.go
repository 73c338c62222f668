// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

// UnderRaceDetector says that the kernel does not limit the memory of children.
const UnderRaceDetector = underRaceDetector

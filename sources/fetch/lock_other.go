// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix || solaris || aix

package fetch

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
)

// Limits of one execution, so that honest mistakes get a message with a place. What a hostile template may use is limited by whoever runs it:
// time, memory and stack are those of its process.
const (
	// maxOutput is how large the output may be.
	maxOutput = 4 << 20
	// maxIncludes is how deep includes may call each other.
	maxIncludes = 100
	// maxFile is how large the template and each file that it reads may be.
	maxFile = 1 << 20
)

var errOutput = fmt.Errorf("its output is larger than %d bytes; make less in one template", maxOutput)

func checkSource(source string) error {
	if len(source) > maxFile {
		return fmt.Errorf("the template is larger than %d bytes; split it", maxFile)
	}
	return nil
}

// errIncludes is the end of includes that call each other.
var errIncludes = errors.New("files include each other too deep; look for one that includes itself")

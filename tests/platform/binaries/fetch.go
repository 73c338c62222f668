// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// ErrNotDownloaded means that this machine cannot download the modules that a component is built from.
var ErrNotDownloaded = errors.New("its modules cannot be downloaded here")

// fetch downloads the modules that the component is built from. What the go command then says of the build is about the build.
func fetch(ctx context.Context, dir string, r recipe) error {
	_, err := goTool(ctx, dir, "list", "-deps", r.pkg)
	if err != nil && isDownloadFailure(err.Error()) {
		return fmt.Errorf("%w: %s", ErrNotDownloaded, programs.LastLines(err.Error(), 2))
	}
	return err
}

// isDownloadFailure reports whether messages of the go command say that a module cannot be had. A module that is there and has other content
// than go.sum says is not meant.
func isDownloadFailure(text string) bool {
	if strings.Contains(text, "verifying ") {
		return false
	}
	return slices.ContainsFunc([]string{
		": reading http", // a proxy answers, with another status than 200
		`Get "http`,      // it does not
		"GOPROXY=off",
		": git ls-remote ", // without a proxy
		"executable file not found",
	}, func(sign string) bool { return strings.Contains(text, sign) })
}

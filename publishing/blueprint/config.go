// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"os"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// documentConfig is blueprint.yaml as JSON, the config of artifacts in the format Landscaper.
func documentConfig(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %s cannot be opened: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	text, err := templating.ReadFile(root.FS(), model.FileName)
	if err != nil {
		return nil, err
	}
	document, err := foreign.ToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", model.FileName, err)
	}
	return document, nil
}

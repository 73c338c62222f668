// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// PushImage pushes an image and returns the reference that Pods of a node pull it by.
func (r *Registry) PushImage(ctx context.Context, repository, tag string, image v1.Image) (reference string, err error) {
	reference = r.Host + "/" + repository + ":" + tag
	parsed, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return "", err
	}
	if err := remote.Write(parsed, image, remote.WithContext(ctx)); err != nil {
		return "", fmt.Errorf("cannot push the image %s: %w", reference, err)
	}
	return reference, nil
}

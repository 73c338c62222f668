// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package constructor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// artifact refers to an OCI artifact where it is.
func (v *version) artifact(ctx context.Context, reference string) (component.Typed, *component.DigestSpec, error) {
	if reference == "" {
		return component.Typed{}, nil, errors.New("path is missing; write the reference of the artifact, such as registry.example.com/shop:1.0.0")
	}
	reference = strings.TrimPrefix(reference, "oci://")
	access, err := component.NewTyped(map[string]any{"type": "ociArtifact", "imageReference": reference})
	if err != nil {
		return component.Typed{}, nil, err
	}
	spec, err := v.artifactDigest(ctx, reference)
	return access, spec, err
}

// variants refers to an image that is multi-platform in its registry; there is no daemon to build one from.
func (v *version) variants(ctx context.Context, in *Input) (component.Typed, *component.DigestSpec, error) {
	if len(in.Variants) != 1 {
		return component.Typed{}, nil, fmt.Errorf("type dockermulti has %d variants; push them as one multi-platform image and name it with type ociImage", len(in.Variants))
	}
	return v.artifact(ctx, in.Variants[0])
}

func (v *version) web(in *Input) (component.Typed, *component.DigestSpec, error) {
	if in.URL == "" {
		return component.Typed{}, nil, errors.New("url is missing; write the address of the file")
	}
	fields := map[string]any{"type": "wget", "url": in.URL}
	if in.MediaType != "" {
		fields["mediaType"] = in.MediaType
	}
	access, err := component.NewTyped(fields)
	return access, nil, err
}

// normalReference adds what people leave out of references to images of Docker Hub, and the tag latest.
func normalReference(reference string) string {
	host, rest, found := strings.Cut(reference, "/")
	switch {
	case !found:
		reference = "docker.io/library/" + reference
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		reference = "docker.io/" + host + "/" + rest
	}
	if last := reference[strings.LastIndex(reference, "/"):]; !strings.ContainsAny(last, ":@") {
		reference += ":latest"
	}
	return reference
}

func decodeNumbers(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out any
	err := decoder.Decode(&out)
	return out, err
}

func firstKey(set map[string]bool) string { return slices.Sorted(maps.Keys(set))[0] }

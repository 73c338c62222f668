// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/flux-landscaper/flux-landscaper/publishing"
)

// parseRepository parses the name of a repository.
func parseRepository(repository string, plainHTTP bool) (name.Repository, error) {
	var options []name.Option
	if plainHTTP {
		options = append(options, name.Insecure)
	}
	parsed, err := name.NewRepository(repository, options...)
	if err != nil {
		return name.Repository{}, fmt.Errorf("%q is not a repository of a registry, e.g. ghcr.io/flux-landscaper/landscaper: %w", repository, err)
	}
	return parsed, nil
}

// PushArtifact pushes an artifact to a repository under a tag and returns its reference. Logins and plainHTTP are as for Set.Push.
func PushArtifact(ctx context.Context, repository, tag string, artifact v1.Image, plainHTTP bool) (string, error) {
	to, err := parseRepository(repository, plainHTTP)
	if err != nil {
		return "", err
	}
	if err := remote.Write(to.Tag(tag), artifact, withLogins(ctx)...); err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", to.Tag(tag), err)
	}
	return "oci://" + to.Tag(tag).String(), nil
}

func withLogins(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

const (
	// signatureType is that of the layers with signed texts.
	signatureType types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// signatureAnnotation of such a layer is the signature in base64.
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// signings is how often a signature is pushed, and settling the pause after which it has to be still there: longer than another signer takes from
// reading the signatures to pushing them together with its own.
const (
	signings = 5
	settling = 2 * time.Second
)

// Sign signs an artifact of a repository by its digest with a private key in PEM, and pushes the signature to where cosign and Flux look for it: beside
// the artifact, with its digest as tag. Signatures of others stay, and one of this key that is there is enough. All signatures are one manifest, and
// registries write none on the condition that nobody else has: where somebody signs at the same moment a signature may be lost, so Sign looks for its own
// after a pause, and pushes it again a few times. Logins and plainHTTP are as for Set.Push.
func Sign(ctx context.Context, repository string, digest v1.Hash, key []byte, plainHTTP bool) (err error) {
	defer caught(&err)
	signer := that(publishing.ParsePrivateKey(key))
	to := that(parseRepository(repository, plainHTTP))
	text := that(json.Marshal(map[string]any{"critical": map[string]any{ // as cosign writes it
		"identity": map[string]string{"docker-reference": to.Name()}, "image": map[string]string{"docker-manifest-digest": digest.String()},
		"type": "cosign container image signature",
	}, "optional": nil}))
	tag := to.Tag(digest.Algorithm + "-" + digest.Hex + ".sig")
	for pushed := 0; ; pushed++ {
		signatures, err := signaturesAt(ctx, tag)
		switch {
		case err != nil:
			return fmt.Errorf("cannot read the signatures at %s: %w", tag, err)
		case isSigned(signatures, signer.Public(), text):
			return nil
		case pushed == signings:
			return fmt.Errorf("the signature at %s does not stay: others sign at the same time; sign again when they are done", tag)
		}
		signatures = that(mutate.Append(signatures, mutate.Addendum{
			Layer:       static.NewLayer(text, signatureType),
			Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(that(publishing.Sign(signer, text)))},
		}))
		if err := remote.Write(tag, signatures, withLogins(ctx)...); err != nil {
			return fmt.Errorf("cannot push the signature to %s: %w", tag, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settling):
		}
	}
}

// signaturesAt returns what is at a tag; without layers where nothing is.
func signaturesAt(ctx context.Context, tag name.Tag) (v1.Image, error) {
	signatures, err := remote.Image(tag, withLogins(ctx)...)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return ociTyped(empty.Image, types.OCIConfigJSON), nil
	}
	return signatures, err
}

// isSigned reports whether a text is among signatures with one of a key.
func isSigned(signatures v1.Image, public crypto.PublicKey, text []byte) bool {
	digest, _, err := v1.SHA256(bytes.NewReader(text))
	must(err)
	return slices.ContainsFunc(that(signatures.Manifest()).Layers, func(layer v1.Descriptor) bool {
		signature, unreadable := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
		return unreadable == nil && layer.MediaType == signatureType && layer.Digest == digest && publishing.Verifies(public, text, signature)
	})
}

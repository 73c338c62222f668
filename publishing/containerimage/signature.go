// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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

	"github.com/flux-landscaper/flux-landscaper/publishing/privatekey"
)

// signatureType is that of the layers with signed texts.
const signatureType types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"

const (
	// signatureAnnotation of such a layer is the signature in base64.
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	// signedType is in each signed text.
	signedType = "cosign container image signature"
)

// maxSigned bounds a signed text that a registry answers with, in bytes.
const maxSigned = 64 << 10

// signed is the text that is signed, as cosign writes it.
type signed struct {
	Critical critical `json:"critical"`
	Optional any      `json:"optional"`
}

type critical struct {
	Identity map[string]string `json:"identity"`
	Image    map[string]string `json:"image"`
	Type     string            `json:"type"`
}

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
func Sign(ctx context.Context, repository string, digest v1.Hash, key []byte, plainHTTP bool) error {
	signer, err := privatekey.Parse(key)
	if err != nil {
		return err
	}
	to, err := Repository(repository, plainHTTP)
	if err != nil {
		return err
	}
	text, err := json.Marshal(signed{Critical: critical{
		Identity: map[string]string{"docker-reference": to.Name()}, Image: map[string]string{"docker-manifest-digest": digest.String()}, Type: signedType,
	}})
	if err != nil {
		return err
	}
	tag := to.Tag(digest.Algorithm + "-" + digest.Hex + ".sig")
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for pushed := 0; ; pushed++ {
		signatures, err := signaturesAt(tag, options...)
		if err != nil {
			return fmt.Errorf("cannot read the signatures at %s: %w", tag, err)
		}
		switch done, err := isSigned(signatures, signer.Public(), text); {
		case err != nil || done:
			return err
		case pushed == signings:
			return fmt.Errorf("the signature at %s does not stay: others sign at the same time; sign again when they are done", tag)
		}
		if signatures, err = appendSignature(signatures, signer, text); err != nil {
			return err
		}
		if err := remote.Write(tag, signatures, options...); err != nil {
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
func signaturesAt(tag name.Tag, options ...remote.Option) (v1.Image, error) {
	signatures, err := remote.Image(tag, options...)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return ociTyped(empty.Image), nil
	}
	return signatures, err
}

// isSigned reports whether a text is among signatures with one of a key.
func isSigned(signatures v1.Image, public crypto.PublicKey, text []byte) (bool, error) {
	manifest, err := signatures.Manifest()
	if err != nil {
		return false, err
	}
	for _, layer := range manifest.Layers {
		signature, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
		if err != nil || layer.MediaType != signatureType || !privatekey.Verifies(public, text, signature) {
			continue
		}
		there, err := contentOf(signatures, layer.Digest)
		if err != nil || bytes.Equal(there, text) {
			return err == nil, err
		}
	}
	return false, nil
}

func contentOf(signatures v1.Image, digest v1.Hash) ([]byte, error) {
	layer, err := signatures.LayerByDigest(digest)
	if err != nil {
		return nil, err
	}
	content, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer content.Close() // it was only read
	return io.ReadAll(io.LimitReader(content, maxSigned))
}

func appendSignature(to v1.Image, signer crypto.Signer, text []byte) (v1.Image, error) {
	signature, err := privatekey.Sign(signer, text)
	if err != nil {
		return nil, err
	}
	return mutate.Append(to, mutate.Addendum{
		Layer: static.NewLayer(text, signatureType), Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)},
	})
}

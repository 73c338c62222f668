// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flux-landscaper/flux-landscaper/publishing/privatekey"
)

// writeChecksums writes the sums of all files of a release, folders included, and signs them where there is a key. The sums are in the form of
// sha256sum, the signature in that of `cosign sign-blob`: base64.
func writeChecksums(dist string, key []byte) error {
	var sums bytes.Buffer
	err := filepath.WalkDir(dist, func(file string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dist, file)
		if found.IsDir() && name == "bin" {
			return fs.SkipDir
		}
		if err != nil || found.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot sum up the files of the release: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dist, ChecksumsFile), sums.Bytes(), 0o644); err != nil || len(key) == 0 {
		return err
	}
	signer, err := privatekey.Parse(key)
	if err != nil {
		return err
	}
	signature, err := privatekey.Sign(signer, sums.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, SignatureFile), []byte(base64.StdEncoding.EncodeToString(signature)+"\n"), 0o644)
}

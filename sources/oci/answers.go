// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// rememberedAnswers is how many resolved references are remembered.
	rememberedAnswers = 16384
	// saltName is the file with the salt of the names of the others, of so many bytes.
	saltName  = "salt"
	saltBytes = 32
)

// answers are what registries said that references are, each to one login, over restarts: one file for each, whose name is a salted hash. Whoever sees the
// disk learns neither hosts nor logins. What cannot be written or read is not known; nothing depends on it but speed and tolerance.
type answers struct {
	dir  string
	salt []byte

	mu    sync.Mutex
	known *simplelru.LRU[string, ocispec.Descriptor]
}

// openAnswers takes over a directory.
func openAnswers(dir string) (*answers, error) {
	a := &answers{dir: dir}
	a.known, _ = simplelru.NewLRU(rememberedAnswers, func(name string, _ ocispec.Descriptor) { _ = os.Remove(filepath.Join(dir, name)) }) // fails on no size only
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of answers: %w", err)
	}
	var err error
	if a.salt, err = os.ReadFile(filepath.Join(dir, saltName)); err != nil || len(a.salt) != saltBytes {
		a.salt = make([]byte, saltBytes)
		_, _ = rand.Read(a.salt)
		if err := a.write(saltName, a.salt); err != nil {
			return nil, fmt.Errorf("write the salt of answers: %w", err)
		}
	}
	return a, a.adopt()
}

// adopt reads what an earlier process left, in the order of its writing, and removes what is no answer.
func (a *answers) adopt() error {
	files, err := os.ReadDir(a.dir)
	if err != nil {
		return fmt.Errorf("list the directory of answers: %w", err)
	}
	written := map[string]time.Time{}
	for _, file := range files {
		if info, err := file.Info(); err == nil {
			written[file.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(files, func(x, y os.DirEntry) int { return written[x.Name()].Compare(written[y.Name()]) })
	for _, file := range files {
		if file.Name() == saltName {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(a.dir, file.Name()))
		var d ocispec.Descriptor
		if err != nil || len(file.Name()) != 2*sha256.Size || json.Unmarshal(raw, &d) != nil || d.Digest.Validate() != nil {
			_ = os.Remove(filepath.Join(a.dir, file.Name()))
			continue
		}
		a.known.Add(file.Name(), d)
	}
	return nil
}

// name is what the login and the reference of a target look like on disk. Parts are framed: no two targets are the same bytes.
func (a *answers) name(t target) string {
	mac := hmac.New(sha256.New, a.salt)
	_, _ = fmt.Fprintf(mac, "%q", []string{t.home(), t.login.Fingerprint(), t.at.Reference})
	return hex.EncodeToString(mac.Sum(nil))
}

func (a *answers) get(t target) (ocispec.Descriptor, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known.Get(a.name(t))
}

// set remembers of d what says what it is.
func (a *answers) set(t target, d ocispec.Descriptor) {
	d = ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	raw, err := json.Marshal(d)
	if err != nil {
		return
	}
	name := a.name(t)
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.known.Get(name)
	if ok && known.Digest == d.Digest && known.Size == d.Size && known.MediaType == d.MediaType {
		return
	}
	a.known.Add(name, d)
	_ = a.write(name, raw)
}

func (a *answers) forget(t target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known.Remove(a.name(t))
}

// write makes a file appear as a whole.
func (a *answers) write(name string, content []byte) error {
	file, err := os.CreateTemp(a.dir, "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(a.dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

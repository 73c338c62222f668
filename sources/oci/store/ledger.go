// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Layout of a ledger: its salt, and one file for each fact.
const (
	saltName  = "salt"
	factsName = "facts"
	saltBytes = 32
	// maxFact bounds what is read from a file that somebody may have exchanged.
	maxFact = 4096
	// maxValue is how many bytes a value may have; with its seal it is a fact that can be read.
	maxValue = 4000
)

// Ledger remembers values under keys of which nothing can be seen on disk. It is safe for concurrent use by one process.
// What it cannot write or read it does not know; nothing depends on its memory but speed and tolerance.
type Ledger struct {
	dir  string
	salt []byte

	mu    sync.Mutex
	facts *simplelru.LRU[string, *fact]
}

// fact is one value; loaded reports whether it was read from disk yet.
type fact struct {
	name   string
	value  string
	loaded bool
}

// OpenLedger takes over dir, which it makes with mode 0700 if need be. It remembers the most recently used facts, at most
// so many.
func OpenLedger(dir string, most int) (*Ledger, error) {
	l := &Ledger{dir: dir}
	l.facts, _ = simplelru.NewLRU(max(most, 1), func(name string, _ *fact) { _ = os.Remove(filepath.Join(l.folder(), name)) }) // fails on no size only
	if err := os.MkdirAll(l.folder(), 0o700); err != nil {
		return nil, fmt.Errorf("ledger: make its directory: %w", err)
	}
	if err := l.loadSalt(); err != nil {
		return nil, err
	}
	return l, l.adopt()
}

func (l *Ledger) folder() string { return filepath.Join(l.dir, factsName) }

// loadSalt reads the salt, or makes one; without it what was remembered is lost.
func (l *Ledger) loadSalt() error {
	path := filepath.Join(l.dir, saltName)
	if salt, err := os.ReadFile(path); err == nil && len(salt) == saltBytes { // #nosec G304 -- below the own directory
		l.salt = salt
		return nil
	}
	l.salt = make([]byte, saltBytes)
	_, _ = rand.Read(l.salt)
	if err := l.write(path, l.salt); err != nil {
		return fmt.Errorf("ledger: write its salt: %w", err)
	}
	return nil
}

// adopt lists what an earlier process left, in the order of its last use, and removes what it did not finish and what is no fact.
func (l *Ledger) adopt() error {
	files, err := os.ReadDir(l.folder())
	if err != nil {
		return fmt.Errorf("ledger: list its directory: %w", err)
	}
	type leftover struct {
		name string
		used time.Time
	}
	var found []leftover
	for _, file := range files {
		info, err := file.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(file.Name(), tempName), info.Size() > maxFact:
			_ = os.Remove(filepath.Join(l.folder(), file.Name()))
		case len(file.Name()) == 2*sha256.Size:
			found = append(found, leftover{file.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b leftover) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name)) })
	for _, f := range found {
		l.facts.Add(f.name, &fact{name: f.name})
	}
	return nil
}

// name is what a key looks like on disk. Parts are framed: no two keys are the same bytes.
func (l *Ledger) name(key []string) string {
	return hex.EncodeToString(l.sum(fmt.Sprintf("key %q", key)))
}

func (l *Ledger) sum(text string) []byte {
	mac := hmac.New(sha256.New, l.salt)
	_, _ = io.WriteString(mac, text)
	return mac.Sum(nil)
}

// Get returns the value of the key.
func (l *Ledger) Get(key ...string) (string, bool) {
	name := l.name(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.facts.Get(name)
	if !ok {
		return "", false
	}
	if !f.loaded && !l.load(f) {
		l.facts.Remove(name)
		return "", false
	}
	return f.value, true
}

// Set remembers the value for the key. A value of more than 4000 bytes is not remembered, and no former one either.
func (l *Ledger) Set(value string, key ...string) {
	if len(value) > maxValue {
		l.Delete(key...)
		return
	}
	name := l.name(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.facts.Get(name)
	if !ok {
		f = &fact{name: name}
		l.facts.Add(name, f)
	}
	if f.value == value && f.loaded {
		return
	}
	f.value, f.loaded = value, true
	_ = l.write(filepath.Join(l.folder(), name), append(l.seal(f), value...))
}

// Delete forgets the key.
func (l *Ledger) Delete(key ...string) {
	name := l.name(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts.Remove(name)
}

// seal proves that the value was written for this name by somebody who knows the salt, and is whole.
func (l *Ledger) seal(f *fact) []byte { return l.sum(fmt.Sprintf("value %q %q", f.name, f.value)) }

// load reads a fact from disk, with the lock held.
func (l *Ledger) load(f *fact) bool {
	file, err := os.Open(filepath.Join(l.folder(), f.name))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, maxFact))
	if err != nil || len(raw) < sha256.Size {
		return false
	}
	f.value, f.loaded = string(raw[sha256.Size:]), true
	return hmac.Equal(raw[:sha256.Size], l.seal(f))
}

// write makes the file appear as a whole. A power failure may still empty it; then its seal is broken.
func (l *Ledger) write(path string, content []byte) error {
	file, err := os.CreateTemp(l.folder(), tempName+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if _, err = file.Write(content); err == nil {
		err = file.Close()
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	return os.Rename(file.Name(), path)
}

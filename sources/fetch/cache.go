// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// Layout of the cache directory: one directory per entry, named by digest and form, holding contentName and usageName;
// and tempName for what is being made or thrown away. A rename makes an entry appear or vanish as a whole.
const (
	contentName = "content"
	usageName   = "usage.json"
	tempName    = "tmp"
	treeForm    = ".tree"
	fileForm    = ".file"
)

// blockBytes is the disk space counted for each entry of an archive beside its bytes.
const blockBytes = 4096

// entry is one digest in one form. Its fields belong to the cache's lock.
type entry struct {
	key   string
	refs  int
	ready bool
	disk  int64
	place *memory.Item[*entry] // set while ready
}

// cache knows what lies on disk and who uses it.
type cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	entries map[string]*entry
	recent  memory.Recent[*entry]
}

// openCache takes over dir: what an earlier process finished is kept, the rest is removed.
func openCache(dir string, limit int64) (*cache, error) {
	c := &cache{dir: dir, limit: limit, entries: map[string]*entry{}}
	if err := os.RemoveAll(c.temp()); err != nil {
		return nil, fmt.Errorf("artifact store: clear %s: %w", tempName, err)
	}
	if err := os.MkdirAll(c.temp(), 0o700); err != nil {
		return nil, fmt.Errorf("artifact store: make the cache directory: %w", err)
	}
	found, err := c.scan()
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		c.adopt(f)
	}
	c.evict()
	return c, nil
}

func (c *cache) temp() string { return filepath.Join(c.dir, tempName) }

// content is the path of the tree or file of e.
func (c *cache) content(e *entry) string { return filepath.Join(c.dir, e.key, contentName) }

// leftover is an entry of an earlier process.
type leftover struct {
	key  string
	disk int64
	used time.Time
}

// scan lists the complete entries, the least recently used first, and removes the damaged ones.
func (c *cache) scan() ([]leftover, error) {
	dirs, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("artifact store: list the cache directory: %w", err)
	}
	var found []leftover
	for _, d := range dirs {
		if !strings.HasSuffix(d.Name(), treeForm) && !strings.HasSuffix(d.Name(), fileForm) {
			continue // not ours
		}
		if l, ok := c.inspect(d); ok {
			found = append(found, l)
		} else if err := os.RemoveAll(filepath.Join(c.dir, d.Name())); err != nil {
			return nil, fmt.Errorf("artifact store: remove a damaged entry: %w", err)
		}
	}
	slices.SortFunc(found, func(a, b leftover) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.key, b.key)) })
	return found, nil
}

// inspect reports whether an entry still has as many bytes as were recorded for it: after a power failure a file may
// exist without its content.
func (c *cache) inspect(d fs.DirEntry) (leftover, bool) {
	dir := filepath.Join(c.dir, d.Name())
	info, err := d.Info()
	if err != nil {
		return leftover{}, false
	}
	raw, err := os.ReadFile(filepath.Join(dir, usageName)) // #nosec G304 -- below the own directory, by digest
	if err != nil {
		return leftover{}, false
	}
	var recorded usage
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return leftover{}, false
	}
	if n, err := fileBytes(filepath.Join(dir, contentName)); err != nil || n != recorded.Bytes {
		return leftover{}, false
	}
	return leftover{d.Name(), recorded.disk(), info.ModTime()}, true
}

func (u usage) disk() int64 { return u.Bytes + int64(u.Entries+1)*blockBytes }

// fileBytes sums the sizes of the files at or below path.
func fileBytes(path string) (sum int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

func (c *cache) adopt(l leftover) {
	e := &entry{key: l.key, ready: true, disk: l.disk}
	e.place = c.recent.Add(e, e.disk)
	c.entries[l.key] = e
}

// hold returns the entry of key, ready or not, and keeps it until release. ready reports whether its content is there.
func (c *cache) hold(key string) (e *entry, ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[key]
	if e == nil {
		e = &entry{key: key}
		c.entries[key] = e
	}
	e.refs++
	if !e.ready {
		return e, false
	}
	c.recent.Use(e.place)
	c.touch(e)
	return e, true
}

// touch keeps the order of use over a restart; losing it costs a download at most.
func (c *cache) touch(e *entry) {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.dir, e.key), now, now)
}

// commit moves the finished directory at path into the cache as the content of e, which the caller holds.
func (c *cache) commit(e *entry, path string, u usage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.ready {
		return nil
	}
	if err := os.Rename(path, filepath.Join(c.dir, e.key)); err != nil {
		return fmt.Errorf("artifact store: move an entry into place: %w", err)
	}
	e.ready, e.disk = true, u.disk()
	e.place = c.recent.Add(e, e.disk)
	return nil
}

// release ends a hold and removes what exceeds the limit.
func (c *cache) release(e *entry) {
	c.mu.Lock()
	e.refs--
	if e.refs == 0 && !e.ready {
		delete(c.entries, e.key)
	}
	c.mu.Unlock()
	c.evict()
}

// lose forgets the content of e because somebody else removed or damaged it.
func (c *cache) lose(e *entry) {
	c.mu.Lock()
	trash := ""
	if e.ready {
		trash = c.retire(e)
	}
	c.mu.Unlock()
	removeTrash(trash)
}

// evict removes entries that nobody holds until the limit is kept, the least recently used first.
func (c *cache) evict() {
	var trash []string
	c.mu.Lock()
	for c.recent.Weight() > c.limit {
		found := c.recent.Oldest(func(e *entry) bool { return e.refs == 0 })
		if found == nil {
			break
		}
		trash = append(trash, c.retire(found.Value))
		delete(c.entries, found.Value.key)
	}
	c.mu.Unlock()
	for _, t := range trash {
		removeTrash(t)
	}
}

// retire takes the content of e out of the cache, with the lock held, and returns where it lies now.
func (c *cache) retire(e *entry) string {
	c.recent.Remove(e.place)
	e.ready, e.place, e.disk = false, nil, 0
	from := filepath.Join(c.dir, e.key)
	trash, err := os.MkdirTemp(c.temp(), "trash-")
	if err != nil || os.Rename(from, filepath.Join(trash, e.key)) != nil {
		return from
	}
	return trash
}

// removeTrash deletes outside the lock; what cannot be deleted now goes at the next start.
func removeTrash(path string) {
	if path != "" {
		_ = os.RemoveAll(path)
	}
}

// absent reports that a path of the cache has vanished.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

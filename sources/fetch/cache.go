// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/opencontainers/go-digest"
)

// Layout of the cache directory: one directory per entry, named by the key of its content and its form, holding contentName and usageName;
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

// usage is what content takes.
type usage struct {
	// Bytes is the sum of the file sizes.
	Bytes int64 `json:"bytes"`
	// Entries counts files and directories as they were listed, and the directories that only paths of others name.
	Entries int `json:"entries"`
}

func (u usage) disk() int64 { return u.Bytes + int64(u.Entries+1)*blockBytes }

// entry is content in one form. Its fields belong to the cache's lock.
type entry struct {
	key   string
	holds int
	// disk is what the content takes; zero while it is not there.
	disk int64
	// verified says that this process has made it, or compared it with its digest.
	verified bool
}

// cache knows what lies on disk and who uses it.
type cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	entries map[string]*entry
	// idle are those that are there and that nobody holds, in the order of their use.
	idle *simplelru.LRU[string, *entry]
	// disk is what all take.
	disk int64
	// trash is where content lies that has to be removed without the lock.
	trash []string
}

// openCache takes over dir: what an earlier process finished is kept, the rest is removed.
func openCache(dir string, limit int64) (*cache, error) {
	c := &cache{dir: dir, limit: limit, entries: map[string]*entry{}}
	c.idle, _ = simplelru.NewLRU[string, *entry](math.MaxInt, nil) // fails on a size below one only
	if err := os.RemoveAll(c.temp()); err != nil {
		return nil, fmt.Errorf("artifact store: clear %s: %w", tempName, err)
	}
	if err := os.MkdirAll(c.temp(), 0o700); err != nil {
		return nil, fmt.Errorf("artifact store: make the cache directory: %w", err)
	}
	if err := c.adopt(); err != nil {
		return nil, err
	}
	c.change(func() {})
	return c, nil
}

func (c *cache) temp() string { return filepath.Join(c.dir, tempName) }

// content is the path of the tree or file of e.
func (c *cache) content(e *entry) string { return filepath.Join(c.dir, e.key, contentName) }

// adopt takes over the complete entries of an earlier process in the order of their use, and removes the damaged ones.
func (c *cache) adopt() error {
	dirs, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("artifact store: list the cache directory: %w", err)
	}
	used := map[*entry]time.Time{}
	var found []*entry
	for _, d := range dirs {
		if !strings.HasSuffix(d.Name(), treeForm) && !strings.HasSuffix(d.Name(), fileForm) {
			continue // not ours
		}
		e, at, err := c.inspect(d)
		if err != nil {
			if err := os.RemoveAll(filepath.Join(c.dir, d.Name())); err != nil {
				return fmt.Errorf("artifact store: remove a damaged entry: %w", err)
			}
			continue
		}
		used[e] = at
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b *entry) int { return cmp.Or(used[a].Compare(used[b]), strings.Compare(a.key, b.key)) })
	for _, e := range found {
		c.entries[e.key] = e
		c.disk += e.disk
		c.idle.Add(e.key, e)
	}
	return nil
}

// inspect returns an entry of an earlier process, and when it was used, if it still has as many bytes as were recorded for it: after a power failure
// a file may exist without its content.
func (c *cache) inspect(d fs.DirEntry) (*entry, time.Time, error) {
	e := &entry{key: d.Name()}
	info, err := d.Info()
	if err != nil {
		return nil, time.Time{}, err
	}
	raw, err := os.ReadFile(filepath.Join(c.dir, d.Name(), usageName)) // #nosec G304 -- below the own directory, by digest
	if err != nil {
		return nil, time.Time{}, err
	}
	var recorded usage
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, time.Time{}, err
	}
	var sum int64
	err = filepath.WalkDir(c.content(e), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err == nil && sum != recorded.Bytes {
		err = fs.ErrInvalid
	}
	e.disk, e.verified = recorded.disk(), filepath.Ext(e.key) == treeForm
	return e, info.ModTime(), err
}

// hold returns the entry of key, and keeps it until release. ready reports whether its content is there.
func (c *cache) hold(key string) (e *entry, ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[key]
	if e == nil {
		e = &entry{key: key}
		c.entries[key] = e
	}
	e.holds++
	c.idle.Remove(key)
	if e.disk == 0 {
		return e, false
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.dir, e.key), now, now) // the order of use over a restart; losing it costs a download at most
	return e, true
}

// usable reports whether the content of e, which the caller holds, is still there. A file of an earlier process has to have its digest, if that is known.
// What is not usable is forgotten.
func (c *cache) usable(e *entry, d digest.Digest) (is bool) {
	c.mu.Lock()
	verified := e.verified || d == ""
	c.mu.Unlock()
	file, err := os.Open(c.content(e))
	if err == nil && !verified {
		verifier := d.Verifier()
		_, err = io.Copy(verifier, file)
		verified = err == nil && verifier.Verified()
	}
	_ = file.Close()
	c.change(func() {
		if err == nil && verified {
			is, e.verified = true, d != "" || e.verified
			return
		}
		if _, err := os.Stat(c.content(e)); err == nil && e.verified {
			is = true // another caller has replaced it
			return
		}
		c.retire(e)
	})
	return is
}

// lose forgets the content of e, which the caller holds.
func (c *cache) lose(e *entry) { c.change(func() { c.retire(e) }) }

// commit moves the finished directory at path into the cache as the content of e, which the caller holds.
func (c *cache) commit(e *entry, path string, u usage) error {
	raw, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("artifact store: encode the size of an entry: %w", err)
	}
	if err := os.WriteFile(filepath.Join(path, usageName), raw, 0o600); err != nil {
		return fmt.Errorf("artifact store: record the size of an entry: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.disk > 0 {
		return nil
	}
	if err := os.Rename(path, filepath.Join(c.dir, e.key)); err != nil {
		return fmt.Errorf("artifact store: move an entry into place: %w", err)
	}
	e.disk, e.verified = u.disk(), true
	c.disk += e.disk
	return nil
}

// release ends a hold and removes what exceeds the limit.
func (c *cache) release(e *entry) {
	c.change(func() {
		switch e.holds--; {
		case e.holds > 0:
		case e.disk > 0:
			c.idle.Add(e.key, e)
		default:
			delete(c.entries, e.key)
		}
	})
}

// change makes a change, with the lock held, and removes content that nobody holds until the limit is kept, the least recently used first.
func (c *cache) change(make func()) {
	c.mu.Lock()
	make()
	for c.disk > c.limit {
		_, e, ok := c.idle.RemoveOldest()
		if !ok {
			break
		}
		delete(c.entries, e.key)
		c.retire(e)
	}
	trash := c.trash
	c.trash = nil
	c.mu.Unlock()
	for _, path := range trash {
		_ = os.RemoveAll(path) // what cannot be removed now goes at the next start
	}
}

// retire takes the content of e out of the cache, with the lock held.
func (c *cache) retire(e *entry) {
	if e.disk == 0 {
		return
	}
	c.disk -= e.disk
	e.disk, e.verified = 0, false
	from := filepath.Join(c.dir, e.key)
	trash, err := os.MkdirTemp(c.temp(), "trash-")
	if err == nil {
		c.trash = append(c.trash, trash)
		err = os.Rename(from, filepath.Join(trash, e.key))
	}
	if err != nil {
		_ = os.RemoveAll(from)
	}
}

// releasing is release, once, however often it is called.
func (c *cache) releasing(e *entry) func() { return sync.OnceFunc(func() { c.release(e) }) }

// directory is a temporary one for a cache, which belongs to this process alone. It ends with the process, or when a later one takes its place after it was
// killed, as the container of a Pod does that is started again.
type directory struct {
	path string
	// lock is a file beside it that is locked as long as the process lives; nil where the system cannot lock files.
	lock *os.File
}

// mostDirectories is how many processes have a directory with the same prefix at the same time.
const mostDirectories = 1000

// makeDirectory makes an empty directory whose name begins with a prefix: the first whose lock nobody holds.
func makeDirectory(prefix string) (*directory, error) {
	for i := range mostDirectories {
		path := filepath.Join(os.TempDir(), prefix+strconv.Itoa(i))
		file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- in the temporary directory
		if err != nil {
			continue // that of another user
		}
		err = lock(file)
		if err == nil {
			if err = os.RemoveAll(path); err == nil {
				err = os.Mkdir(path, 0o700)
			}
		}
		if err == nil {
			return &directory{path, file}, nil
		}
		_ = file.Close()
		if errors.Is(err, errors.ErrUnsupported) {
			break
		}
	}
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	return &directory{path: path}, nil
}

// remove removes the directory with its content.
func (d *directory) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if err != nil {
		return fmt.Errorf("remove a temporary directory: %w", err)
	}
	return nil
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/lru"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
)

// Store downloads, verifies and keeps artifacts. It is safe for concurrent use.
type Store struct {
	options  Options
	download *downloader
	cache    *cache
	flights  singleflight.Group
	// verdicts holds the *fault.Error of content that was verified and then refused: the same digest will be refused again.
	verdicts *lru.Cache
}

// rememberedVerdicts is how many refused digests are remembered.
const rememberedVerdicts = 1024

// New opens the store at o.Dir and takes over what an earlier process left there. It fails if a limit is negative or the
// directory cannot be used.
func New(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := openCache(o.Dir, o.CacheBytes)
	if err != nil {
		return nil, err
	}
	return &Store{
		options: o,
		cache:   c,
		download: &downloader{
			client:        &http.Client{Transport: o.Transport},
			max:           o.MaxDownload,
			retries:       o.Retries,
			delay:         o.RetryDelay,
			hostOverwrite: o.HostOverwrite,
		},
		verdicts: lru.New(rememberedVerdicts),
	}, nil
}

// Temporary is a directory for what is not finished. What is left there when the process ends is removed when the next one opens the store.
func (s *Store) Temporary() string { return s.cache.temp() }

// MaxDownload is how many bytes the store accepts as one download or one Content.
func (s *Store) MaxDownload() int64 { return s.options.MaxDownload }

// Open returns the files of the tar or gzipped tar that a names. Concurrent calls for one digest at one URL share one download, and
// a cached digest causes none. The error is a *fault.Error, or says that the download may be tried again.
func (s *Store) Open(ctx context.Context, a Artifact) (*Tree, error) {
	d, err := a.parseDigest()
	if err != nil {
		return nil, err
	}
	return s.tree(ctx, s.ordered(a, d), d)
}

// tree returns the files of what is ordered; d is the digest to state for them.
func (s *Store) tree(ctx context.Context, o order, d digest.Digest) (*Tree, error) {
	e, err := s.obtain(ctx, o, treeForm)
	if err != nil {
		return nil, err
	}
	t, err := openTree(s.cache, e, o.artifact, d)
	if err != nil {
		s.cache.release(e)
		return nil, err
	}
	return t, nil
}

// origin writes content to an empty file, which it may empty and write again.
type origin func(ctx context.Context, f *os.File) error

// order is what a caller wants: the artifact for messages, the name that its content has in the cache, and how to get it. Who orders the same
// key from the same place waits for the same download.
type order struct {
	artifact   Artifact
	key, place string
	from       origin
}

// ordered is the order for an artifact. Whoever knows a digest may name it with a server that never answers, or answers with something else: he waits
// for that alone.
func (s *Store) ordered(a Artifact, d digest.Digest) order {
	return order{a, keyOf(d), a.URL, s.from(a, d)}
}

// keyOf is the name of content with the digest d in the cache.
func keyOf(d digest.Digest) string { return d.Algorithm().String() + "-" + d.Encoded() }

// from gets a from its server.
func (s *Store) from(a Artifact, d digest.Digest) origin {
	return func(ctx context.Context, f *os.File) error { return s.download.get(ctx, a, d, f) }
}

// OpenFile returns the bytes that a names, for an artifact that is one file such as a packaged chart, cached like Open.
func (s *Store) OpenFile(ctx context.Context, a Artifact) ([]byte, error) {
	d, err := a.parseDigest()
	if err != nil {
		return nil, err
	}
	e, err := s.obtain(ctx, s.ordered(a, d), fileForm)
	if err != nil {
		return nil, err
	}
	defer s.cache.release(e)
	content, err := os.ReadFile(s.cache.content(e)) // #nosec G304 -- below the own directory
	if err != nil {
		return nil, fmt.Errorf("%s: read it from the cache: %w", a, err)
	}
	if d.Algorithm().FromBytes(content) != d {
		s.cache.lose(e)
		return nil, fmt.Errorf("%s: its cached copy was damaged and is removed; it is downloaded again at the next try", a)
	}
	return content, nil
}

// obtain returns the held entry of what is ordered with its content in place.
func (s *Store) obtain(ctx context.Context, o order, form string) (*entry, error) {
	e, ready := s.cache.hold(o.key + form)
	if ready {
		if _, err := os.Stat(s.cache.content(e)); err == nil || !absent(err) {
			return e, nil
		}
		s.cache.lose(e)
	}
	if err := s.load(ctx, o, e); err != nil {
		s.cache.release(e)
		return nil, err
	}
	return e, nil
}

// load waits for the one download of e. The download does not end with the context of whoever came first, because
// others may wait for it too; Options.Timeout ends it.
func (s *Store) load(ctx context.Context, o order, e *entry) error {
	if verdict, ok := s.verdicts.Get(e.key); ok {
		return about(o.artifact, verdict.(*fault.Error))
	}
	done := s.flights.DoChan(e.key+" "+o.place, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Timeout)
		defer cancel()
		return nil, rescue.Caught(func() error { return s.make(ctx, o, e.key) })
	})
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: stopped waiting for its download: %w", o.artifact, context.Cause(ctx))
	case result := <-done:
		return aboutThis(o.artifact, rescue.Landed(result.Err))
	}
}

// aboutThis lets an error of a shared download name the artifact as the caller knows it.
func aboutThis(a Artifact, err error) error {
	if verdict := verdictOf(err); verdict != nil {
		return about(a, verdict)
	}
	return err
}

// make downloads and unpacks beside the cache, then moves the result into it. It holds the entry itself, since every
// caller may have left before it is done.
func (s *Store) make(ctx context.Context, o order, key string) error {
	e, ready := s.cache.hold(key)
	defer s.cache.release(e)
	if ready {
		return nil
	}
	work, err := os.MkdirTemp(s.cache.temp(), "make-")
	if err != nil {
		return fmt.Errorf("%s: make a temporary directory: %w", o.artifact, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	result := filepath.Join(work, "entry")
	used, err := s.build(ctx, o, key, work, result)
	if err != nil {
		return err
	}
	return s.cache.commit(e, result, used)
}

// build fills the directory result with what is ordered, in the form that key ends with.
func (s *Store) build(ctx context.Context, o order, key, work, result string) (usage, error) {
	if err := os.Mkdir(result, 0o700); err != nil {
		return usage{}, fmt.Errorf("%s: make a temporary directory: %w", o.artifact, err)
	}
	archive, err := os.OpenFile(filepath.Join(work, "download"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- below the own directory
	if err != nil {
		return usage{}, fmt.Errorf("%s: make a temporary file: %w", o.artifact, err)
	}
	defer func() { _ = archive.Close() }()
	if err := o.from(ctx, archive); err != nil {
		return usage{}, err
	}
	used, err := s.place(ctx, o.artifact, archive, filepath.Ext(key), filepath.Join(result, contentName))
	if err != nil {
		s.remember(key, err)
		return usage{}, err
	}
	return used, writeUsage(result, used)
}

// place turns the verified download into the content of an entry.
func (s *Store) place(ctx context.Context, a Artifact, archive *os.File, form, content string) (usage, error) {
	if form == fileForm {
		size, err := archive.Seek(0, io.SeekCurrent)
		if err != nil {
			return usage{}, fmt.Errorf("%s: measure the download: %w", a, err)
		}
		return usage{Bytes: size, Entries: 1}, os.Rename(archive.Name(), content)
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return usage{}, fmt.Errorf("%s: rewind the download: %w", a, err)
	}
	if err := os.Mkdir(content, 0o700); err != nil {
		return usage{}, fmt.Errorf("%s: make the directory of its files: %w", a, err)
	}
	root, err := os.OpenRoot(content)
	if err != nil {
		return usage{}, fmt.Errorf("%s: open the directory of its files: %w", a, err)
	}
	defer func() { _ = root.Close() }()
	o := s.options
	return extract(ctx, a, archive, root, limits{file: o.MaxFile, total: o.MaxExtracted, entries: o.MaxEntries})
}

// remember keeps a refusal of verified content, so that a thousand consumers do not download it a thousand times.
func (s *Store) remember(key string, err error) {
	if verdict := verdictOf(err); verdict != nil {
		s.verdicts.Add(key, verdict)
	}
}

func writeUsage(dir string, u usage) error {
	raw, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("artifact store: encode the size of an entry: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, usageName), raw, 0o600); err != nil {
		return fmt.Errorf("artifact store: record the size of an entry: %w", err)
	}
	return nil
}

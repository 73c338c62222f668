// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch keeps content from servers on disk: artifacts of Flux sources, content of registries, files of Git commits.
//
// Content is verified against its digest, held to size limits and kept in a directory under where it comes from, so that any number of consumers cause one
// download, before and after a restart. Nothing becomes visible before it is verified and complete, and a reader cannot leave the tree that it opened.
//
// A Store owns its directory: two processes must not share one.
package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "crypto/sha512" // registers itself for digests
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/opencontainers/go-digest"
	_ "github.com/opencontainers/go-digest/blake3"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// Defaults of Options.
const (
	DefaultMaxDownload  = 64 << 20
	DefaultMaxExtracted = 128 << 20
	DefaultMaxFile      = 32 << 20
	DefaultMaxEntries   = 20_000
	DefaultCacheBytes   = 1 << 30
	DefaultRetries      = 4
	DefaultRetryDelay   = 60 * time.Millisecond
	DefaultTimeout      = time.Minute
)

// Options configure a Store. Every limit that is zero takes its default; there is no "unlimited".
type Options struct {
	// Dir is the cache directory; it is made with mode 0700 and belongs to this store alone. Empty means a temporary directory that Close removes.
	Dir string
	// MaxDownload limits the bytes of a download.
	MaxDownload int64
	// MaxExtracted limits the bytes of all files of one archive together.
	MaxExtracted int64
	// MaxFile limits the bytes of one file of an archive.
	MaxFile int64
	// MaxEntries limits the number of entries of an archive.
	MaxEntries int
	// CacheBytes is the disk space, in bytes, that entries nobody uses may take; the least recently used go first.
	CacheBytes int64
	// Retries is how often a failed download is tried again within one call; negative means never.
	Retries int
	// RetryDelay is the first delay between tries; it doubles each time.
	RetryDelay time.Duration
	// Timeout limits one download with all its tries, and its extraction.
	Timeout time.Duration
	// HostOverwrite, if set, replaces host and port of every URL (SOURCE_CONTROLLER_LOCALHOST of the Flux controllers,
	// for a process outside the cluster).
	HostOverwrite string
	// PublicOnly refuses servers at addresses that are not public, except those of Storage and HostOverwrite.
	PublicOnly bool
	// Storage lists the servers of the operator from which artifacts come, as host or host:port; without a port it is that of the scheme.
	Storage []string
	// Transport carries the requests; nil means one of the store's own, which refuses the metadata services of
	// clouds, and what PublicOnly says.
	Transport http.RoundTripper
}

// The classes of a *fault.Error of this package, whose subject is the Name of the content: never its URL, which may carry
// credentials. Every other error is worth another try.
var (
	// ErrDigest: no usable digest was given, or the content received is not the content of that digest.
	ErrDigest = fault.Class(fault.Stalled, "digest mismatch")
	// ErrTooLarge: the download, one file, the number of entries or the extracted whole exceeds a limit of Options.
	ErrTooLarge = fault.Class(fault.Stalled, "artifact too large")
	// ErrGone: the server does not have the artifact any more; the source is about to offer a newer one.
	ErrGone = fault.Class(fault.Waiting, "artifact gone")
	// ErrUnsafe: the archive is malformed, or holds an entry that a reader must never follow.
	ErrUnsafe = fault.Class(fault.Stalled, "unsafe archive")
)

func refuse(class error, name, problem, cure string) error {
	return &fault.Error{Class: class, Subject: name, Problem: problem, Cure: cure}
}

// verdictOf returns the error of this package in a chain, nil if there is none. Those about where a Content comes from are not.
func verdictOf(err error) *fault.Error {
	var found *fault.Error
	if errors.As(err, &found) && slices.Contains([]error{ErrDigest, ErrTooLarge, ErrGone, ErrUnsafe}, found.Class) {
		return found
	}
	return nil
}

// Content is content that the caller gets by himself, from a registry or a Git server for instance. Whether he may have it
// is his to know before he asks the store, which serves it to everybody who names the same Scope and ID.
type Content struct {
	// Name says in messages what it is, for instance `resource "chart" of example.com/shop:1.0.0`.
	Name string
	// Scope is where it comes from, such as host and repository: content of one scope is not served for another, so that
	// nobody receives by its mere digest what a server would refuse. Required.
	Scope string
	// ID identifies the content within its scope for ever: a digest, or the hash of a commit. Required.
	ID string
	// Digest, if set, is what the content has to have.
	Digest digest.Digest
	// Place says how it is got, such as a URL or a login. Those who ask at the same time wait for one download where they name the same place: nobody waits
	// for a server that another one names, or fails by his login.
	Place string
	// Write writes the content to w; its error reaches the caller as it is. It may be called again after an error.
	Write func(ctx context.Context, w io.Writer) error
	// Again tells the errors after which Write is called again, within Options.Retries; nil means none.
	Again func(error) bool
}

// key names the content in the cache. It is a hash since scope and ID may hold anything and must not be read from the disk.
func (c Content) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", c.Scope, c.ID))
	return hex.EncodeToString(sum[:])
}

// Store keeps content. It is safe for concurrent use.
type Store struct {
	options Options
	client  *http.Client
	cache   *cache
	flights singleflight.Group
	// verdicts holds the *fault.Error of content that was verified and then refused: the same digest will be refused again.
	verdicts *lru.Cache[string, *fault.Error]
	// temporary is the directory to remove at the end, if any.
	temporary *directory
}

// rememberedVerdicts is how many refused digests are remembered.
const rememberedVerdicts = 1024

// New opens the store at o.Dir and takes over what an earlier process left there. It fails if a limit is negative or the
// directory cannot be used.
func New(o Options) (*Store, error) {
	if o.MaxDownload < 0 || o.MaxExtracted < 0 || o.MaxFile < 0 || o.MaxEntries < 0 || o.CacheBytes < 0 {
		return nil, fmt.Errorf("artifact store %s: a limit is negative; use a positive number, or zero for the default", o.Dir)
	}
	o.MaxDownload = cmp.Or(o.MaxDownload, DefaultMaxDownload)
	o.MaxExtracted = cmp.Or(o.MaxExtracted, DefaultMaxExtracted)
	o.MaxFile = cmp.Or(o.MaxFile, DefaultMaxFile)
	o.MaxEntries = cmp.Or(o.MaxEntries, DefaultMaxEntries)
	o.CacheBytes = cmp.Or(o.CacheBytes, DefaultCacheBytes)
	o.Retries = cmp.Or(o.Retries, DefaultRetries)
	o.RetryDelay = cmp.Or(o.RetryDelay, DefaultRetryDelay)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Transport == nil {
		o.Transport = newGuard(o)
	}
	s := &Store{client: &http.Client{Transport: o.Transport}}
	var err error
	if o.Dir == "" {
		if s.temporary, err = makeDirectory("landscaper-cache-"); err != nil {
			return nil, err
		}
		o.Dir = s.temporary.path
	}
	s.options = o
	if s.cache, err = openCache(o.Dir, o.CacheBytes); err != nil {
		return nil, err
	}
	s.verdicts, err = lru.New[string, *fault.Error](rememberedVerdicts)
	return s, err
}

// Close removes the temporary directory. Content that is open stays readable where the system keeps open files.
func (s *Store) Close() error {
	if s.temporary == nil {
		return nil
	}
	return s.temporary.remove()
}

// Temporary is a directory for what is not finished. What is left there when the process ends is removed when the next one opens the store.
func (s *Store) Temporary() string { return s.cache.temp() }

// MaxDownload is how many bytes the store accepts as one download or one Content.
func (s *Store) MaxDownload() int64 { return s.options.MaxDownload }

// Extract returns the files of the tar or gzipped tar c. Write is called only if the store does not hold it yet, once for all who wait. The Digest of the
// Tree is the one of c.
func (s *Store) Extract(ctx context.Context, c Content) (*Tree, error) {
	e, err := s.obtain(ctx, c, treeForm)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.cache.content(e))
	if err != nil {
		s.cache.release(e)
		return nil, fmt.Errorf("%s: open it in the cache: %w", c.Name, err)
	}
	return newTree(root, c, s.cache.releasing(e)), nil
}

// Keep returns c as one file, cached like Extract.
func (s *Store) Keep(ctx context.Context, c Content) (*File, error) {
	e, err := s.obtain(ctx, c, fileForm)
	if err != nil {
		return nil, err
	}
	f, err := openFile(s.cache.content(e), s.cache.releasing(e))
	if err != nil {
		s.cache.release(e)
		return nil, fmt.Errorf("%s: open it in the cache: %w", c.Name, err)
	}
	return f, nil
}

// Put keeps a short text under a scope and an ID, in place of a former one.
func (s *Store) Put(scope, id string, text []byte) error {
	e, _ := s.cache.hold(Content{Scope: scope, ID: id}.key() + fileForm)
	defer s.cache.release(e)
	work, err := os.MkdirTemp(s.cache.temp(), "make-")
	if err != nil {
		return fmt.Errorf("artifact store: make a temporary directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(work, contentName), text, 0o600); err != nil {
		return fmt.Errorf("artifact store: write a text: %w", err)
	}
	s.cache.lose(e)
	return s.cache.commit(e, work, usage{Bytes: int64(len(text)), Entries: 1})
}

// Get returns a text that was put.
func (s *Store) Get(scope, id string) ([]byte, bool) {
	e, ready := s.cache.hold(Content{Scope: scope, ID: id}.key() + fileForm)
	defer s.cache.release(e)
	if !ready {
		return nil, false
	}
	text, err := os.ReadFile(s.cache.content(e))
	return text, err == nil
}

// Drop forgets a text.
func (s *Store) Drop(scope, id string) {
	e, _ := s.cache.hold(Content{Scope: scope, ID: id}.key() + fileForm)
	s.cache.lose(e)
	s.cache.release(e)
}

// obtain returns the held entry of c with its content in place.
func (s *Store) obtain(ctx context.Context, c Content, form string) (*entry, error) {
	if c.Scope == "" || c.ID == "" || c.Name == "" || c.Write == nil {
		return nil, errors.New("artifact store: a Content needs Name, Scope, ID and Write")
	}
	if c.Digest != "" && c.Digest.Validate() != nil {
		return nil, refuse(ErrDigest, c.Name, fmt.Sprintf("its digest %q cannot be used", c.Digest), "publish it with a digest such as sha256:<64 hex digits>")
	}
	e, ready := s.cache.hold(c.key() + form)
	if ready && s.cache.usable(e, c.Digest) {
		return e, nil
	}
	if err := s.load(ctx, c, e.key); err != nil {
		s.cache.release(e)
		return nil, err
	}
	return e, nil
}

// load waits for the one download of c. The download does not end with the context of whoever came first, because
// others may wait for it too; Options.Timeout ends it.
func (s *Store) load(ctx context.Context, c Content, key string) error {
	if verdict, ok := s.verdicts.Get(key); ok {
		return refuse(verdict.Class, c.Name, verdict.Problem, verdict.Cure)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.Name, context.Cause(ctx))
	}
	done := s.flights.DoChan(key+" "+c.Place, func() (any, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.options.Timeout, TimedOut(s.options.Timeout))
		defer cancel()
		return nil, fault.Survived(ctx, func() error { return s.make(ctx, c, key) })
	})
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: stopped waiting for its download: %w", c.Name, context.Cause(ctx))
	case result := <-done:
		if verdict := verdictOf(result.Err); verdict != nil {
			return refuse(verdict.Class, c.Name, verdict.Problem, verdict.Cure) // named as the caller knows it
		}
		return result.Err
	}
}

// make downloads and unpacks beside the cache, then moves the result into it. It holds the entry itself, since every
// caller may have left before it is done.
func (s *Store) make(ctx context.Context, c Content, key string) error {
	e, ready := s.cache.hold(key)
	defer s.cache.release(e)
	if ready {
		return nil
	}
	work, err := os.MkdirTemp(s.cache.temp(), "make-")
	if err != nil {
		return fmt.Errorf("%s: make a temporary directory: %w", c.Name, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	result := filepath.Join(work, "entry")
	if err := os.Mkdir(result, 0o700); err != nil {
		return fmt.Errorf("%s: make a temporary directory: %w", c.Name, err)
	}
	file, err := os.OpenFile(filepath.Join(work, "download"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- below the own directory
	if err != nil {
		return fmt.Errorf("%s: make a temporary file: %w", c.Name, err)
	}
	defer func() { _ = file.Close() }()
	if err := s.receive(ctx, c, file); err != nil {
		return err
	}
	used, err := s.place(ctx, c.Name, file, filepath.Ext(key), filepath.Join(result, contentName))
	if err != nil {
		if verdict := verdictOf(err); verdict != nil {
			s.verdicts.Add(key, verdict) // so that a thousand consumers do not download it a thousand times
		}
		return err
	}
	return s.cache.commit(e, result, used)
}

// place turns the verified download into the content of an entry.
func (s *Store) place(ctx context.Context, name string, download *os.File, form, content string) (usage, error) {
	size, err := download.Seek(0, io.SeekCurrent)
	if err != nil {
		return usage{}, fmt.Errorf("%s: measure the download: %w", name, err)
	}
	if form == fileForm {
		return usage{Bytes: size, Entries: 1}, os.Rename(download.Name(), content)
	}
	if _, err := download.Seek(0, io.SeekStart); err != nil {
		return usage{}, fmt.Errorf("%s: rewind the download: %w", name, err)
	}
	if err := os.Mkdir(content, 0o700); err != nil {
		return usage{}, fmt.Errorf("%s: make the directory of its files: %w", name, err)
	}
	root, err := os.OpenRoot(content)
	if err != nil {
		return usage{}, fmt.Errorf("%s: open the directory of its files: %w", name, err)
	}
	defer func() { _ = root.Close() }()
	return extract(ctx, name, download, root, limits{file: s.options.MaxFile, total: s.options.MaxExtracted, entries: s.options.MaxEntries})
}

// receive lets c write itself to a file, as often as it takes.
func (s *Store) receive(ctx context.Context, c Content, f *os.File) error {
	var last error
	backoff := wait.Backoff{Duration: s.options.RetryDelay, Factor: 2, Jitter: 0.1, Steps: max(s.options.Retries, 0) + 1}
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		last = s.receiveOnce(ctx, c, f)
		return last == nil || c.Again == nil || !c.Again(last), nil
	})
	return cmp.Or(last, err)
}

// receiveOnce lets c write itself to a file, held to the limit and the digest.
func (s *Store) receiveOnce(ctx context.Context, c Content, f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("artifact store: empty a temporary file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("artifact store: rewind a temporary file: %w", err)
	}
	w := &cappedWriter{w: f, left: s.options.MaxDownload}
	verified := func() bool { return true }
	if c.Digest != "" {
		verifier := c.Digest.Verifier()
		w.w, verified = io.MultiWriter(f, verifier), verifier.Verified
	}
	err := c.Write(ctx, w)
	switch {
	case w.isFull:
		return refuse(ErrTooLarge, c.Name, fmt.Sprintf("it is larger than the limit of %d bytes", s.options.MaxDownload),
			"make it smaller, as with spec.ignore of a source, or raise the limit of the controller")
	case err != nil:
		return err
	case !verified():
		return refuse(ErrDigest, c.Name, fmt.Sprintf("the bytes received do not have the digest %s", c.Digest),
			"publish it anew, or reconcile its source; if that does not help, somebody changed it on the way")
	}
	return nil
}

// cappedWriter fails as soon as more than left bytes are written.
type cappedWriter struct {
	w      io.Writer
	left   int64
	isFull bool
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		c.isFull = true
		return 0, errStreamTooLong
	}
	c.left -= int64(len(p))
	return c.w.Write(p)
}

// timeoutError ends a call; it says how long that took.
type timeoutError struct{ limit time.Duration }

// TimedOut is the cause for a context that ends after a time.
func TimedOut(limit time.Duration) error { return &timeoutError{limit} }

// Error names the limit.
func (e *timeoutError) Error() string {
	return "timeout: the server did not answer within " + e.limit.String()
}

// Is makes it a context.DeadlineExceeded.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

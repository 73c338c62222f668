// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func blueprint(t testing.TB, content string) []byte {
	return tgz(t, e(file("blueprint.yaml", content)))
}

func TestThousandConsumersCauseOneDownload(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	a := srv.offer(blueprint(t, "shop"))
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			tree, err := s.Open(context.Background(), a)
			if assert.NoError(t, err) {
				assert.Equal(t, "shop", read(t, tree.FS(), "blueprint.yaml"))
				assert.NoError(t, tree.Close())
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, srv.requests.Load())
	requireTempEmpty(t, s)
}

// TestNobodyWaitsForTheServerOfAnother lets somebody name the digest of another's artifact with a server that does not answer, and with one that answers
// with something else.
func TestNobodyWaitsForTheServerOfAnother(t *testing.T) {
	asked, end := make(chan struct{}), make(chan struct{})
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-end
		_, _ = w.Write([]byte("something else"))
	}))
	t.Cleanup(hostile.Close)
	srv, s := newServer(t), newStore(t, func(o *Options) { o.Retries = -1 })
	own := srv.offer(blueprint(t, "shop"))
	other := own
	other.URL = hostile.URL
	failed := make(chan error, 1)
	go func() {
		_, err := s.Open(context.Background(), other)
		failed <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	tree, err := s.Open(ctx, own)

	if assert.NoError(t, err) {
		assert.Equal(t, "shop", read(t, tree.FS(), "blueprint.yaml"))
		require.NoError(t, tree.Close())
	}
	close(end)
	require.ErrorIs(t, <-failed, ErrDigest)
	again := open(t, s, own)
	require.Equal(t, "shop", read(t, again.FS(), "blueprint.yaml"))
	require.EqualValues(t, 1, srv.requests.Load(), "what failed elsewhere takes nothing away")
	requireTempEmpty(t, s)
}

func TestM05MetadataServicesAreNoArtifacts(t *testing.T) {
	redirecting := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusFound))
	t.Cleanup(redirecting.Close)
	for name, at := range map[string]string{
		"named": "http://169.254.169.254/latest/meta-data/", "by IPv6": "http://[::ffff:169.254.169.254]/latest/", "redirected": redirecting.URL,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(o *Options) { o.Retries = -1 })
			_, err := s.Open(t.Context(), Artifact{URL: at, Digest: "sha256:" + strings.Repeat("0", 64), Source: "ExternalArtifact default/evil"})
			require.ErrorIs(t, err, egress.ErrPrivate)
		})
	}
}

func TestRefusedContentIsDownloadedOnce(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	a := srv.offer(tgz(t, e(file("../evil", "x"))))
	for i := range 10 {
		a.Source = fmt.Sprintf("Bucket default/b%d", i)
		_, err := s.Open(context.Background(), a)
		require.ErrorIs(t, err, ErrUnsafe)
		require.ErrorContains(t, err, a.Source)
	}
	require.EqualValues(t, 1, srv.requests.Load())
}

func TestCacheSurvivesARestart(t *testing.T) {
	srv, dir := newServer(t), t.TempDir()
	a := srv.offer(blueprint(t, "shop"))
	open(t, newStore(t, func(o *Options) { o.Dir = dir }), a)
	srv.Close()
	again := newStore(t, func(o *Options) { o.Dir, o.Retries = dir, -1 })
	require.Equal(t, "shop", read(t, open(t, again, a).FS(), "blueprint.yaml"))
}

func TestRestartDropsDamagedAndUnfinishedEntries(t *testing.T) {
	srv, dir := newServer(t), t.TempDir()
	a := srv.offer(blueprint(t, "shop"))
	first := newStore(t, func(o *Options) { o.Dir = dir })
	open(t, first, a)
	cut := filepath.Join(dir, cacheDirs(t, dir)[0], contentName, "blueprint.yaml")
	require.NoError(t, os.Truncate(cut, 0))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sha256-00.tree", contentName), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, tempName, "make-1"), 0o700))
	again := newStore(t, func(o *Options) { o.Dir = dir })
	require.Empty(t, cacheDirs(t, dir))
	requireTempEmpty(t, again)
	require.Equal(t, "shop", read(t, open(t, again, a).FS(), "blueprint.yaml"))
}

func TestVanishedEntryIsDownloadedAgain(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	a := srv.offer(blueprint(t, "shop"))
	require.NoError(t, open(t, s, a).Close())
	require.NoError(t, os.RemoveAll(filepath.Join(s.options.Dir, cacheDirs(t, s.options.Dir)[0])))
	require.Equal(t, "shop", read(t, open(t, s, a).FS(), "blueprint.yaml"))
	require.EqualValues(t, 2, srv.requests.Load())
}

func TestEvictionTakesTheLeastRecentlyUsed(t *testing.T) {
	srv := newServer(t)
	s := newStore(t, func(o *Options) { o.CacheBytes = 2*2*blockBytes + 100 }) // two small artifacts
	a, b, c := srv.offer(blueprint(t, "a")), srv.offer(blueprint(t, "b")), srv.offer(blueprint(t, "c"))
	for _, artifact := range []Artifact{a, b, a, c} {
		require.NoError(t, open(t, s, artifact).Close())
	}
	require.Len(t, cacheDirs(t, s.options.Dir), 2)
	srv.requests.Store(0)
	require.NoError(t, open(t, s, a).Close())
	require.Zero(t, srv.requests.Load(), "a was used after b")
	require.NoError(t, open(t, s, b).Close())
	require.EqualValues(t, 1, srv.requests.Load(), "b was evicted")
}

func TestEvictionOrderSurvivesARestart(t *testing.T) {
	srv, dir := newServer(t), t.TempDir()
	s := newStore(t, func(o *Options) { o.Dir = dir })
	used, unused := srv.offer(blueprint(t, "used")), srv.offer(blueprint(t, "unused"))
	for a, age := range map[Artifact]time.Duration{used: 2 * time.Hour, unused: time.Hour} {
		require.NoError(t, open(t, s, a).Close())
		made := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(entryDir(dir, a), made, made))
	}
	require.NoError(t, open(t, s, used).Close())
	newStore(t, func(o *Options) { o.Dir, o.CacheBytes = dir, 2*blockBytes+100 })
	require.DirExists(t, entryDir(dir, used))
	require.NoDirExists(t, entryDir(dir, unused))
}

func entryDir(dir string, a Artifact) string {
	return filepath.Join(dir, Content{Scope: "artifact", ID: a.Digest}.key()+treeForm)
}

func TestOpenTreeIsNotEvicted(t *testing.T) {
	srv := newServer(t)
	s := newStore(t, func(o *Options) { o.CacheBytes = 1 })
	a := srv.offer(blueprint(t, "a"))
	tree := open(t, s, a)
	require.NoError(t, open(t, s, srv.offer(blueprint(t, "b"))).Close())
	require.Equal(t, "a", read(t, tree.FS(), "blueprint.yaml"))
	require.NoError(t, tree.Close())
	require.NoError(t, tree.Close(), "closing twice is harmless")
	require.Empty(t, cacheDirs(t, s.options.Dir))
}

// collect returns after objects that were unreachable before it have been collected and their cleanups have run.
func collect() {
	for range 3 {
		done, sentinel := make(chan struct{}), new(*int)
		runtime.AddCleanup(sentinel, func(done chan struct{}) { close(done) }, done)
		sentinel = nil
		_ = sentinel
		runtime.GC()
		<-done
	}
}

func TestDroppedTreeIsReleased(t *testing.T) {
	srv := newServer(t)
	s := newStore(t, func(o *Options) { o.CacheBytes = 1 })
	fsys := func() fs.FS {
		tree, err := s.Open(context.Background(), srv.offer(blueprint(t, "a")))
		require.NoError(t, err)
		return tree.FS()
	}()
	collect()
	require.Equal(t, "a", read(t, fsys, "blueprint.yaml"), "the file system keeps the tree")
	fsys = nil
	_ = fsys
	require.Eventually(t, func() bool { collect(); return len(cacheDirs(t, s.options.Dir)) == 0 }, pace.Within(10*time.Second), time.Millisecond)
}

func TestOpenFile(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	a := srv.offer([]byte("chart"))
	for range 2 {
		content, err := s.OpenFile(context.Background(), a)
		require.NoError(t, err)
		require.Equal(t, "chart", string(content))
	}
	require.EqualValues(t, 1, srv.requests.Load())
}

func TestADamagedFileIsDownloadedAgain(t *testing.T) {
	srv, dir := newServer(t), t.TempDir()
	a := srv.offer([]byte("chart"))
	_, err := newStore(t, func(o *Options) { o.Dir = dir }).OpenFile(context.Background(), a)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, cacheDirs(t, dir)[0], contentName), []byte("other"), 0o600))
	again := newStore(t, func(o *Options) { o.Dir = dir })
	for range 2 {
		content, err := again.OpenFile(context.Background(), a)
		require.NoError(t, err)
		require.Equal(t, "chart", string(content))
	}
	require.EqualValues(t, 2, srv.requests.Load())
}

func TestConcurrentUseOfASmallCache(t *testing.T) {
	srv := newServer(t)
	s := newStore(t, func(o *Options) { o.CacheBytes = 3 * 2 * blockBytes })
	var all sync.WaitGroup
	for i := range 64 {
		name := fmt.Sprint(i % 8)
		a := srv.offer(blueprint(t, name))
		all.Go(func() {
			tree, err := s.Open(context.Background(), a)
			if assert.NoError(t, err) {
				assert.Equal(t, name, read(t, tree.FS(), "blueprint.yaml"))
				assert.NoError(t, tree.Close())
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, len(cacheDirs(t, s.options.Dir)), 3)
	requireTempEmpty(t, s)
}

func TestTreeAndFileOfOneDigest(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	raw := blueprint(t, "shop")
	a := srv.offer(raw)
	open(t, s, a)
	content, err := s.OpenFile(context.Background(), a)
	require.NoError(t, err)
	require.Equal(t, raw, content)
}

func TestDigestIsRequiredAndVerified(t *testing.T) {
	srv := newServer(t)
	good := srv.offer(blueprint(t, "shop"))
	for name, tc := range map[string]struct{ digest, says string }{
		"wrong":             {"sha256:" + strings.Repeat("0", 64), "do not have the digest"},
		"missing":           {"", "status.artifact.digest is empty"},
		"no algorithm":      {strings.Repeat("0", 64), "cannot be used"},
		"unknown algorithm": {"md5:" + strings.Repeat("0", 32), "cannot be used"},
		"path in it":        {"sha256:../../../../etc", "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			s, a := newStore(t, nil), good
			a.Digest = tc.digest
			_, err := s.Open(context.Background(), a)
			require.ErrorIs(t, err, ErrDigest)
			require.ErrorContains(t, err, tc.says)
			require.NotContains(t, err.Error(), srv.URL)
			require.Empty(t, cacheDirs(t, s.options.Dir))
		})
	}
}

func TestOtherDigestAlgorithms(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	a := srv.offer([]byte("x"))
	a.Digest = "blake3:" + "7ef05b2b2c4d2d3d"
	_, err := s.OpenFile(context.Background(), a)
	require.ErrorIs(t, err, ErrDigest)
	require.ErrorContains(t, err, "length", "blake3 is known, and its length checked")
}

func TestGoneIsNotRetried(t *testing.T) {
	srv, s := newServer(t), newStore(t, nil)
	a := srv.offer([]byte("x"))
	a.URL = srv.URL + "/old"
	_, err := s.Open(context.Background(), a)
	require.ErrorIs(t, err, ErrGone)
	require.ErrorContains(t, err, "GitRepository default/shop")
	require.EqualValues(t, 1, srv.requests.Load())
}

func TestDownloadLimit(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1001)
	for name, declared := range map[string]bool{"declared length": true, "streamed": false} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !declared {
					w.(http.Flusher).Flush()
				}
				_, _ = w.Write(content)
			}))
			defer srv.Close()
			s := newStore(t, func(o *Options) { o.MaxDownload = 1000 })
			a := newServer(t).offer(content)
			a.URL = srv.URL
			_, err := s.OpenFile(context.Background(), a)
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, "larger than the limit of 1000 bytes")
		})
	}
}

func TestEndlessDownloadStopsAtTheLimit(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 4096); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	s := newStore(t, func(o *Options) { o.MaxDownload, o.Timeout = 1<<20, 5*time.Second })
	a := newServer(t).offer([]byte("x"))
	a.URL = srv.URL
	_, err := s.OpenFile(context.Background(), a)
	require.ErrorIs(t, err, ErrTooLarge)
}

// flaky answers with status for the first failures requests and then serves content.
func flaky(t *testing.T, status int, failures int32, content []byte) (*httptest.Server, *atomic.Int32) {
	var n atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) <= failures {
			w.WriteHeader(status)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(srv.Close)
	return srv, &n
}

func TestServerErrorsAreRetried(t *testing.T) {
	a := newServer(t).offer([]byte("x"))
	srv, n := flaky(t, http.StatusServiceUnavailable, 2, []byte("x"))
	a.URL = srv.URL
	_, err := newStore(t, nil).OpenFile(context.Background(), a)
	require.NoError(t, err)
	require.EqualValues(t, 3, n.Load())
}

func TestRetriesEnd(t *testing.T) {
	for status, requests := range map[int]int32{http.StatusServiceUnavailable: 3, http.StatusForbidden: 1} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			a := newServer(t).offer([]byte("x"))
			srv, n := flaky(t, status, 100, nil)
			a.URL = strings.Replace(srv.URL, "http://", "http://user:secret@", 1)
			_, err := newStore(t, func(o *Options) { o.Retries = 2 }).OpenFile(context.Background(), a)
			require.ErrorContains(t, err, fmt.Sprint(status))
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, requests, n.Load())
		})
	}
}

func TestUnreachableServerDoesNotShowTheURL(t *testing.T) {
	a := newServer(t).offer([]byte("x"))
	srv := httptest.NewServer(nil)
	a.URL = srv.URL + "/path?token=secret"
	srv.Close()
	_, err := newStore(t, nil).OpenFile(context.Background(), a)
	require.ErrorContains(t, err, "download failed")
	require.NotContains(t, err.Error(), "secret")
}

func TestURLMustBeHTTP(t *testing.T) {
	for _, url := range []string{"", "file:///etc/passwd", "ftp://host/x", "http://", "://"} {
		a := newServer(t).offer([]byte("x"))
		a.URL = url
		_, err := newStore(t, nil).OpenFile(context.Background(), a)
		require.ErrorContains(t, err, "status.artifact.url is not an http or https URL")
	}
}

func TestHostOverwrite(t *testing.T) {
	srv := newServer(t)
	a := srv.offer([]byte("x"))
	host := strings.TrimPrefix(srv.URL, "http://")
	a.URL = strings.Replace(a.URL, host, "source-controller.flux-system.svc.cluster.local.", 1)
	s := newStore(t, func(o *Options) { o.HostOverwrite = host })
	_, err := s.OpenFile(context.Background(), a)
	require.NoError(t, err)
}

// One consumer that gives up does not take the shared download away from the others.
func TestCancelledConsumerDoesNotCancelOthers(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		_, _ = w.Write([]byte("x"))
	}))
	defer srv.Close()
	s := newStore(t, nil)
	a := newServer(t).offer([]byte("x"))
	a.URL = srv.URL
	ctx, cancel := context.WithCancel(context.Background())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.OpenFile(ctx, a); first <- err }()
	<-began
	go func() { _, err := s.OpenFile(context.Background(), a); second <- err }()
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	close(finish)
	require.NoError(t, <-second)
}

func TestTimeoutEndsADownload(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	s := newStore(t, func(o *Options) { o.Timeout = 20 * time.Millisecond })
	a := newServer(t).offer([]byte("x"))
	a.URL = srv.URL
	_, err := s.OpenFile(context.Background(), a)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireTempEmpty(t, s)
}

func TestATemporaryDirectoryEndsWithItsStore(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	require.DirExists(t, s.options.Dir)
	require.NoError(t, s.Close())
	require.NoDirExists(t, s.options.Dir)
}

func TestNewRefusesBadOptions(t *testing.T) {
	_, err := New(Options{Dir: t.TempDir(), MaxFile: -1})
	require.ErrorContains(t, err, "negative")
}

func BenchmarkOpenCached(b *testing.B) {
	srv := newServer(b)
	s := newStore(b, nil)
	a := srv.offer(blueprint(b, "shop"))
	for b.Loop() {
		tree, err := s.Open(context.Background(), a)
		if err != nil {
			b.Fatal(err)
		}
		_ = tree.Close()
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

func client(t *testing.T, change func(*Options)) *Client {
	o := Options{AllowHTTP: true, Dir: t.TempDir()}
	if change != nil {
		change(&o)
	}
	return New(o)
}

// archived returns the files of a tar: name → content, links as "-> target".
func archived(t *testing.T, raw []byte) map[string]string {
	files := map[string]string{}
	reader := tar.NewReader(bytes.NewReader(raw))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		files[header.Name] = string(content)
		if header.Typeflag == tar.TypeSymlink {
			files[header.Name] = "-> " + header.Linkname
		}
	}
}

func TestArchiveOfRefs(t *testing.T) {
	s := serve(t)
	first := s.commit(t, map[string]string{"a/one.txt": "1", "two.txt": "2"})
	s.tag(t, "v1", false)
	s.tag(t, "v1-signed", true)
	second := s.commit(t, map[string]string{"two.txt": "22"})
	for name, tc := range map[string]struct {
		at   Location
		hash string
		two  string
	}{
		"default branch":     {Location{}, second, "22"},
		"branch":             {Location{Ref: "main"}, second, "22"},
		"full name":          {Location{Ref: "refs/heads/main"}, second, "22"},
		"tag":                {Location{Ref: "v1"}, first, "2"},
		"annotated tag":      {Location{Ref: "v1-signed"}, first, "2"},
		"commit":             {Location{Commit: second}, second, "22"},
		"commit behind HEAD": {Location{Commit: first, Ref: "main"}, first, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.at.URL = s.url
			var out bytes.Buffer
			hash, err := client(t, nil).Archive(t.Context(), tc.at, "", &out)
			require.NoError(t, err)
			assert.Equal(t, tc.hash, hash)
			assert.Equal(t, map[string]string{"a/one.txt": "1", "two.txt": tc.two}, archived(t, out.Bytes()))
		})
	}
}

func TestArchiveTakesAnUnnamedCommitWhereTheServerAllows(t *testing.T) {
	s := serve(t)
	first := s.commit(t, map[string]string{"x": "1"})
	s.commit(t, map[string]string{"x": "2"})
	s.allowAnyCommit(t)
	var out bytes.Buffer
	_, err := client(t, nil).Archive(t.Context(), Location{URL: s.url, Commit: first}, "", &out)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "1"}, archived(t, out.Bytes()))
}

func TestArchiveOfAFolderHasReproducibleBytes(t *testing.T) {
	s := serve(t)
	s.commit(t, map[string]string{"blueprints/shop/blueprint.yaml": "a: 1", "other": "x"})
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		_, err := client(t, nil).Archive(t.Context(), Location{URL: s.url}, "./blueprints/shop/", out)
		require.NoError(t, err)
	}
	assert.Equal(t, map[string]string{"blueprint.yaml": "a: 1"}, archived(t, first.Bytes()))
	assert.Equal(t, first.Bytes(), second.Bytes())
}

func TestArchiveKeepsLinksAsLinks(t *testing.T) {
	s := serve(t)
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(s.dir, "link")))
	work, err := s.repo.Worktree()
	require.NoError(t, err)
	_, err = work.Add("link")
	require.NoError(t, err)
	s.commit(t, nil)
	var out bytes.Buffer
	_, err = client(t, nil).Archive(t.Context(), Location{URL: s.url}, "", &out)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"link": "-> elsewhere"}, archived(t, out.Bytes()))
}

func TestNothingIsLeftBehind(t *testing.T) {
	s := serve(t)
	s.commit(t, map[string]string{"x": "1"})
	dir := t.TempDir()
	_, err := client(t, func(o *Options) { o.Dir = dir }).Archive(t.Context(), Location{URL: s.url}, "", io.Discard)
	require.NoError(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestRefusals(t *testing.T) {
	s := serve(t)
	s.commit(t, map[string]string{"x": "1"})
	for name, tc := range map[string]struct {
		at   Location
		kind error
		says string
	}{
		"no such branch":  {Location{URL: s.url, Ref: "nope"}, ErrNotFound, `no branch or tag "nope"`},
		"no such commit":  {Location{URL: s.url, Commit: strings.Repeat("1", 40), Ref: "main"}, ErrNotFound, "is not in the history"},
		"no such repo":    {Location{URL: strings.Replace(s.url, "shop", "shops", 1)}, ErrNotFound, "no such repository"},
		"short commit":    {Location{URL: s.url, Commit: "abcdef"}, ErrInvalid, "full hash"},
		"file":            {Location{URL: "file:///etc"}, ErrInvalid, "https"},
		"local path":      {Location{URL: "/etc"}, ErrInvalid, "https"},
		"ssh":             {Location{URL: "ssh://git@example.com/x"}, ErrInvalid, ""},
		"scp":             {Location{URL: "git@example.com:x"}, ErrInvalid, "https"},
		"ext":             {Location{URL: "ext::sh -c date"}, ErrInvalid, "https"},
		"user in the URL": {Location{URL: "https://u:hunter2@example.com/x"}, ErrInvalid, "contains a user"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client(t, nil).Archive(t.Context(), tc.at, "", io.Discard)
			require.ErrorIs(t, err, tc.kind)
			assert.ErrorContains(t, err, tc.says)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestPlainHTTPIsRefusedByDefault(t *testing.T) {
	s := serve(t)
	_, err := client(t, func(o *Options) { o.AllowHTTP = false }).Resolve(t.Context(), Location{URL: s.url})
	assert.ErrorIs(t, err, ErrInvalid)
	assert.Zero(t, s.requests.Load())
}

func TestNoSuchFolder(t *testing.T) {
	s := serve(t)
	s.commit(t, map[string]string{"x": "1"})
	_, err := client(t, nil).Archive(t.Context(), Location{URL: s.url}, "y", io.Discard)
	assert.ErrorIs(t, err, ErrNotFound)
	assert.ErrorContains(t, err, `no directory "y"`)
}

func TestARepositoryThatWantsALogin(t *testing.T) {
	s := serve(t)
	s.commit(t, map[string]string{"x": "1"})
	s.user, s.password = "alice", "hunter2"
	_, err := client(t, nil).Resolve(t.Context(), Location{URL: s.url})
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.ErrorContains(t, err, "use a repository that everybody may read")
}

func TestLimits(t *testing.T) {
	s := serve(t)
	s.commit(t, map[string]string{"zeros": strings.Repeat("0", 1<<20), "b": "1", "c": "2"})
	for name, change := range map[string]func(*Options){
		"bytes of the answer":   func(o *Options) { o.MaxPack = 200 },
		"bytes of one file":     func(o *Options) { o.MaxFile = 1 << 19 },
		"bytes of all files":    func(o *Options) { o.MaxTotal = 1 << 19 },
		"files and directories": func(o *Options) { o.MaxEntries = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client(t, change).Archive(t.Context(), Location{URL: s.url}, "", io.Discard)
			assert.ErrorIs(t, err, ErrTooLarge)
		})
	}
}

func TestEmptyRepository(t *testing.T) {
	_, err := client(t, nil).Resolve(t.Context(), Location{URL: serve(t).url})
	assert.ErrorIs(t, err, ErrNotFound)
	assert.ErrorContains(t, err, "no commit")
}

func TestTroubleOfTheServerIsWorthAnotherTry(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"503":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"no Git": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) },
	} {
		t.Run(name, func(t *testing.T) {
			listening := httptest.NewServer(handler)
			defer listening.Close()
			_, err := client(t, nil).Resolve(t.Context(), Location{URL: listening.URL + "/x"})
			var typed *fault.Error
			require.ErrorAs(t, err, &typed)
			assert.NoError(t, typed.Class)
		})
	}
}

// madeUp serves a repository with one branch, of which it sends raw as the pack. It counts the packs that are asked for.
func madeUp(t *testing.T, raw []byte) (url string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, advertised(strings.Repeat("1", 40)+" refs/heads/main\x00\n"))
			return
		}
		asked.Add(1)
		_, _ = w.Write(append([]byte("0008NAK\n"), raw...))
	}))
	t.Cleanup(listening.Close)
	return listening.URL + "/x", asked
}

// advertised are lines of a list of refs as a server sends them.
func advertised(lines ...string) string {
	var out strings.Builder
	out.WriteString("001e# service=git-upload-pack\n0000")
	for _, line := range lines {
		_, _ = fmt.Fprintf(&out, "%04x%s", len(line)+4, line)
	}
	return out.String() + "0000"
}

func TestAPackIsResolvedNoLongerThanItsJob(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url, _ := madeUp(t, sealed(pack(t, packed{kind: kindBlob, length: 3, content: []byte("abc")})))
	ends := roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r.WithContext(t.Context()))
		if err == nil && r.Method == http.MethodPost {
			answer.Body = lastBody{answer.Body, cancel}
		}
		return answer, err
	})
	_, err := client(t, func(o *Options) { o.Transport = ends }).Archive(ctx, Location{URL: url, Ref: "main"}, "", io.Discard)
	assert.ErrorIs(t, err, context.Canceled)
}

// lastBody is the last that comes before a job ends.
type lastBody struct {
	io.ReadCloser
	end func()
}

func (b lastBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.end()
	}
	return n, err
}

func TestAListOfRefsIsLimited(t *testing.T) {
	first, large := strings.Repeat("1", 40)+" HEAD\x00\n", "a refs/heads/"+strings.Repeat("x", 60_000)
	for name, tc := range map[string]struct {
		line   string
		lines  int
		zipped bool
		says   error
	}{
		"short":  {large, 1, false, nil},
		"long":   {large, maxRefs/60_000 + 1, false, ErrTooLarge},
		"zipped": {large, maxRefs/60_000 + 1, true, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			list := advertised(append([]string{first}, slices.Repeat([]string{tc.line}, tc.lines)...)...)
			listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				to := io.Writer(w)
				if tc.zipped {
					w.Header().Set("Content-Encoding", "gzip")
					zipping := gzip.NewWriter(w)
					defer zipping.Close()
					to = zipping
				}
				_, _ = io.WriteString(to, list)
			}))
			defer listening.Close()
			_, err := client(t, nil).Resolve(t.Context(), Location{URL: listening.URL + "/x"})
			require.ErrorIs(t, err, tc.says)
			if tc.says != nil {
				assert.ErrorContains(t, err, "lists more than 32 MiB of refs")
				assert.ErrorContains(t, err, "hideRefs")
			}
		})
	}
}

func TestRefusalsAreReadInPart(t *testing.T) {
	for status, class := range map[int]error{http.StatusUnauthorized: ErrUnauthorized, http.StatusForbidden: ErrUnauthorized, http.StatusNotFound: ErrNotFound, http.StatusBadGateway: nil} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			body := &countedBody{left: 1 << 20}
			answers := roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Request: r, Header: http.Header{}, Body: body}, nil
			})
			_, err := client(t, func(o *Options) { o.Transport = answers }).Resolve(t.Context(), Location{URL: "https://git.example.com/x"})
			var typed *fault.Error
			require.ErrorAs(t, err, &typed)
			assert.Equal(t, class, typed.Class)
			assert.NotErrorIs(t, err, ErrTooLarge)
			assert.Equal(t, 1<<20-maxRefusal, body.left)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// countedBody has so many bytes left.
type countedBody struct{ left int }

func (b *countedBody) Read(p []byte) (int, error) {
	n := min(len(p), b.left)
	if b.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*countedBody) Close() error { return nil }

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package git reads the files of a commit from a Git server.
//
// Only the smart HTTP protocol is spoken: no SSH agent, no local paths, no hooks, no submodules, and no program is run. A
// commit is downloaded without its history, to a temporary directory that is removed again; the size of the download, of
// each object and of the whole is limited before anything is unpacked into memory.
package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Defaults of Options.
const (
	DefaultTimeout    = time.Minute
	DefaultMaxPack    = 64 << 20
	DefaultMaxTotal   = 256 << 20
	DefaultMaxFile    = 32 << 20
	DefaultMaxEntries = 20_000
)

// Options configure a Client. Numbers that are zero take their default.
type Options struct {
	// Dir is where downloads lie while they are used; empty means the directory of the system for such things.
	Dir string
	// AllowHTTP allows servers without TLS.
	AllowHTTP bool
	// Timeout limits one call.
	Timeout time.Duration
	// MaxPack limits the bytes of a pack, as the server sends it.
	MaxPack int64
	// MaxTotal and MaxFile limit the bytes of all objects unpacked, and of each of them.
	MaxTotal, MaxFile int64
	// MaxEntries limits the number of files and directories of a commit.
	MaxEntries int
	// Transport carries the requests; nil means one of its own, which refuses the metadata services of clouds.
	Transport http.RoundTripper
}

// Client reads from Git servers. It is safe for concurrent use.
type Client struct {
	options   Options
	transport transport.Transport
}

// New makes a client.
func New(o Options) *Client {
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.MaxPack = cmp.Or(max(o.MaxPack, 0), DefaultMaxPack)
	o.MaxTotal = cmp.Or(max(o.MaxTotal, 0), DefaultMaxTotal)
	o.MaxFile = cmp.Or(max(o.MaxFile, 0), DefaultMaxFile)
	o.MaxEntries = cmp.Or(max(o.MaxEntries, 0), DefaultMaxEntries)
	if o.Transport == nil {
		o.Transport = egress.New(egress.Policy{Redirects: egress.MostRedirects})
	}
	limited := &http.Client{Transport: limitedTransport{o.Transport, o.MaxPack}}
	return &Client{options: o, transport: githttp.NewClientWithOptions(limited, &githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects})}
}

// Resolve returns the full hash of what at names at this moment; the server is asked even where at.Commit is set.
func (c *Client) Resolve(ctx context.Context, at Location) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	_, refs, err := c.connect(ctx, at)
	if err != nil {
		return "", err
	}
	hash, err := at.pick(refs)
	return hash.String(), err
}

// connect greets the server and returns its refs.
func (c *Client) connect(ctx context.Context, at Location) (transport.UploadPackSession, *packp.AdvRefs, error) {
	endpoint, err := at.check(c.options.AllowHTTP)
	if err != nil {
		return nil, nil, err
	}
	session, err := c.transport.NewUploadPackSession(endpoint, nil)
	if err != nil {
		return nil, nil, explain(at, "connect", err)
	}
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, nil, explain(at, "list its refs", err)
	}
	return session, refs, nil
}

// Archive writes the files below folder ("" or "." for all) of the commit that at names to w, as a tar whose bytes depend
// on the content alone, and returns the full hash of the commit. Submodules are left out; symbolic links are kept as such,
// for the reader to refuse. The whole content is verified by its hashes.
func (c *Client) Archive(ctx context.Context, at Location, folder string, w io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	dir, err := os.MkdirTemp(c.options.Dir, "git-")
	if err != nil {
		return "", fmt.Errorf("make a temporary directory for the Git repository %q: %w", at.shown(), err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	session, refs, err := c.connect(ctx, at)
	if err != nil {
		return "", err
	}
	hash, err := at.pick(refs)
	if err != nil {
		return "", err
	}
	objects := objectsIn(ctx, dir)
	defer func() { _ = objects.Close() }()
	if err := c.download(ctx, at, session, hash, refs, dir, objects); err != nil {
		return "", err
	}
	commit, err := commitOf(objects, hash)
	if err != nil {
		return "", explain(at, "read the commit", err)
	}
	return commit.Hash.String(), c.write(ctx, at, objects, commit, folder, w)
}

// commitOf follows tags to their commit.
func commitOf(objects *filesystem.Storage, hash plumbing.Hash) (*object.Commit, error) {
	const longestChain = 4
	for range longestChain {
		tag, err := object.GetTag(objects, hash)
		if err != nil {
			break
		}
		hash = tag.Target
	}
	return object.GetCommit(objects, hash)
}

// download fetches the commit without its history and, where the server refuses a commit that no ref names, the history
// of the ref it is in.
func (c *Client) download(ctx context.Context, at Location, session transport.UploadPackSession, hash plumbing.Hash, refs *packp.AdvRefs, dir string, objects *filesystem.Storage) error {
	err := c.fetch(ctx, session, hash, refs, true, dir, objects)
	if err == nil {
		return nil
	}
	if at.Commit == "" || !refusedWant(err) {
		return explain(at, "download the commit", err)
	}
	at.Commit = ""
	tip, pickErr := at.pick(refs)
	if pickErr != nil {
		return pickErr
	}
	if err := c.fetch(ctx, session, tip, refs, false, dir, objects); err != nil {
		return explain(at, "download the history", err)
	}
	if objects.HasEncodedObject(hash) != nil {
		return fail(ErrNotFound, at, fmt.Sprintf("commit %s is not in the history of %s", hash, strconv.Quote(at.Ref)), "name the ref that contains it, or another commit")
	}
	return nil
}

// refusedWant reports whether the server may have refused the wanted hash: it then answers with an error line, or nothing.
func refusedWant(err error) bool {
	return !errors.Is(err, errTooLarge) && fault.EndOf(err) == nil
}

// fetch downloads the pack of hash to a file, judges it, and stores its objects.
func (c *Client) fetch(ctx context.Context, session transport.UploadPackSession, hash plumbing.Hash, refs *packp.AdvRefs, shallow bool, dir string, objects *filesystem.Storage) (err error) {
	request := packp.NewUploadPackRequest()
	request.Wants = []plumbing.Hash{hash}
	wanted := []capability.Capability{capability.OFSDelta}
	if shallow && refs.Capabilities.Supports(capability.Shallow) {
		wanted = append(wanted, capability.Shallow)
		request.Depth = packp.DepthCommits(1)
	}
	for _, w := range wanted {
		if err := request.Capabilities.Set(w); err != nil {
			return err
		}
	}
	answer, err := session.UploadPack(ctx, request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	pack, err := os.CreateTemp(dir, "download-")
	if err != nil {
		return err
	}
	defer func() { _ = pack.Close() }()
	if _, err := io.Copy(pack, answer); err != nil {
		return err
	}
	if err := c.judge(pack); err != nil {
		return err
	}
	return packfile.UpdateObjectStorage(objects, pack)
}

// objectsIn keeps objects in a directory until ctx ends.
func objectsIn(ctx context.Context, dir string) *filesystem.Storage {
	return filesystem.NewStorage(endingFiles{osfs.New(dir), ctx}, cache.NewObjectLRU(cache.MiByte))
}

// endingFiles are files that can be read until ctx ends. The library knows no context while it resolves deltas, but reads each of them from its file.
type endingFiles struct {
	billy.Filesystem
	ctx context.Context
}

// Open implements billy.Basic.
func (e endingFiles) Open(name string) (billy.File, error) {
	file, err := e.Filesystem.Open(name)
	if err != nil {
		return nil, err
	}
	return endingFile{file, e.ctx}, nil
}

type endingFile struct {
	billy.File
	ctx context.Context
}

// Read implements io.Reader.
func (e endingFile) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.File.Read(p)
}

// errTooLarge is inside every error about a limit.
var errTooLarge = errors.New("more than allowed")

// errManyRefs is the error for a list of refs that is too long.
var errManyRefs = fmt.Errorf("refs: %w", errTooLarge)

const (
	// maxRefs limits the bytes of a list of refs, decoded.
	maxRefs = 32 << 20
	// maxRefusal is how much is read of an answer that is an error, which the library keeps several times.
	maxRefusal = 64 << 10
)

// limitedTransport ends every body: one that is to be a pack after max bytes. What base decodes of bodies counts as what it becomes.
type limitedTransport struct {
	base http.RoundTripper
	max  int64
}

// RoundTrip sends the request and limits what may be read of the answer.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{t.limited(r, answer), answer.Body}
	return answer, nil
}

// limited returns what may be read of an answer. Packs are all that is asked for with POST; what is too long of an error is left out.
func (t limitedTransport) limited(r *http.Request, answer *http.Response) io.Reader {
	switch {
	case answer.StatusCode >= http.StatusMultipleChoices:
		return io.LimitReader(answer.Body, maxRefusal)
	case r.Method != http.MethodPost:
		return egress.Reader(answer.Body, maxRefs, errManyRefs)
	}
	return egress.Reader(answer.Body, t.max, errTooLarge)
}

// objectAllowance is what each object counts beside its bytes.
const objectAllowance = 512

// judge reads the pack in f once, without resolving deltas, and refuses it if its objects would exceed a limit when they
// are unpacked, which the library does in memory. It leaves f at its start.
func (c *Client) judge(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	scanner := packfile.NewScanner(f)
	_, objects, err := scanner.Header()
	if err != nil {
		return err
	}
	total := uint64(0)
	for range objects {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return err
		}
		head := &headWriter{}
		if _, _, err := scanner.NextObject(head); err != nil {
			return err
		}
		base, result := uint64(0), uint64(max(header.Length, 0)) // #nosec G115 -- it is positive
		if header.Type == plumbing.OFSDeltaObject || header.Type == plumbing.REFDeltaObject {
			if base, result, err = sizes(head.Bytes()); err != nil {
				return err
			}
		}
		if most := uint64(c.options.MaxFile); header.Length < 0 || header.Length > c.options.MaxFile || base > most || result > most { // #nosec G115 -- it is positive
			return fmt.Errorf("an object: %w", errTooLarge)
		}
		if total += result + objectAllowance; total > uint64(c.options.MaxTotal) { // #nosec G115 -- it is positive
			return fmt.Errorf("unpacked objects: %w", errTooLarge)
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// sizes reads how many bytes a delta is based on and becomes, with which it begins. The library resolves none on an object of another size.
func sizes(head []byte) (base, result uint64, err error) {
	base, n := binary.Uvarint(head)
	if n <= 0 {
		return 0, 0, packfile.ErrMalformedPackFile
	}
	result, n = binary.Uvarint(head[n:])
	if n <= 0 {
		return 0, 0, packfile.ErrMalformedPackFile
	}
	return base, result, nil
}

// headWriter keeps the first bytes written to it.
type headWriter struct{ bytes.Buffer }

func (h *headWriter) Write(p []byte) (int, error) {
	const enough = 2 * binary.MaxVarintLen64
	if missing := enough - h.Len(); missing > 0 {
		h.Buffer.Write(p[:min(missing, len(p))])
	}
	return len(p), nil
}

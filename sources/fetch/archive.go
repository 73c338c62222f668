// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// limits are the caps on one archive.
type limits struct {
	file, total int64
	entries     int
}

// headerAllowance is how many bytes of the uncompressed stream one entry may take beside its content.
const headerAllowance = 4096

// errStreamTooLong ends what has more bytes than it may. That also bounds what the tar reader skips by itself, such as an endless row of extension
// headers.
var errStreamTooLong = errors.New("stream too long")

// extraction is one walk over one archive.
type extraction struct {
	// name of the archive in messages.
	name   string
	dest   *os.Root
	limits limits
	used   usage
	// made are the directories that are there.
	made map[string]bool
}

// extract writes the tar or gzipped tar from r below dest and returns what it took. Files get mode 0600 and directories 0700, whatever the archive
// says. On an error dest holds a part of the archive and must be thrown away.
func extract(ctx context.Context, name string, r io.Reader, dest *os.Root, l limits) (usage, error) {
	x := &extraction{name: name, dest: dest, limits: l, made: map[string]bool{}}
	buffered := bufio.NewReader(r)
	stream := io.Reader(buffered)
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" { // an error comes again with the next read
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return usage{}, x.broken("it is not readable gzip", err)
		}
		stream = unzipped
	}
	archive := tar.NewReader(egress.Reader(stream, l.total+int64(l.entries+2)*headerAllowance, errStreamTooLong))
	for {
		if err := ctx.Err(); err != nil {
			return usage{}, fmt.Errorf("%s: extraction stopped: %w", name, err)
		}
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return x.used, nil
		}
		if err != nil {
			return usage{}, x.broken("it is not a readable tar archive", err)
		}
		if err := x.entry(header, archive); err != nil {
			return usage{}, err
		}
	}
}

// entry judges one entry and writes it.
func (x *extraction) entry(header *tar.Header, content io.Reader) error {
	if x.used.Entries++; header.Typeflag == tar.TypeXGlobalHeader {
		return nil // git archive begins with one; it carries no file
	}
	if problem := problemOf(header.Name); problem != "" {
		return x.unsafe(header.Name, problem, "publish the artifact without it")
	}
	name := path.Clean(header.Name)
	for at := path.Dir(name); at != "." && !x.made[at]; at = path.Dir(at) {
		x.made[at] = true
		x.used.Entries++
	}
	if x.used.Entries > x.limits.entries {
		return x.tooLarge(fmt.Sprintf("it has more than %d entries, counting the directories in their paths", x.limits.entries))
	}
	switch header.Typeflag {
	case tar.TypeDir:
		x.made[name] = true
		if err := x.dest.MkdirAll(name, 0o700); err != nil {
			return x.writeError(header.Name, err)
		}
		return nil
	case tar.TypeReg:
		return x.file(header, name, content)
	}
	return x.unsafe(header.Name, fmt.Sprintf("is neither file nor directory, but a symbolic link, a device or the like (type %q)", header.Typeflag),
		"publish the artifact with plain files and directories only")
}

// problemOf returns what is wrong with a name.
func problemOf(name string) string {
	switch {
	case name == "":
		return "has no name"
	case strings.HasPrefix(name, "/"):
		return "has an absolute path"
	case strings.ContainsAny(name, "\\\x00") || !utf8.ValidString(name):
		return "has a backslash, a zero byte or no UTF-8 in its name"
	case len(name) > 4000:
		return "has a path of more than 4000 bytes"
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == ".." {
			return `leaves its directory with ".."`
		}
		if len(element) > 255 {
			return "has a path element of more than 255 bytes"
		}
	}
	return ""
}

func (x *extraction) file(header *tar.Header, name string, content io.Reader) error {
	if header.Size > x.limits.file {
		return x.tooLarge(fmt.Sprintf("entry %.300q has %d bytes, more than the %d allowed for one file", header.Name, header.Size, x.limits.file))
	}
	if x.used.Bytes += header.Size; x.used.Bytes > x.limits.total {
		return x.tooLarge(fmt.Sprintf("with entry %.300q it has more than %d bytes extracted", header.Name, x.limits.total))
	}
	if err := x.dest.MkdirAll(path.Dir(name), 0o700); err != nil {
		return x.writeError(header.Name, err)
	}
	f, err := x.dest.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return x.writeError(header.Name, err)
	}
	_, err = io.Copy(f, content)
	closed := f.Close()
	switch inPath := (*fs.PathError)(nil); {
	case err != nil && !errors.As(err, &inPath):
		return x.broken(fmt.Sprintf("entry %.300q cannot be read", header.Name), err)
	case err != nil || closed != nil:
		return x.writeError(header.Name, errors.Join(err, closed))
	}
	return nil
}

// writeError tells an archive that contradicts itself from a disk that fails.
func (x *extraction) writeError(entry string, err error) error {
	if isInTheWay(err) {
		return x.unsafe(entry, "appears twice, or as file and as directory", "publish the artifact with every path once")
	}
	return fmt.Errorf("%s: write entry %.300q to the artifact cache: %w; check the space of the cache volume", x.name, entry, err)
}

// isInTheWay reports that a path cannot be made or found because of what is there.
func isInTheWay(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}

func (x *extraction) unsafe(entry, problem, cure string) error {
	return refuse(ErrUnsafe, x.name, fmt.Sprintf("entry %.300q %s", entry, problem), cure)
}

func (x *extraction) tooLarge(problem string) error {
	return refuse(ErrTooLarge, x.name, problem, "leave files out with spec.ignore of the source, or raise the limit of the controller")
}

// broken is a failure to read the archive itself.
func (x *extraction) broken(problem string, err error) error {
	if errors.Is(err, errStreamTooLong) {
		return x.tooLarge(fmt.Sprintf("its headers and files unpack to more than %d bytes", x.limits.total))
	}
	return refuse(ErrUnsafe, x.name, fmt.Sprintf("%s (%v)", problem, err), "publish the artifact as tar or gzipped tar")
}

// Tree is the verified content of one archive, read-only for its users and shared between them.
type Tree struct {
	// Digest is the digest of the archive that the files come from.
	Digest digest.Digest

	name    string
	root    *os.Root
	release func()
}

// newTree returns the files below root. A Tree that is dropped without Close releases its hold when it is collected.
func newTree(root *os.Root, c Content, release func()) *Tree {
	t := &Tree{Digest: c.Digest, name: c.Name, root: root, release: release}
	runtime.AddCleanup(t, func(release func()) { release() }, release)
	return t
}

// Close gives the tree back: its file systems must not be used any more, and the cache may drop it. Closing twice is
// harmless.
func (t *Tree) Close() error {
	err := t.root.Close()
	t.release()
	if err != nil {
		return fmt.Errorf("%s: close: %w", t.name, err)
	}
	return nil
}

// rootFS is what os.Root.FS offers.
type rootFS interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
}

// treeFS keeps its Tree from being collected while it is in use.
type treeFS struct {
	rootFS
	tree *Tree
}

// FS returns all files. No path, and nothing in the archive, leads out of it.
func (t *Tree) FS() fs.FS { return treeFS{t.root.FS().(rootFS), t} }

// Sub returns the directory dir, such as "./blueprints/shop" or "" for the whole, as a file system of its own. The error
// is an ErrUnsafe if dir leaves the archive, or wraps fs.ErrNotExist and names what is there instead.
func (t *Tree) Sub(dir string) (fs.FS, error) {
	name, info, err := t.find(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: path %q is a file; name the directory that holds it: %w", t.name, dir, fs.ErrInvalid)
	}
	sub, err := fs.Sub(t.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("%s: path %q: %w", t.name, dir, err)
	}
	return sub, nil
}

// find cleans a path that a person wrote and looks it up.
func (t *Tree) find(written string) (string, fs.FileInfo, error) {
	name := path.Clean(strings.TrimLeft(written, "/"))
	if !fs.ValidPath(name) {
		return "", nil, refuse(ErrUnsafe, t.name, fmt.Sprintf("path %q leaves the artifact", written),
			"name a path below its root")
	}
	info, err := fs.Stat(t.FS(), name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isInTheWay(err):
		return "", nil, t.missing(written, name)
	case err != nil:
		return "", nil, fmt.Errorf("%s: path %q: %w", t.name, written, err)
	}
	return name, info, nil
}

// shownNames is how many names an error lists.
const shownNames = 12

// missing lists the names in the deepest directory on the way to name that does exist.
func (t *Tree) missing(written, name string) error {
	at := path.Dir(name)
	found, err := fs.ReadDir(t.FS(), at)
	for err != nil && at != "." {
		at = path.Dir(at)
		found, err = fs.ReadDir(t.FS(), at)
	}
	names := make([]string, 0, shownNames)
	for i, f := range found {
		if i == shownNames {
			names = append(names, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		names = append(names, fmt.Sprintf("%q", f.Name()))
	}
	there := cmp.Or(strings.Join(names, ", "), "nothing")
	return fmt.Errorf("%s: path %q is not in it; %q holds %s; correct the path: %w", t.name, written, at, there, fs.ErrNotExist)
}

// File is content kept on disk. It must be closed.
type File struct {
	*os.File
	// Size in bytes.
	Size int64

	release func()
}

func openFile(path string, release func()) (*File, error) {
	f, err := os.Open(path) // #nosec G304 -- below the own directory
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	kept := &File{File: f, Size: info.Size(), release: release}
	runtime.AddCleanup(kept, func(release func()) { release() }, release)
	return kept, nil
}

// Close gives the file back; the cache may drop it then.
func (f *File) Close() error {
	err := f.File.Close()
	f.release()
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

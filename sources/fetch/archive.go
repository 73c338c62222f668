// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

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

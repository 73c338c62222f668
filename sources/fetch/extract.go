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
	"hash/maphash"
	"io"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// The walk over the archive is our own and not fluxcd/pkg/tar because that one drops symbolic links without a word,
// lets a later entry overwrite an earlier one, counts neither entries nor single files, and does not say which entry it
// stumbled over.

// limits are the caps on one archive.
type limits struct {
	file, total int64
	entries     int
}

// headerAllowance is how many bytes of the uncompressed stream one entry may take beside its content.
const headerAllowance = 4096

// usage is what an archive took.
type usage struct {
	// Bytes is the sum of the file sizes.
	Bytes int64 `json:"bytes"`
	// Entries counts files and directories as they were listed, and the directories that only paths of others name.
	Entries int `json:"entries"`
}

// extraction is one walk over one archive.
type extraction struct {
	artifact Artifact
	// dest is where its files are written; nil only judges them.
	dest   *os.Root
	limits limits
	used   usage
	// made has the hashes of the directories that are there.
	made map[uint64]struct{}
	seed maphash.Seed
}

// extract writes the tar or gzipped tar from r, which is at its start, below dest and returns what it took. Files get mode 0600 and directories 0700,
// whatever the archive says. The archive is read twice: what breaks a limit, or has an entry that is unsafe by itself, is refused before anything is
// written, because making thousands of files takes far longer than reading their headers. On another error, as for a path that comes twice, dest holds a
// part of the archive and must be thrown away.
func extract(ctx context.Context, a Artifact, r io.ReadSeeker, dest *os.Root, l limits) (usage, error) {
	if _, err := walk(ctx, a, r, nil, l); err != nil {
		return usage{}, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return usage{}, fmt.Errorf("%s: rewind the download: %w", a, err)
	}
	return walk(ctx, a, r, dest, l)
}

// walk judges the entries of an archive and, unless dest is nil, writes them.
func walk(ctx context.Context, a Artifact, r io.Reader, dest *os.Root, l limits) (usage, error) {
	x := &extraction{artifact: a, dest: dest, limits: l, made: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
	stream, err := x.uncompressed(r)
	if err != nil {
		return usage{}, err
	}
	archive := tar.NewReader(egress.Reader(stream, l.total+int64(l.entries+2)*headerAllowance, errStreamTooLong))
	for {
		if err := ctx.Err(); err != nil {
			return usage{}, fmt.Errorf("%s: extraction stopped: %w", a, err)
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

// uncompressed returns r, through gzip if it starts like gzip.
func (x *extraction) uncompressed(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: read the downloaded archive: %w", x.artifact, err)
	}
	if string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, x.broken("it is not readable gzip", err)
	}
	return unzipped, nil
}

// entry judges one entry and writes it.
func (x *extraction) entry(header *tar.Header, content io.Reader) error {
	if err := x.count(1); err != nil {
		return err
	}
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // git archive begins with one; it carries no file
	}
	name, problem := checkName(header.Name)
	if problem != "" {
		return x.unsafe(header.Name, problem, "publish the artifact without it")
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return x.directory(header.Name, name)
	case tar.TypeReg:
		return x.file(header, name, content)
	default:
		return x.unsafe(header.Name, "is "+kindOf(header.Typeflag), "publish the artifact with plain files and directories only")
	}
}

// checkName returns the cleaned relative name, or what is wrong with it.
func checkName(raw string) (name, problem string) {
	switch {
	case raw == "":
		return "", "has no name"
	case strings.HasPrefix(raw, "/"):
		return "", "has an absolute path"
	case strings.Contains(raw, `\`):
		return "", "has a backslash in its name"
	case strings.ContainsRune(raw, 0):
		return "", "has a zero byte in its name"
	case !utf8.ValidString(raw):
		return "", "has a name that is not UTF-8"
	case len(raw) > 4000:
		return "", "has a path of more than 4000 bytes"
	}
	for element := range strings.SplitSeq(raw, "/") {
		if element == ".." {
			return "", `leaves its directory with ".."`
		}
		if len(element) > 255 {
			return "", "has a path element of more than 255 bytes"
		}
	}
	return path.Clean(raw), ""
}

func kindOf(flag byte) string {
	switch flag {
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a named pipe"
	default:
		return fmt.Sprintf("of the unknown type %q", flag)
	}
}

// count takes note of further files and directories.
func (x *extraction) count(more int) error {
	if x.used.Entries += more; x.used.Entries > x.limits.entries {
		return x.tooLarge(fmt.Sprintf("it has more than %d entries, counting the directories in their paths", x.limits.entries))
	}
	return nil
}

// parents counts the directories above a name that are not there yet.
func (x *extraction) parents(name string) error {
	more := 0
	for at := path.Dir(name); at != "." && !x.isMade(at); at = path.Dir(at) {
		x.made[maphash.String(x.seed, at)] = struct{}{}
		more++
	}
	return x.count(more)
}

func (x *extraction) isMade(name string) bool {
	_, is := x.made[maphash.String(x.seed, name)]
	return is
}

func (x *extraction) directory(raw, name string) error {
	if err := x.parents(name); err != nil {
		return err
	}
	x.made[maphash.String(x.seed, name)] = struct{}{}
	if x.dest == nil {
		return nil
	}
	if err := x.dest.MkdirAll(name, 0o700); err != nil {
		return x.writeError(raw, err)
	}
	return nil
}

func (x *extraction) file(header *tar.Header, name string, content io.Reader) error {
	if header.Size > x.limits.file {
		return x.tooLarge(fmt.Sprintf("entry %.300q has %d bytes, more than the %d allowed for one file", header.Name, header.Size, x.limits.file))
	}
	x.used.Bytes += header.Size
	if x.used.Bytes > x.limits.total {
		return x.tooLarge(fmt.Sprintf("with entry %.300q it has more than %d bytes extracted", header.Name, x.limits.total))
	}
	if err := x.parents(name); err != nil {
		return err
	}
	if x.dest == nil {
		return x.copy(header.Name, io.Discard, content)
	}
	if err := x.dest.MkdirAll(path.Dir(name), 0o700); err != nil {
		return x.writeError(header.Name, err)
	}
	return x.write(header.Name, name, content)
}

// write makes the file; one that exists already was in the archive before.
func (x *extraction) write(raw, name string, content io.Reader) (err error) {
	f, err := x.dest.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return x.writeError(raw, err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = x.writeError(raw, closeErr)
		}
	}()
	return x.copy(raw, f, content)
}

// copy writes the content of an entry.
func (x *extraction) copy(raw string, to io.Writer, content io.Reader) error {
	source := &sourceReader{r: content}
	if _, err := io.Copy(to, source); err != nil {
		if source.err != nil {
			return x.broken(fmt.Sprintf("entry %.300q cannot be read", raw), err)
		}
		return x.writeError(raw, err)
	}
	return nil
}

// writeError tells an archive that contradicts itself from a disk that fails.
func (x *extraction) writeError(raw string, err error) error {
	if contradiction(err) {
		return x.unsafe(raw, "appears twice, or as file and as directory", "publish the artifact with every path once")
	}
	return fmt.Errorf("%s: write entry %.300q to the artifact cache: %w; check the space of the cache volume", x.artifact, raw, err)
}

func (x *extraction) unsafe(entry, problem, cure string) error {
	return refuse(ErrUnsafe, x.artifact.String(), fmt.Sprintf("entry %.300q %s", entry, problem), cure)
}

func (x *extraction) tooLarge(problem string) error {
	return refuse(ErrTooLarge, x.artifact.String(), problem,
		"leave files out with spec.ignore of the source, or raise the limit of the controller")
}

// broken is a failure to read the archive itself.
func (x *extraction) broken(problem string, err error) error {
	if errors.Is(err, errStreamTooLong) {
		return x.tooLarge(fmt.Sprintf("its headers and files unpack to more than %d bytes", x.limits.total))
	}
	return refuse(ErrUnsafe, x.artifact.String(), fmt.Sprintf("%s (%v)", problem, err),
		"publish the artifact as tar or gzipped tar")
}

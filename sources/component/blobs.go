// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// blobsDir is where archives keep blobs.
const blobsDir = "blobs"

// openBlob opens the file or directory of a local reference below blobs; a directory is read as a tar. Digests are tried in all forms
// that file names have. A blob in parts is opened part by part.
func openBlob(blobs fs.FS, localReference string) (io.ReadCloser, error) {
	parts := blobParts(localReference)
	if len(parts) == 1 {
		return openPart(blobs, localReference)
	}
	openers := make([]Opener, len(parts))
	for i, part := range parts {
		openers[i] = func() (io.ReadCloser, error) { return openPart(blobs, part) }
	}
	return Concatenate(openers)
}

// Opener opens content.
type Opener func() (io.ReadCloser, error)

// Concatenate returns contents, at least one, one after the other. It opens the first at once and each other one when it is its turn. The
// caller closes it.
func Concatenate(contents []Opener) (io.ReadCloser, error) {
	first, err := contents[0]()
	if err != nil {
		return nil, err
	}
	return &chain{ReadCloser: first, rest: contents[1:]}, nil
}

// chain is the content that is read, with what comes behind it.
type chain struct {
	io.ReadCloser
	rest []Opener
}

// Read goes on with the next content at the end of one.
func (c *chain) Read(p []byte) (int, error) {
	for {
		n, err := c.ReadCloser.Read(p)
		if !errors.Is(err, io.EOF) || len(c.rest) == 0 {
			return n, err
		}
		if err := c.next(); err != nil || n > 0 {
			return n, err
		}
	}
}

func (c *chain) next() error {
	next, err := c.rest[0]()
	if err != nil {
		return err
	}
	_ = c.ReadCloser.Close()
	c.ReadCloser, c.rest = next, c.rest[1:]
	return nil
}

func openPart(blobs fs.FS, localReference string) (io.ReadCloser, error) {
	for _, name := range blobNames(localReference) {
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		info, err := fs.Stat(blobs, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("blob %q cannot be read: %w", localReference, err)
		case info.IsDir():
			return tarOf(blobs, name)
		}
		file, err := blobs.Open(name)
		if err != nil {
			return nil, fmt.Errorf("blob %q cannot be read: %w", localReference, err)
		}
		return verified(file, DigestOf(localReference)), nil
	}
	return nil, fmt.Errorf("blob %q is not below %s: %w", localReference, blobsDir, ErrNotFound)
}

// blobNames returns the names under which archives may keep a blob.
func blobNames(localReference string) []string {
	d := DigestOf(localReference)
	if d == "" {
		return []string{path.Clean(strings.TrimPrefix(localReference, "/"))}
	}
	algorithm, value := string(d.Algorithm()), d.Encoded()
	return []string{algorithm + "." + value, algorithm + "/" + value, string(d)}
}

// verified checks content against a digest at its end. Without a digest it returns the content as it is.
func verified(content io.ReadCloser, d digest.Digest) io.ReadCloser {
	if d == "" {
		return content
	}
	return &verifiedBlob{ReadCloser: content, digest: d, verifier: d.Verifier()}
}

type verifiedBlob struct {
	io.ReadCloser
	digest   digest.Digest
	verifier digest.Verifier
}

// Read fails at the end of content that does not have the digest.
func (b *verifiedBlob) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.verifier.Write(p[:n])
	if errors.Is(err, io.EOF) && !b.verifier.Verified() {
		return n, fmt.Errorf("blob %s is damaged: its content has another digest; publish the component again", b.digest)
	}
	return n, err
}

// tarOf reads a directory as a tar with reproducible bytes.
func tarOf(files fs.FS, directory string) (io.ReadCloser, error) {
	below, err := fs.Sub(files, directory)
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		writer.CloseWithError(fault.Survived(context.Background(), func() error { return writeTree(writer, below) }))
	}()
	return reader, nil
}

// writeTree writes regular files and directories in the order of their names.
func writeTree(w io.Writer, files fs.FS) error {
	archive := tar.NewWriter(w)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: time.Unix(0, 0)})
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory; remove it", name)
		}
		return writeFile(archive, files, name)
	})
	return errors.Join(err, archive.Close())
}

func writeFile(archive *tar.Writer, files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return putTar(archive, name, info.Size(), file)
}

// putTar writes one file with the same header on every machine.
func putTar(archive *tar.Writer, name string, size int64, content io.Reader) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

// readFile reads a file of at most limit bytes.
func readFile(files fs.FS, name string, limit int64) ([]byte, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readAll(file, name, limit)
}

func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return raw, nil
}

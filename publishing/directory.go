// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// Limits of an archive. They are those that controllers apply when they read it, so that what is published can be used.
const (
	DefaultMaxFile  = 32 << 20
	DefaultMaxTotal = 128 << 20
	DefaultMaxFiles = 20_000
	maxDepth        = 128
)

// PackOptions say what of a directory is packed, and how.
type PackOptions struct {
	// Ignore are patterns in the manner of .gitignore; files that match are left out.
	Ignore []string
	// Defaults leaves out what belongs to version control (.git and its kin) and applies the .sourceignore files of the directory.
	Defaults bool
	// Include are patterns (path.Match) of paths in the directory; when there are some, files that match none are left out.
	Include []string
	// Exclude are patterns like Include, of files and directories to leave out.
	Exclude []string
	// Prefix is put before all paths in the archive.
	Prefix string
	// Uncompressed makes a plain tar instead of a gzipped one.
	Uncompressed bool
	// MaxFile and MaxTotal limit the bytes of one file and of all; MaxFiles limits their number. Zero means the default.
	MaxFile, MaxTotal int64
	MaxFiles          int
}

// Contents say what is in an archive.
type Contents struct {
	// Files are the paths in the directory, sorted.
	Files []string
	// Uncompressed is the digest of the plain tar, sha256.
	Uncompressed digest.Digest
}

// Pack writes the archive of a directory to w and returns what is in it. Symbolic links to files inside the directory are
// packed as the files they lead to. Links that lead elsewhere, and files that are neither regular nor directories, are errors, which
// name the file.
func Pack(w io.Writer, dir string, o PackOptions) (*Contents, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %s cannot be opened: %w; name a directory that exists", dir, fault.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	return packFiles(w, dir, root.FS(), o)
}

func packFiles(w io.Writer, dir string, files fs.FS, o PackOptions) (*Contents, error) {
	o = o.withDefaults()
	p := &packer{dir: dir, files: files, options: o}
	if err := p.collect(); err != nil {
		return nil, err
	}
	if len(p.found) == 0 {
		return nil, fmt.Errorf("directory %s has no files to pack; check the path and what is ignored", dir)
	}
	plain := digest.SHA256.Digester()
	if err := p.write(w, plain.Hash()); err != nil {
		return nil, err
	}
	return &Contents{Files: p.found, Uncompressed: plain.Digest()}, nil
}

func (o PackOptions) withDefaults() PackOptions {
	o.MaxFile = cmp.Or(max(o.MaxFile, 0), DefaultMaxFile)
	o.MaxTotal = cmp.Or(max(o.MaxTotal, 0), DefaultMaxTotal)
	o.MaxFiles = cmp.Or(max(o.MaxFiles, 0), DefaultMaxFiles)
	return o
}

// packer packs one directory.
type packer struct {
	dir     string
	files   fs.FS
	options PackOptions
	found   []string
	total   int64
}

// collect finds the files to pack, sorted.
func (p *packer) collect() error {
	ignored, err := newIgnored(p.files, p.options)
	if err != nil {
		return err
	}
	err = fs.WalkDir(p.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return p.fail(name, "cannot be read: %v", fault.WithoutPath(err))
		}
		return p.visit(name, entry, ignored)
	})
	slices.Sort(p.found)
	return err
}

func (p *packer) visit(name string, entry fs.DirEntry, ignored *ignored) error {
	if name == "." {
		return nil
	}
	if ignored.matches(name, entry.IsDir()) {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if entry.IsDir() {
		if strings.Count(name, "/") >= maxDepth {
			return p.fail(name, "is nested more than %d levels deep", maxDepth)
		}
		return nil
	}
	if strings.Contains(name, "\\") {
		return p.fail(name, "has a backslash in its name, which readers refuse; rename it")
	}
	if p.found = append(p.found, name); len(p.found) > p.options.MaxFiles {
		return fmt.Errorf("directory %s has more than %d files; leave some out with --ignore-paths or .sourceignore", p.dir, p.options.MaxFiles)
	}
	return nil
}

func (p *packer) fail(name, format string, args ...any) error {
	return fmt.Errorf("directory %s: file %s "+format, append([]any{p.dir, name}, args...)...)
}

// write writes the archive to w and its uncompressed form to plain.
func (p *packer) write(w, plain io.Writer) error {
	compressed, finish := w, func() error { return nil }
	if !p.options.Uncompressed {
		zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		zipped.OS = 255
		compressed, finish = zipped, zipped.Close
	}
	archive := tar.NewWriter(io.MultiWriter(compressed, plain))
	for _, name := range p.found {
		if err := p.file(archive, name); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), finish())
}

// file writes one entry. The size is that of the open file, so that one which is changed meanwhile makes an error and no bad archive.
func (p *packer) file(archive *tar.Writer, name string) error {
	info, err := fs.Stat(p.files, name)
	if err != nil {
		return p.fail(name, "cannot be read: %v; a symbolic link must lead to a file inside the directory", fault.WithoutPath(err))
	}
	if !info.Mode().IsRegular() {
		return p.fail(name, "is not a regular file; a symbolic link must lead to a file, and devices and pipes cannot be packed")
	}
	f, err := p.files.Open(name)
	if err != nil {
		return p.fail(name, "cannot be opened: %v", fault.WithoutPath(err))
	}
	defer func() { _ = f.Close() }()
	if err := p.admit(name, info.Size()); err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(p.options.Prefix, name), Size: info.Size(), Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return p.fail(name, "cannot be packed: %v", err)
	}
	if n, err := io.CopyN(archive, f, info.Size()); err != nil {
		return p.fail(name, "cannot be packed after %d of %d bytes: %v", n, info.Size(), fault.WithoutPath(err))
	}
	return nil
}

func (p *packer) admit(name string, size int64) error {
	if size > p.options.MaxFile {
		return p.fail(name, "has %d bytes, more than the %d that controllers accept; leave it out or publish it as a resource of its own", size, p.options.MaxFile)
	}
	if p.total += size; p.total > p.options.MaxTotal {
		return fmt.Errorf("directory %s has more than %d bytes; leave files out with --ignore-paths or .sourceignore", p.dir, p.options.MaxTotal)
	}
	return nil
}

// ignored tells which paths are left out.
type ignored struct {
	matcher          gitignore.Matcher
	include, exclude []string
}

func newIgnored(files fs.FS, o PackOptions) (*ignored, error) {
	for _, pattern := range append(append([]string{}, o.Include...), o.Exclude...) {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %q of files to pack is malformed: %w; write it like charts/*.tgz", pattern, err)
		}
	}
	var patterns []gitignore.Pattern
	if o.Defaults {
		patterns = append(sourceignore.VCSPatterns(nil), gitignore.ParsePattern(sourceignore.IgnoreFile, nil))
		own, err := sourceIgnoreFiles(files)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, own...)
	}
	for _, pattern := range o.Ignore {
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(pattern), nil)...)
	}
	return &ignored{sourceignore.NewMatcher(patterns), o.Include, o.Exclude}, nil
}

// sourceIgnoreFiles reads the .sourceignore of every directory, outer ones first.
func sourceIgnoreFiles(files fs.FS) ([]gitignore.Pattern, error) {
	var patterns []gitignore.Pattern
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s cannot be read: %w", name, fault.WithoutPath(err))
		case !entry.IsDir():
			return nil
		case entry.Name() == ".git":
			return fs.SkipDir
		}
		text, err := fs.ReadFile(files, path.Join(name, sourceignore.IgnoreFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", path.Join(name, sourceignore.IgnoreFile), fault.WithoutPath(err))
		}
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(string(text)), domain(name))...)
		return nil
	})
	return patterns, err
}

// domain returns the elements of a directory, in which its patterns apply.
func domain(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

func (i *ignored) matches(name string, directory bool) bool {
	if i.matcher.Match(strings.Split(name, "/"), directory) || matchesAny(i.exclude, name) {
		return true
	}
	return !directory && len(i.include) > 0 && !matchesAny(i.include, name)
}

// matchesAny compares with the whole path, and with the name alone where the pattern has no slash.
func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		whole, _ := path.Match(pattern, name)
		last, _ := path.Match(pattern, path.Base(name))
		if whole || last && !strings.Contains(pattern, "/") {
			return true
		}
	}
	return false
}

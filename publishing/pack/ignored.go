// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// ignored tells which paths are left out.
type ignored struct {
	matcher          gitignore.Matcher
	include, exclude []string
}

func newIgnored(files fs.FS, o Options) (*ignored, error) {
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

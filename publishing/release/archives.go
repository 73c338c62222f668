// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// writeArchives writes the command line for people for each system: a tar.gz, for Windows a zip, with the license beside the program.
func writeArchives(dist string, o Options) error {
	programs, err := commandLines(o.Programs)
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(o.Source, "LICENSE"))
	if err != nil {
		return err
	}
	for _, p := range programs {
		content, err := os.ReadFile(p.file)
		if err != nil {
			return err
		}
		entries := []entry{{p.command + filepath.Ext(p.file), 0o755, content}, {"LICENSE", 0o644, license}}
		pack := packTar
		if p.os == "windows" {
			pack = packZip
		}
		packed, err := pack(entries, o.Release.Created)
		if err != nil {
			return fmt.Errorf("cannot pack %s: %w", p.file, err)
		}
		if err := os.WriteFile(filepath.Join(dist, archiveOf(p, o)), packed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// archiveOf is the name of the archive of a program.
func archiveOf(p program, o Options) string {
	extension := ".tar.gz"
	if p.os == "windows" {
		extension = ".zip"
	}
	return strings.Join([]string{p.command, strings.TrimPrefix(o.Release.Version, "v"), p.os, p.architecture}, "_") + extension
}

// entry is a file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

func packTar(entries []entry, modified time.Time) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: modified}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return packed.Bytes(), err
}

func packZip(entries []entry, modified time.Time) ([]byte, error) {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, e := range entries {
		file, err := archive.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: modified.UTC()})
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(file, bytes.NewReader(e.content)); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return packed.Bytes(), err
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/flux-landscaper/flux-landscaper/sources/measured"
)

// errTooLarge is inside every error about a limit.
var errTooLarge = errors.New("more than allowed")

// limitedTransport ends every body after max bytes.
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
	}{measured.Reader(answer.Body, t.max, errTooLarge), answer.Body}
	return answer, nil
}

// judge reads the pack in f once, without resolving deltas, and refuses it if its objects would exceed a limit when they
// are unpacked: the library unpacks them in memory. It leaves f at its start.
func (c *Client) judge(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	scanner := packfile.NewScanner(f)
	_, objects, err := scanner.Header()
	if err != nil {
		return err
	}
	var total int64
	for range objects {
		size, err := c.measure(scanner)
		if err != nil {
			return err
		}
		if total += size; total > c.options.MaxTotal {
			return fmt.Errorf("unpacked objects: %w", errTooLarge)
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// objectAllowance is what each object counts beside its bytes.
const objectAllowance = 512

// measure returns how many bytes the next object has when it is unpacked. One that is stored as a delta begins with the
// sizes of what it is based on and of itself.
func (c *Client) measure(scanner *packfile.Scanner) (int64, error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	if header.Length < 0 || header.Length > c.options.MaxFile {
		return 0, fmt.Errorf("an object: %w", errTooLarge)
	}
	delta := header.Type == plumbing.OFSDeltaObject || header.Type == plumbing.REFDeltaObject
	head := &headWriter{}
	if _, _, err := scanner.NextObject(head); err != nil {
		return 0, err
	}
	if !delta {
		return header.Length + objectAllowance, nil
	}
	size, err := resultSize(head.Bytes())
	if err != nil {
		return 0, err
	}
	if size > uint64(c.options.MaxFile) { // #nosec G115 -- within the limit of a file, which fits
		return 0, fmt.Errorf("an object: %w", errTooLarge)
	}
	return header.Length + int64(size) + objectAllowance, nil // #nosec G115 -- within the limit of a file, which fits
}

// resultSize reads the second number of a delta.
func resultSize(head []byte) (uint64, error) {
	_, n := binary.Uvarint(head)
	if n <= 0 {
		return 0, packfile.ErrMalformedPackFile
	}
	size, n := binary.Uvarint(head[n:])
	if n <= 0 {
		return 0, packfile.ErrMalformedPackFile
	}
	return size, nil
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

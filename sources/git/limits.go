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

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

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

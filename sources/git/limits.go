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

// errTwice is the error for a pack that no Git writes.
var errTwice = errors.New("the pack has the same object twice")

const (
	// maxRefs limits the bytes of a list of refs, decoded. A line of a ref has some 60 bytes, and takes more than that in memory before anything
	// else is known of the repository.
	maxRefs = 32 << 20
	// maxRefLines limits its lines: no Git sends lines that are so short that they are more in maxRefs bytes, but each takes 90 bytes in memory.
	maxRefLines = maxRefs / 50
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
		return &refLines{from: egress.Reader(answer.Body, maxRefs, errManyRefs)}
	}
	return egress.Reader(answer.Body, t.max, errTooLarge)
}

// judge reads the pack in f once, without resolving deltas, and refuses it if its objects would exceed a limit when they
// are unpacked, or take time without end: the library unpacks them in memory. It leaves f at its start.
func (c *Client) judge(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	scanner := packfile.NewScanner(f)
	_, objects, err := scanner.Header()
	if err != nil {
		return err
	}
	j := judgement{options: c.options, scanner: scanner, seen: map[plumbing.Hash]struct{}{}}
	for range objects {
		if err := j.next(); err != nil {
			return err
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

const (
	// objectAllowance is what each object counts beside its bytes.
	objectAllowance = 512
	// basesShare is how many times MaxTotal the objects may have together that deltas are based on, each as often as there are deltas on it: for
	// each delta the library copies, or unpacks, all of its base. Git bases a delta on an object of about its size.
	basesShare = 8
)

// judgement is what is known of the objects of a pack so far.
type judgement struct {
	options Options
	scanner *packfile.Scanner
	// seen has the objects that are no deltas. The library resolves all deltas on one of them once for each time that it is in the pack.
	seen map[plumbing.Hash]struct{}
	// total is what all objects have when they are unpacked, and bases what is copied to resolve the deltas.
	total, bases int64
}

// next judges the next object.
func (j *judgement) next() error {
	header, err := j.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if header.Length < 0 || header.Length > j.options.MaxFile {
		return fmt.Errorf("an object: %w", errTooLarge)
	}
	j.total += header.Length + objectAllowance
	if header.Type == plumbing.OFSDeltaObject || header.Type == plumbing.REFDeltaObject {
		err = j.delta()
	} else {
		err = j.whole(header)
	}
	switch {
	case err != nil:
		return err
	case j.total > j.options.MaxTotal:
		return fmt.Errorf("unpacked objects: %w", errTooLarge)
	case j.bases > basesShare*j.options.MaxTotal:
		return fmt.Errorf("bases of deltas: %w", errTooLarge)
	}
	return nil
}

// whole notes an object that is no delta by its hash, which is made as the library makes it.
func (j *judgement) whole(header *packfile.ObjectHeader) error {
	hasher := plumbing.NewHasher(header.Type, header.Length)
	if _, _, err := j.scanner.NextObject(hasher); err != nil {
		return err
	}
	hash := hasher.Sum()
	if _, twice := j.seen[hash]; twice {
		return fmt.Errorf("object %s: %w", hash, errTwice)
	}
	j.seen[hash] = struct{}{}
	return nil
}

// delta counts what a delta is based on and what it becomes.
func (j *judgement) delta() error {
	head := &headWriter{}
	if _, _, err := j.scanner.NextObject(head); err != nil {
		return err
	}
	base, result, err := sizes(head.Bytes())
	if err != nil {
		return err
	}
	if most := uint64(j.options.MaxFile); base > most || result > most { // #nosec G115 -- it is positive
		return fmt.Errorf("an object: %w", errTooLarge)
	}
	j.bases += int64(base)   // #nosec G115 -- within the limit of a file, which fits
	j.total += int64(result) // #nosec G115 -- within the limit of a file, which fits
	return nil
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

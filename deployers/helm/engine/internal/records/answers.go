// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/go-logr/logr"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// answersRoom is how many bytes the answers with records may take for all owners together, from their first byte until they are unpacked. One owner may
// have half of what the others leave: the largest answer that is read, where they have none.
const answersRoom = 2 * answerCost * target.MaxAnswer

// answerCost is how often an answer is in memory: as it came, and as what is in it.
const answerCost = 2

// answer is one request for records.
type answer struct {
	claim *Claim
	// needs is what it takes in all, as far as that is known, when there is no room for it.
	needs int
}

type answerKey struct{}

// quiet is for requests whose body may be refused, which client-go would log as an error. They end with the connection of the operation.
var quiet = logr.NewContext(context.Background(), logr.Discard())

// obtain gets records as they are stored, as soon as there is room for them. The claim has what they take afterwards.
func (c checked) obtain(claim *Claim, get func(context.Context) ([]stored, error)) ([]stored, error) {
	for {
		asked := &answer{claim: claim}
		all, err := get(context.WithValue(quiet, answerKey{}, asked))
		switch {
		case err == nil:
			claim.giveBack(int64(packedSize(all)))
			return all, nil
		case !errors.Is(err, ErrBusy), claim.holds() >= answerCost*target.MaxAnswer:
			return nil, err
		}
		claim.giveBack(0)
		c.bound.waits()
		if err := claim.wait(c.bound.Context, asked.needs); err != nil {
			return nil, err
		}
	}
}

// packedSize is what records take as they are stored, with their labels.
func packedSize(all []stored) (size int) {
	for _, one := range all {
		size += len(one.packed)
		for name, value := range one.labels {
			size += len(name) + len(value)
		}
	}
	return size
}

// claiming claims room for the answers to requests for records while they are read.
type claiming struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c claiming) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if asked, ok := request.Context().Value(answerKey{}).(*answer); ok && err == nil {
		response.Body = &claimed{ReadCloser: response.Body, asked: asked, length: int(min(response.ContentLength, target.MaxAnswer))}
	}
	return response, err
}

// claimed is a body that is read as long as there is room for it.
type claimed struct {
	io.ReadCloser
	asked *answer
	// length is what the server says, below 0 where it says nothing.
	length, read int
	// isRefused says that there was no room. client-go reads on then, to use the connection again.
	isRefused bool
}

// Read fails with ErrBusy where there is no room. Then it knows how much is needed, if need be by reading to the end without keeping anything.
func (c *claimed) Read(into []byte) (int, error) {
	if c.isRefused {
		return 0, ErrBusy
	}
	n, err := c.ReadCloser.Read(into)
	c.read += n
	if c.asked.claim.fits(answerCost * c.read) { // of what is still to come a server may say anything
		return n, err
	}
	whole := c.length
	if whole < c.read {
		rest, _ := io.CopyN(io.Discard, c.ReadCloser, int64(max(target.MaxAnswer-c.read, 0)))
		whole = c.read + int(rest)
	}
	c.asked.needs, c.isRefused = answerCost*min(whole, target.MaxAnswer), true
	return 0, ErrBusy
}

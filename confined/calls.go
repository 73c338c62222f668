// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bufio"
	"encoding/gob"
	"io"
	"net/rpc"
)

// maxCalls is how many calls of a child are being answered at a time.
const maxCalls = 8

// calls is a rpc.ServerCodec for the calls of a child. The library has a goroutine for each call that it has read, until the child has taken the answer;
// so the next call is read when there is a place for it.
type calls struct {
	process *process
	decoder *gob.Decoder
	encoder *gob.Encoder
	buffer  *bufio.Writer
	places  chan struct{}
}

var _ rpc.ServerCodec = (*calls)(nil)

func newCalls(p *process) *calls {
	buffer := bufio.NewWriter(p)
	return &calls{process: p, decoder: gob.NewDecoder(p), encoder: gob.NewEncoder(buffer), buffer: buffer, places: make(chan struct{}, maxCalls)}
}

// ReadRequestHeader waits for a place and reads the beginning of a call, which has the place until its answer is written.
func (c *calls) ReadRequestHeader(request *rpc.Request) error {
	select {
	case c.places <- struct{}{}:
	case <-c.process.broken:
		return io.EOF
	}
	err := c.decoder.Decode(request)
	if err != nil {
		c.process.hangUp()
	}
	return err
}

// ReadRequestBody reads the argument of a call; nil skips it.
func (c *calls) ReadRequestBody(argument any) error { return c.decoder.Decode(argument) }

// WriteResponse writes an answer; the library writes one for each call, one after the other.
func (c *calls) WriteResponse(response *rpc.Response, reply any) error {
	defer func() { <-c.places }()
	for _, message := range []any{response, reply} {
		if err := c.encoder.Encode(message); err != nil {
			c.process.hangUp()
			return err
		}
	}
	return c.buffer.Flush()
}

// Close implements rpc.ServerCodec.
func (c *calls) Close() error { return c.process.Close() }

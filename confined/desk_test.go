// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bytes"
	"context"
	"encoding/gob"
	"io"
	"net/rpc"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sent is what a child sends, as bytes.
func sent(t testing.TB, messages ...any) []byte {
	var out bytes.Buffer
	encoder := gob.NewEncoder(&out)
	for _, message := range messages {
		require.NoError(t, encoder.Encode(message))
	}
	return out.Bytes()
}

func call(number uint64, method string) rpc.Request {
	return rpc.Request{ServiceMethod: "Desk." + method, Seq: number}
}

// closing swallows what the parent sends.
type closing struct{ io.Writer }

func (closing) Close() error { return nil }

// serveBytes lets a parent, which has given out a job or not, read what a child sends.
func serveBytes(input []byte, busy bool) *child[string, string] {
	p := &process{WriteCloser: closing{io.Discard}, output: bytes.NewReader(input), broken: make(chan struct{}), ended: make(chan struct{}), left: maxAnswer}
	c := &child[string, string]{process: p, results: make(chan Result[string], 1), orders: make(chan Order[string])}
	c.desk = &desk[string, string]{child: c, due: !busy}
	if busy {
		answers := map[string]Answer{"echo": func(_ context.Context, raw []byte) ([]byte, error) { return raw, nil }}
		limits := DefaultLimits()
		c.desk.set(&work{ctx: context.Background(), answers: answers, limits: limits, clock: newClock(time.Minute), left: limits.Answers})
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Desk", c.desk); err != nil {
		panic(err)
	}
	server.ServeConn(c.process)
	return c
}

func TestSecondResultOfOneJobIsRefused(t *testing.T) {
	input := sent(t, call(1, "Take"), Result[string]{Response: "first"}, call(2, "Take"), Result[string]{Response: "second"})
	c := serveBytes(input, true)
	assert.Len(t, c.results, 1, "the next job must not get it")
}

func TestResultBeforeAJobIsTheGreetingOnly(t *testing.T) {
	c := serveBytes(sent(t, call(1, "Take"), Result[string]{}), false)
	assert.Len(t, c.results, 1)
}

// TestAChildThatSpeaksWithoutAnOrderIsEnded has a child that has given its result and then begins a message of 64 KiB. It would be waited for in vain,
// and the result of the next job would be taken for the rest of it.
func TestAChildThatSpeaksWithoutAnOrderIsEnded(t *testing.T) {
	output, input := io.Pipe()
	p := &process{WriteCloser: closing{io.Discard}, output: output, broken: make(chan struct{}), ended: make(chan struct{}), left: maxAnswer}
	c := &child[string, string]{process: p, results: make(chan Result[string], 1), orders: make(chan Order[string])}
	c.desk = &desk[string, string]{child: c, due: true}
	server := rpc.NewServer()
	require.NoError(t, server.RegisterName("Desk", c.desk))
	go server.ServeConn(p)
	_, err := input.Write(sent(t, call(1, "Take"), Result[string]{}))
	require.NoError(t, err)
	<-c.results
	_, err = input.Write([]byte{0xfd, 1, 0, 0}) // how gob says that a message has 64 KiB
	require.NoError(t, err)
	select {
	case <-p.broken:
	case <-time.After(time.Minute):
		assert.Fail(t, "it is still listened to")
	}
}

func FuzzDesk(f *testing.F) {
	f.Add(sent(f, call(1, "Take"), Result[string]{Response: "x"}), true)
	f.Add(sent(f, call(1, "Take"), Result[string]{}, call(2, "Ask"), Question{Name: "echo", Argument: []byte("{}")}), true)
	f.Add(sent(f, call(1, "Ask"), Question{Name: "none"}), false)
	f.Add(sent(f, call(1, "Nothing"), "x"), false)
	f.Add(bytes.Repeat([]byte{0xff}, 64), false)
	f.Fuzz(func(t *testing.T, input []byte, busy bool) {
		c := serveBytes(input, busy)
		if len(c.results) > 1 {
			t.Fatal("two results of one job")
		}
	})
}

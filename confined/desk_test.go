// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"bytes"
	"context"
	"encoding/gob"
	"io"
	"net/rpc"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	c.converse()
	return c
}

// newBusy returns a parent that has given out a job, and reads what a child sends.
func newBusy(output io.Reader, input io.Writer, limits Limits, answers map[string]Answer) *child[string, string] {
	p := &process{WriteCloser: closing{input}, output: output, broken: make(chan struct{}), ended: make(chan struct{}), left: maxAnswer}
	c := &child[string, string]{process: p, results: make(chan Result[string], 1), orders: make(chan Order[string])}
	c.desk = &desk[string, string]{child: c}
	c.desk.set(&work{ctx: context.Background(), answers: answers, limits: limits, clock: newClock(time.Minute), left: limits.Answers})
	return c
}

// questions are calls that ask by a name.
func questions(t testing.TB, name string, count int) []byte {
	var messages []any
	for i := range count {
		messages = append(messages, call(uint64(i+1), "Ask"), Question{Name: name, Argument: []byte("{}")})
	}
	return sent(t, messages...)
}

func TestFewQuestionsOfAJobAreAnsweredAtOnce(t *testing.T) {
	const asked = 10 * maxCalls
	input := questions(t, "wait", asked)
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var begun atomic.Int64
		answers := map[string]Answer{"wait": func(context.Context, []byte) ([]byte, error) {
			begun.Add(1)
			<-free
			return nil, nil
		}}
		c := newBusy(bytes.NewReader(input), io.Discard, DefaultLimits(), answers)
		go c.converse()
		synctest.Wait()
		assert.EqualValues(t, maxCalls, begun.Load())
		close(free)
		synctest.Wait()
		assert.EqualValues(t, asked, begun.Load(), "the others waited")
	})
}

func TestACallHasItsPlaceUntilItsAnswerIsTaken(t *testing.T) {
	input := questions(t, "echo", maxCalls+1)
	synctest.Test(t, func(t *testing.T) {
		p := newBusy(bytes.NewReader(input), io.Discard, DefaultLimits(), nil).process
		codec := newCalls(p)
		read := 0
		go func() {
			for codec.ReadRequestHeader(&rpc.Request{}) == nil && codec.ReadRequestBody(nil) == nil {
				read++
			}
		}()
		synctest.Wait()
		assert.Equal(t, maxCalls, read)
		require.NoError(t, codec.WriteResponse(&rpc.Response{}, &Reply{}))
		synctest.Wait()
		assert.Equal(t, maxCalls+1, read)
		p.hangUp() // ends the wait for another place
	})
}

func TestNoPlaceIsWaitedForWhenTheChildIsGone(t *testing.T) {
	input := questions(t, "wait", 2*maxCalls)
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]Answer{"wait": func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		c := newBusy(bytes.NewReader(input), io.Discard, DefaultLimits(), answers)
		c.desk.work.ctx = ctx
		over := false
		go func() {
			c.converse()
			over = true
		}()
		synctest.Wait()
		c.hangUp()
		cancel()
		synctest.Wait()
		assert.True(t, over)
	})
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

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
)

// subcommand is the hidden sub-command of every executable that has a Program. Its arguments are the name of the Program and the memory of the worker.
const subcommand = "confined-child"

// Program is what workers do. Q and R are what goes in and comes out; both are sent by encoding/gob. There is one for each name.
type Program[Q, R any] struct {
	name string
	run  func(ctx context.Context, parent *Parent, request Q) (R, error)
}

// NewProgram declares a Program; call it where a variable of a package is initialised. In a worker it serves and does not return. Of an error that run
// returns the parent gets the text; give what it must know beyond that a place in R.
func NewProgram[Q, R any](name string, run func(ctx context.Context, parent *Parent, request Q) (R, error)) *Program[Q, R] {
	p := &Program[Q, R]{name: name, run: run}
	if len(os.Args) == 4 && os.Args[1] == subcommand && os.Args[2] == name {
		p.serve(os.Args[3])
	}
	return p
}

// message goes to a worker with a request or an answer, and back as Kind says. Name is that of a step or of a question, Body the argument of a question or the
// answer, Problem the text of the error of an answer or of the job, and Value the request or the result. Spent asks for another worker, because this one
// has grown.
type message[T any] struct {
	Kind    int
	Name    string
	Body    []byte
	Problem string
	Value   T
	Spent   bool
}

const isStep, isQuestion, isResult = 1, 2, 3

// serve does one job after the other until the parent is gone.
func (p *Program[Q, R]) serve(memory string) {
	if err := confine(memory); err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(1)
	}
	decoder, encoder := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	// What libraries print would leave no room for what the runtime says when it ends the process.
	os.Stdout, os.Stderr = nil, nil
	log.SetOutput(io.Discard)
	received := make(chan message[Q])
	go func() {
		for {
			var next message[Q]
			if err := decoder.Decode(&next); err != nil {
				os.Exit(0) // the parent is gone, whatever is being done
			}
			received <- next
		}
	}()
	send := func(m message[R]) {
		if err := encoder.Encode(m); err != nil {
			os.Exit(1)
		}
	}
	parent := &Parent{
		begin: func(step string) { send(message[R]{Kind: isStep, Name: step}) },
		ask: func(name string, argument []byte) ([]byte, string) {
			send(message[R]{Kind: isQuestion, Name: name, Body: argument})
			answer := <-received
			return answer.Body, answer.Problem
		},
	}
	for send(message[R]{}); ; { // it is ready
		send(p.perform(parent, (<-received).Value))
	}
}

func (p *Program[Q, R]) perform(parent *Parent, request Q) (done message[R]) {
	done.Kind = isResult
	defer func() {
		if r := recover(); r != nil {
			done.Problem = panicked(r)
		}
		done.Spent = taken() > grown
	}()
	response, err := p.run(context.Background(), parent, request)
	if err != nil {
		done.Problem = err.Error()
	}
	done.Value = response
	return done
}

// panicked names the place of a panic and leaves out what was thrown, because that may contain data.
func panicked(r any) string {
	_, rest, _ := strings.Cut(string(debug.Stack()), "\npanic(")
	for i, line := range strings.Split(rest, "\n") {
		name, _, _ := strings.Cut(line, "(")
		if i > 1 && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(name, "runtime") && !strings.HasPrefix(name, "panic") {
			return fmt.Sprintf("the engine panicked (%T) at %s", r, path.Base(name))
		}
	}
	return fmt.Sprintf("the engine panicked (%T) in %s", r, runtime.Version())
}

const (
	// headroom is for the granularity in which the runtime takes memory, and for what its garbage collector needs; idleMemory is what a worker has of its own
	// before it does anything, and grown what it may have taken from the system to be used again.
	headroom, idleMemory, grown = 128 << 20, 24 << 20, 96 << 20
	// maxOutput is how much a worker may send for one job.
	maxOutput = 64 << 20
	// exitMemory is the status of a worker that noticed by itself that its job took too much memory.
	exitMemory = 71
)

// confine limits this process before it reads anything.
func confine(memory string) error {
	limit, err := strconv.ParseInt(memory, 10, 64)
	if err != nil || limit <= 0 {
		return fmt.Errorf("%s bytes of memory are not enough", memory)
	}
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(64 << 20) // what calls itself without end is over at once
	debug.SetTraceback("none")
	debug.SetGCPercent(200) // most jobs are small; by default collections would take a tenth of their processor time
	debug.SetMemoryLimit(taken() + limit/2)
	return limitSystem(limit)
}

// taken is the memory that this process has from the system.
func taken() int64 {
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	return int64(of[0].Value.Uint64() - of[1].Value.Uint64()) // #nosec G115 -- no process has 2^63 bytes
}

// Parent is the parent as a worker sees it. The zero value hears nothing. It answers one question after the other.
type Parent struct {
	begin  func(step string)
	asking sync.Mutex
	ask    func(name string, argument []byte) ([]byte, string)
}

// Begin tells the parent what the job does now, in at most 512 bytes, so that it can say where a job was that it had to end.
func (p *Parent) Begin(step string) {
	if p.begin != nil {
		p.begin(strings.ToValidUTF8(step[:min(len(step), 512)], ""))
	}
}

// Ask calls the parent and waits for its answer. Both go as JSON.
func Ask[A, R any](parent *Parent, name string, argument A) (out R, err error) {
	raw, err := json.Marshal(argument)
	if err != nil {
		return out, err
	}
	parent.asking.Lock()
	defer parent.asking.Unlock()
	content, trouble := parent.ask(name, raw)
	if trouble != "" {
		return out, errors.New(trouble)
	}
	return out, json.Unmarshal(content, &out)
}

// Answer answers the questions of one name.
type Answer func(ctx context.Context, argument []byte) ([]byte, error)

// AnswerWith returns an Answer for Ask with the same types.
func AnswerWith[A, R any](answer func(ctx context.Context, argument A) (R, error)) Answer {
	return func(ctx context.Context, raw []byte) ([]byte, error) {
		var argument A
		if err := json.Unmarshal(raw, &argument); err != nil {
			return nil, err
		}
		out, err := answer(ctx, argument)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
}

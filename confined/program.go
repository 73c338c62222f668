// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/rpc"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// subcommand is the hidden sub-command of every executable that has a Program. Its arguments are the name of the Program and the
// memory of the child.
const subcommand = "confined-child"

// Program is what children do. Q and R are what goes in and comes out; both are sent by encoding/gob. A program is the same in all its
// children, so there is one for each name.
type Program[Q, R any] struct {
	name string
	run  func(ctx context.Context, parent *Parent, request Q) (R, error)
}

// NewProgram declares a Program; call it where a variable of a package is initialised. In a child it serves and does not return. Of an error
// that run returns the parent gets the text; give what it must know beyond that a place in R.
func NewProgram[Q, R any](name string, run func(ctx context.Context, parent *Parent, request Q) (R, error)) *Program[Q, R] {
	p := &Program[Q, R]{name: name, run: run}
	if len(os.Args) == 4 && os.Args[1] == subcommand && os.Args[2] == name {
		p.serve(os.Args[3])
	}
	return p
}

// Order is a job on its way to a child.
type Order[Q any] struct {
	// Number tells the jobs of a child apart.
	Number  uint64
	Request Q
}

// Result is the result of a job on its way to the parent.
type Result[R any] struct {
	Response R
	// Problem is the text of an error.
	Problem string
	// Began is false in the first message of a child, which has no job behind it.
	Began bool
	// Used is the processor time of the child so far.
	Used time.Duration
	// Spent asks for another child, because this one has grown.
	Spent bool
}

// Question is a call of a child that only the parent can answer.
type Question struct {
	Name     string
	Argument []byte
}

// Reply is the answer to a Question.
type Reply struct {
	Content []byte
	// Problem is the text of an error.
	Problem string
}

// grown is how much memory a child may have taken from the system to be used again.
const grown = 96 << 20

// serve does one job after the other until the parent is gone.
func (p *Program[Q, R]) serve(memory string) {
	limit, err := strconv.ParseInt(memory, 10, 64)
	if err != nil || limit <= 0 {
		os.Exit(exitUnusable)
	}
	if err := confine(limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnusable)
	}
	parent := &Parent{client: rpc.NewClient(mute())}
	done := Result[R]{Used: ownProcessorTime()}
	for {
		var next Order[Q]
		if err := parent.client.Call("Desk.Take", &done, &next); err != nil {
			os.Exit(0)
		}
		done = p.perform(parent, next)
	}
}

func (p *Program[Q, R]) perform(parent *Parent, order Order[Q]) (out Result[R]) {
	out.Began = true
	parent.job.Store(order.Number)
	defer func() {
		if r := recover(); r != nil {
			out.Problem = panicked(r)
		}
		out.Spent = taken() > grown
		out.Used = ownProcessorTime()
	}()
	response, err := p.run(context.Background(), parent, order.Request)
	if err != nil {
		out.Problem = err.Error()
	}
	out.Response = response
	return out
}

// pipes are the connection to the parent. When the parent is gone the child ends at once, whatever it does.
type pipes struct{ in, out *os.File }

// mute returns the pipes and keeps what libraries print out of them; what they log would leave no room for what the runtime says when it ends
// the process.
func mute() pipes {
	connection := pipes{in: os.Stdin, out: os.Stdout}
	os.Stdout = os.Stderr
	log.SetOutput(io.Discard)
	return connection
}

func (c pipes) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c pipes) Close() error                { return c.in.Close() }

func (c pipes) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err != nil && n == 0 {
		os.Exit(0)
	}
	return n, nil
}

var _ io.ReadWriteCloser = pipes{}

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

// Parent is the parent as a child sees it.
type Parent struct {
	client *rpc.Client
	// job is the number of the job that runs.
	job atomic.Uint64
}

// Begin tells the parent what the job does now, so that it can say where a job was that it had to end. It does not wait for the parent, which gets to
// know of it also if the process ends at once.
func (p *Parent) Begin(step string) { _, _ = os.Stderr.WriteString(stepLine(p.job.Load(), step)) }

// Ask calls the parent and waits for its answer. A []byte is sent as it is, everything else as JSON.
func Ask[A, R any](parent *Parent, name string, argument A) (R, error) {
	var out R
	raw, err := encode(argument)
	if err != nil {
		return out, err
	}
	var reply Reply
	if err := parent.client.Call("Desk.Ask", &Question{Name: name, Argument: raw}, &reply); err != nil {
		return out, err
	}
	if reply.Problem != "" {
		return out, problem(reply.Problem)
	}
	return out, decode(reply.Content, &out)
}

// Answer answers the questions of one name.
type Answer func(ctx context.Context, argument []byte) ([]byte, error)

// AnswerWith returns an Answer for Ask with the same types.
func AnswerWith[A, R any](answer func(ctx context.Context, argument A) (R, error)) Answer {
	return func(ctx context.Context, raw []byte) ([]byte, error) {
		var argument A
		if err := decode(raw, &argument); err != nil {
			return nil, err
		}
		out, err := answer(ctx, argument)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
}

// problem is the text of an error of the other side.
type problem string

func (p problem) Error() string { return string(p) }

func encode(value any) ([]byte, error) {
	if raw, ok := value.([]byte); ok {
		return raw, nil
	}
	return json.Marshal(value)
}

func decode(raw []byte, into any) error {
	if bytes, ok := into.(*[]byte); ok {
		*bytes = raw
		return nil
	}
	return json.Unmarshal(raw, into)
}

// Limits of a Pool. Zero fields mean those of DefaultLimits.
type Limits struct {
	// Children is how many there are at most. The last one is never given to an owner that has one.
	Children int
	// Memory is how many bytes a child may take beside those that it starts with.
	Memory int64
	// Time is how long one job may take by the clock on the wall, without the time of its questions. A job that has hardly been on a
	// processor in that time gets more.
	Time time.Duration
	// Answers is how long all questions of one job may take together.
	Answers time.Duration
	// Questions is how many one job may ask, and Content how many bytes their answers may have together.
	Questions int
	Content   int64
	// Idle is how long a child waits for a job before it ends.
	Idle time.Duration
}

// DefaultLimits returns the limits that apply where none are given.
func DefaultLimits() Limits {
	return Limits{
		Children: 4, Memory: 256 << 20, Time: 8 * time.Second,
		Answers: 5 * time.Minute, Questions: 100_000, Content: 1 << 30, Idle: time.Minute,
	}
}

// headroom is for the granularity in which the runtime takes memory, and for what its garbage collector needs.
const headroom = 128 << 20

// idleMemory is what a child has of its own before it does anything, at most.
const idleMemory = 24 << 20

// Most returns how many bytes all children together may take at most.
func (l Limits) Most() int64 {
	l = l.orElse(DefaultLimits())
	return int64(l.Children) * (l.Memory + headroom + idleMemory)
}

func (l Limits) orElse(d Limits) Limits {
	return Limits{
		Children: orElse(l.Children, d.Children), Memory: orElse(l.Memory, d.Memory), Time: orElse(l.Time, d.Time),
		Answers: orElse(l.Answers, d.Answers), Questions: orElse(l.Questions, d.Questions), Content: orElse(l.Content, d.Content),
		Idle: orElse(l.Idle, d.Idle),
	}
}

func orElse[T int | int64 | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

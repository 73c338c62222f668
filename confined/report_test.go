// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reported is what a parent knows from what a child has written, during job 2.
func reported(written ...string) *report {
	r := &report{}
	r.begin(2)
	for _, text := range written {
		_, _ = r.Write([]byte(text))
	}
	return r
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		written         []string
		step, complaint string
	}{
		"step":                         {written: []string{stepLine(2, "template a")}, step: "template a"},
		"last step":                    {written: []string{stepLine(2, "a"), stepLine(2, "b")}, step: "b"},
		"in pieces":                    {written: []string{"\x012 temp", "late", " a\n"}, step: "template a"},
		"unfinished":                   {written: []string{stepLine(2, "a"), "\x012 b"}, step: "a"},
		"of the job before":            {written: []string{stepLine(1, "a")}},
		"of no job":                    {written: []string{"\x01\n", "\x01x y\n", "\x01 \n"}},
		"lines in a name":              {written: []string{stepLine(2, "a\nb")}, step: "a b"},
		"mark of a line in a name":     {written: []string{stepLine(2, "a\x012 b")}, step: "a 2 b"},
		"complaint":                    {written: []string{"fatal error:", " out of memory\nmore"}, complaint: "fatal error: out of memory"},
		"complaint after a step":       {written: []string{stepLine(2, "a") + "SIGSEGV: x"}, step: "a", complaint: "SIGSEGV: x"},
		"step after a part of a line":  {written: []string{"printed", stepLine(2, "a")}, step: "a", complaint: "printed"},
		"long name":                    {written: []string{stepLine(2, strings.Repeat("x", 10*maxStep))}, step: strings.Repeat("x", maxStep)},
		"longer than any child writes": {written: []string{"\x012 " + strings.Repeat("x", 10*maxStep) + "\n"}, step: strings.Repeat("x", maxStep)},
		"characters that are cut":      {written: []string{stepLine(2, strings.Repeat("x", maxStep-1)+"ä")}, step: strings.Repeat("x", maxStep-1)},
		"long complaint":               {written: []string{strings.Repeat("x", 10*maxComplaint)}, complaint: strings.Repeat("x", maxComplaint)},
	} {
		t.Run(name, func(t *testing.T) {
			r := reported(c.written...)
			assert.Equal(t, c.step, r.at())
			assert.Equal(t, c.complaint, r.first())
		})
	}
}

func TestReportOfAJobEndsWithIt(t *testing.T) {
	r := reported(stepLine(2, "a"), "out of memory")
	r.begin(3)
	assert.Empty(t, r.at())
	assert.False(t, r.contains("out of memory"))
}

var vanishing = NewProgram("vanishing", func(_ context.Context, parent *Parent, step string) (string, error) {
	parent.Begin(step)
	os.Exit(exitMemory)
	return "", nil
})

// The step is known however soon the process ends after it has begun.
func TestStepOfAChildThatEndsAtOnceIsKnown(t *testing.T) {
	pool := NewPool(vanishing, Limits{})
	t.Cleanup(pool.Close)
	for range 50 {
		_, err := pool.Run(t.Context(), Job{}, "template x")
		var ended *Ended
		require.ErrorAs(t, err, &ended)
		require.Equal(t, Ended{Reason: OutOfMemory, Limit: ended.Limit, Step: "template x"}, *ended)
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(stepLine(2, "a")), []byte("fatal error: out of memory"))
	f.Add([]byte("\x012 "), []byte("b\n\x01\n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		r := reported(string(first), string(second))
		if len(r.at()) > maxStep || len(r.first()) > maxComplaint || cap(r.line) > 2*maxStepLine {
			t.Fatal("it keeps more than it may")
		}
	})
}

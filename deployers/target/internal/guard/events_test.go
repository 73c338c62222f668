// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

// inParts reads an answer in parts of some length, and returns how many events end in it, the largest of them, and how much is left of the next.
func inParts(e *events, answer []byte, length int) (ended int, largest, left int64) {
	for len(answer) > 0 {
		part := answer[:min(length, len(answer))]
		answer = answer[len(part):]
		more, size, end := e.read(part)
		if more > 0 {
			left = 0
		}
		ended, largest, left = ended+more, max(largest, size), left+int64(len(part)-end)
	}
	return ended, largest, left
}

func TestWhereEventsEnd(t *testing.T) {
	frame := func(length int) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(length)), bytes.Repeat([]byte("\n"), length)...)
	}
	for name, tc := range map[string]struct {
		answer        []byte
		isProtobuf    bool
		ended         int
		largest, left int64
	}{
		"one":               {answer: []byte(`{"a": {}}`), ended: 1, largest: 9},
		"one in lines":      {answer: []byte("{\n\"a\": [\n{}\n]\n}\n{"), ended: 1, largest: 15, left: 2},
		"braces in strings": {answer: []byte(`{"}{": "\"}\\"}{"\\": "}"`), ended: 1, largest: 15, left: 10},
		"two in a line":     {answer: []byte(`{"a": 1}{"b": 2}`), ended: 2, largest: 8},
		"blanks count":      {answer: []byte("\n\n\n{}\n\n"), ended: 1, largest: 5, left: 2},
		"no document":       {answer: []byte(`}}1 "x"`), ended: 2, largest: 1, left: 5},
		"frames":            {answer: append(frame(3), frame(0)...), isProtobuf: true, ended: 2, largest: 7},
		"begin of a frame":  {answer: append(frame(3), frame(70)[:20]...), isProtobuf: true, ended: 1, largest: 7, left: 20},
		"begin of a length": {answer: frame(3)[:2], isProtobuf: true, left: 2},
	} {
		for length := 1; length <= len(tc.answer); length++ {
			e := &events{isJSON: !tc.isProtobuf}
			ended, largest, left := inParts(e, tc.answer, length)
			assert.Equal(t, []int64{int64(tc.ended), tc.largest, tc.left}, []int64{int64(ended), largest, left}, "%s in parts of %d", name, length)
			assert.Equal(t, left, e.size, name)
		}
	}
}

// FuzzEventsEnd finds as many documents as the decoder of watches does, in parts of any length.
func FuzzEventsEnd(f *testing.F) {
	f.Add([]byte(`{"type": "ADDED", "object": {"x": "\\\"}"}}`+"\n{}"), 3)
	f.Fuzz(func(t *testing.T, answer []byte, length int) {
		ended, largest, left := inParts(&events{isJSON: true}, answer, max(length, 1))
		if largest > int64(len(answer)) || left > int64(len(answer)) {
			t.Fatal("events are larger than the answer")
		}
		inParts(&events{}, answer, max(length, 1))
		decoder, objects := json.NewDecoder(bytes.NewReader(answer)), 0
		for {
			var object map[string]json.RawMessage
			if decoder.Decode(&object) != nil {
				break
			}
			if object != nil {
				objects++
			}
		}
		if ended < objects {
			t.Fatalf("%d events, and %d objects", ended, objects)
		}
	})
}

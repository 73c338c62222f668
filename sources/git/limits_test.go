// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // #nosec G505 -- the format has no other
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packed is an object in a pack: its type, the bytes between its header and its content, the length that it states, and the content.
type packed struct {
	kind    byte
	between []byte
	length  uint64
	content []byte
}

const (
	kindTree     = 2
	kindBlob     = 3
	kindRefDelta = 7
)

// sealed adds the checksum to a pack.
func sealed(raw []byte) []byte {
	sum := sha1.Sum(raw) // #nosec G401 -- the format has no other
	return append(bytes.Clone(raw), sum[:]...)
}

// pack writes objects as a pack without its checksum.
func pack(t testing.TB, objects ...packed) []byte {
	var out bytes.Buffer
	out.WriteString("PACK")
	require.NoError(t, binary.Write(&out, binary.BigEndian, []uint32{2, uint32(len(objects))}))
	for _, o := range objects {
		first, rest := byte(o.length&15)|o.kind<<4, o.length>>4
		if rest > 0 {
			first |= 128
		}
		out.WriteByte(first)
		if rest > 0 {
			out.Write(binary.AppendUvarint(nil, rest))
		}
		out.Write(o.between)
		w := zlib.NewWriter(&out)
		_, err := w.Write(o.content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return out.Bytes()
}

func judged(t testing.TB, c *Client, raw []byte) error {
	path := filepath.Join(t.TempDir(), "pack")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	return c.judge(f)
}

// delta is one that makes an object of size bytes of one of ten.
func delta(size uint64) packed { return deltaOn(10, size) }

// deltaOn is one that makes an object of size bytes of one of base bytes.
func deltaOn(base, size uint64) packed {
	content := binary.AppendUvarint(binary.AppendUvarint(nil, base), size)
	return packed{kind: kindRefDelta, between: make([]byte, 20), length: uint64(len(content)), content: content}
}

func TestJudge(t *testing.T) {
	c := New(Options{MaxFile: 1000, MaxTotal: 3000})
	blob := packed{kind: kindBlob, length: 3, content: []byte("abc")}
	for name, tc := range map[string]struct {
		raw  []byte
		says error
	}{
		"small":                         {pack(t, blob, delta(100)), nil},
		"stated length":                 {pack(t, packed{kind: kindBlob, length: 1001, content: []byte("abc")}), errTooLarge},
		"enormous stated length":        {pack(t, packed{kind: kindBlob, length: 1 << 40, content: []byte("abc")}), errTooLarge},
		"delta that grows":              {pack(t, blob, delta(1001)), errTooLarge},
		"delta that grows enormously":   {pack(t, blob, delta(1<<63)), errTooLarge},
		"many small deltas that add up": {pack(t, delta(900), delta(900), delta(900)), errTooLarge},
		"delta on something large":      {pack(t, deltaOn(1001, 1)), errTooLarge},
		"delta on something enormous":   {pack(t, deltaOn(1<<63, 1)), errTooLarge},
		"equal deltas":                  {pack(t, delta(100), delta(100)), nil},
		"an empty tree":                 {pack(t, blob, packed{kind: kindTree}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := judged(t, c, tc.raw)
			if tc.says == nil {
				require.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, tc.says)
		})
	}
}

func TestJudgeRefusesAnObjectLongerThanItStates(t *testing.T) {
	long := packed{kind: kindBlob, length: 3, content: make([]byte, 1<<20)}
	assert.Error(t, judged(t, New(Options{MaxFile: 1000}), pack(t, long)))
}

func FuzzJudge(f *testing.F) {
	f.Add(pack(f, packed{kind: kindBlob, length: 3, content: []byte("abc")}, delta(10)))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	c := New(Options{MaxFile: 1 << 16, MaxTotal: 1 << 18})
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := judged(t, c, raw)
		if len(raw) < 12 && err == nil {
			t.Error("a pack without header is accepted")
		}
	})
}

func TestSizes(t *testing.T) {
	for name, raw := range map[string][]byte{"empty": {}, "one number": {5}, "endless": bytes.Repeat([]byte{0x80}, 30)} {
		t.Run(name, func(t *testing.T) {
			_, _, err := sizes(raw)
			assert.Error(t, err)
			assert.False(t, errors.Is(err, errTooLarge))
		})
	}
}

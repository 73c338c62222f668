// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhenProcessorsAreShort(t *testing.T) {
	const second = 1_000_000
	for name, tc := range map[string]struct {
		waited [2]int
		span   time.Duration
		short  bool
	}{
		"much":                           {[2]int{5 * second, 6 * second}, time.Second, true},
		"little":                         {[2]int{5 * second, 5*second + second/4}, time.Second, false},
		"nothing":                        {[2]int{5 * second, 5 * second}, time.Second, false},
		"much, but asked long ago":       {[2]int{5 * second, 15 * second}, 10 * time.Second, false},
		"much, but the answer still new": {[2]int{5 * second, 6 * second}, pressureAge / 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cpu")
			write := func(waited int) {
				content := fmt.Sprintf("some avg10=1.50 avg60=17.68 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", waited)
				require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			}
			synctest.Test(t, func(t *testing.T) {
				p := &pressure{files: []string{file + "-missing", file}}
				write(tc.waited[0])
				assert.False(t, p.areShort(), "nothing to compare with")
				write(tc.waited[1])
				time.Sleep(tc.span)
				assert.Equal(t, tc.short, p.areShort())
			})
		})
	}
}

func TestProcessorsAreNotShortWhereNobodyTells(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "foreign": "some of it", "not a number": "some avg10=a avg60=b avg300=c total=d"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cpu")
			require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			synctest.Test(t, func(t *testing.T) {
				p := &pressure{files: []string{file}}
				assert.False(t, p.areShort())
				time.Sleep(time.Second)
				assert.False(t, p.areShort())
			})
		})
	}
}

// TestFiguresOfAnotherFileAreNotCompared has a file that cannot be read for a time.
func TestFiguresOfAnotherFileAreNotCompared(t *testing.T) {
	dir := t.TempDir()
	own, whole := filepath.Join(dir, "own"), filepath.Join(dir, "whole")
	content := func(total int) []byte {
		return fmt.Appendf(nil, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", total)
	}
	synctest.Test(t, func(t *testing.T) {
		p := &pressure{files: []string{own, whole}}
		assert.False(t, p.areShort())
		require.NoError(t, os.WriteFile(whole, content(1_000_000_000), 0o600))
		time.Sleep(time.Second)
		assert.False(t, p.areShort(), "nothing was read before")
		require.NoError(t, os.WriteFile(own, content(2_000_000_000), 0o600))
		time.Sleep(time.Second)
		assert.False(t, p.areShort(), "another file was read before")
		require.NoError(t, os.WriteFile(own, content(2_001_000_000), 0o600))
		time.Sleep(time.Second)
		assert.True(t, p.areShort())
	})
}

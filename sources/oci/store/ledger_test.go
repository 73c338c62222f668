// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func ledger(t *testing.T, dir string, most int) *Ledger {
	t.Helper()
	l, err := OpenLedger(dir, most)
	require.NoError(t, err)
	return l
}

func requireFact(t *testing.T, l *Ledger, want string, key ...string) {
	t.Helper()
	value, ok := l.Get(key...)
	require.True(t, ok)
	require.Equal(t, want, value)
}

func requireNone(t *testing.T, l *Ledger, key ...string) {
	t.Helper()
	_, ok := l.Get(key...)
	require.False(t, ok)
}

func TestFactsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir, 10)
	l.Set("one", "a", "b")
	l.Set("two", "a", "b")
	l.Set("", "empty")
	l.Set("three", "gone")
	l.Delete("gone")
	for _, l := range []*Ledger{l, ledger(t, dir, 10)} {
		requireFact(t, l, "two", "a", "b")
		requireFact(t, l, "", "empty")
		requireNone(t, l, "gone")
		requireNone(t, l, "a")
	}
}

func TestPartsOfAKeyDoNotFlowTogether(t *testing.T) {
	l := ledger(t, t.TempDir(), 10)
	l.Set("x", "ab", "c")
	for _, key := range [][]string{{"a", "bc"}, {"abc"}, {"ab", "c", ""}, {"ab\" \"c"}} {
		requireNone(t, l, key...)
	}
}

func TestNothingOfAKeyIsSeen(t *testing.T) {
	dir := t.TempDir()
	ledger(t, dir, 10).Set("value", "registry.example.com", "hunter2")
	other := t.TempDir()
	ledger(t, other, 10).Set("value", "registry.example.com", "hunter2")
	for _, path := range files(t, dir) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, secret := range []string{"registry", "hunter2"} {
			require.NotContains(t, string(raw), secret)
			require.NotContains(t, filepath.Base(path), secret)
		}
		if filepath.Base(path) != saltName {
			require.NoFileExists(t, filepath.Join(other, factsName, filepath.Base(path)), "another directory has another salt")
		}
	}
}

func TestDamagedFactsAreForgotten(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
		"cut":       func(path string) error { return os.Truncate(path, 34) },
		"exchanged": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 40)), 0o600) },
		"endless":   func(path string) error { return os.Truncate(path, 1<<30) },
		"removed":   os.Remove,
		"value altered": func(path string) error {
			raw, _ := os.ReadFile(path)
			raw[len(raw)-1]++
			return os.WriteFile(path, raw, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := ledger(t, dir, 10)
			l.Set("value", "key")
			require.NoError(t, damage(filepath.Join(l.folder(), l.name([]string{"key"}))))
			again := ledger(t, dir, 10)
			requireNone(t, again, "key")
			again.Set("new", "key")
			requireFact(t, ledger(t, dir, 10), "new", "key")
		})
	}
}

func TestAFactCannotBeMovedToAnotherKey(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir, 10)
	l.Set("mine", "mine")
	l.Set("yours", "yours")
	require.NoError(t, os.Rename(filepath.Join(l.folder(), l.name([]string{"yours"})), filepath.Join(l.folder(), l.name([]string{"mine"}))))
	requireNone(t, ledger(t, dir, 10), "mine")
}

func TestWithoutItsSaltNothingIsKnown(t *testing.T) {
	dir := t.TempDir()
	ledger(t, dir, 10).Set("value", "key")
	require.NoError(t, os.Truncate(filepath.Join(dir, saltName), 3))
	requireNone(t, ledger(t, dir, 10), "key")
}

func TestTheLedgerKeepsItsLimit(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir, 3)
	l.Set("0", "used")
	for i := range 10 {
		l.Set("x", fmt.Sprint(i))
		requireFact(t, l, "0", "used")
	}
	require.Len(t, files(t, l.folder()), 3)
	require.Len(t, ledger(t, dir, 2).facts.Keys(), 2)
}

func TestUnfinishedFactsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir, 3)
	require.NoError(t, os.WriteFile(filepath.Join(l.folder(), tempName+"-1"), []byte("x"), 0o600))
	ledger(t, dir, 3)
	require.Empty(t, files(t, l.folder()))
}

func TestConcurrentFacts(t *testing.T) {
	l := ledger(t, t.TempDir(), 5)
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			l.Set(fmt.Sprint(i), fmt.Sprint(i%20))
			l.Get(fmt.Sprint(i % 20))
			l.Delete(fmt.Sprint(i % 7))
		})
	}
	group.Wait()
	require.LessOrEqual(t, l.facts.Len(), 5)
}

func TestALongValueIsNotKept(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir, 3)
	l.Set(strings.Repeat("a", maxValue), "longest")
	l.Set("before", "long")
	l.Set(strings.Repeat("a", maxValue+1), "long")
	for _, l := range []*Ledger{l, ledger(t, dir, 3)} {
		requireFact(t, l, strings.Repeat("a", maxValue), "longest")
		requireNone(t, l, "long")
	}
	require.Len(t, files(t, l.folder()), 1)
}

func TestLongFactsOfEarlierProcessesAreRemoved(t *testing.T) {
	l := ledger(t, t.TempDir(), 3)
	require.NoError(t, os.WriteFile(filepath.Join(l.folder(), l.name([]string{"long"})), make([]byte, maxFact+1), 0o600))
	require.Zero(t, ledger(t, l.dir, 3).facts.Len())
	require.Empty(t, files(t, l.folder()))
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// largeText is a document that is read when it has its turn.
var largeText = []byte("a: " + strings.Repeat("x", largeDocument))

// readings are all ways to read a document in a context.
var readings = map[string]func(context.Context, []byte) error{
	"ToJSON": func(ctx context.Context, text []byte) error { _, err := Usual.ToJSONContext(ctx, text); return err },
	"Unmarshal": func(ctx context.Context, text []byte) error {
		var into any
		return Usual.UnmarshalContext(ctx, text, &into)
	},
	"CoreToJSON": func(ctx context.Context, text []byte) error { _, err := CoreToJSONContext(ctx, text); return err },
	"several as JSON": func(ctx context.Context, text []byte) error {
		several := SeveralOf(ctx)
		_, err := several.ToJSON(text)
		return err
	},
	"several": func(ctx context.Context, text []byte) error {
		several := SeveralOf(ctx)
		var into any
		return several.Unmarshal(text, &into)
	},
}

// TestManyLargeDocumentsOfOneOwnerAreInNobodysWay has one owner wait with many when others come.
func TestManyLargeDocumentsOfOneOwnerAreInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		require.NoError(t, turns.take(t.Context(), "busy"))
		var order []string
		for _, owner := range []string{"busy", "busy", "busy", "calm", "other", "calm"} {
			go func() {
				assert.NoError(t, turns.take(t.Context(), owner))
				order = append(order, owner) // nobody else has the turn
				turns.end()
			}()
			synctest.Wait()
		}
		assert.Empty(t, order, "they wait")
		turns.end()
		synctest.Wait()
		assert.Equal(t, []string{"busy", "calm", "other", "busy", "calm", "busy"}, order)
		assert.False(t, turns.isTaken)
		assert.Empty(t, turns.documents)
	})
}

func TestLargeDocumentsWaitForTheTurnOfTheirOwner(t *testing.T) {
	for name, read := range readings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.NoError(t, large.take(t.Context(), "busy"))
				ended := make(chan error)
				go func() { ended <- read(OwnedBy(t.Context(), "calm"), largeText) }()
				synctest.Wait()
				assert.Equal(t, []string{"calm"}, large.owners)
				large.end()
				assert.NoError(t, <-ended)
				assert.False(t, large.isTaken)
			})
		})
	}
}

// TestATurnThatBeginsWhenItsContextEndsIsGivenBack lets both come at the same moment, so often that each comes first.
func TestATurnThatBeginsWhenItsContextEndsIsGivenBack(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			turns := newTurns()
			require.NoError(t, turns.take(t.Context(), "busy"))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if turns.take(ctx, "calm") == nil {
					turns.end()
				}
			}()
			synctest.Wait()
			cancel()
			turns.end()
			synctest.Wait()
			require.False(t, turns.isTaken)
		})
	}
}

func TestTheWaitForATurnEndsWithItsContext(t *testing.T) {
	for name, read := range readings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.NoError(t, large.take(t.Context(), "busy"))
				ctx, cancel := context.WithCancel(OwnedBy(t.Context(), "calm"))
				ended := make(chan error)
				go func() { ended <- read(ctx, largeText) }()
				synctest.Wait()
				cancel()
				assert.ErrorIs(t, <-ended, context.Canceled)
				assert.NoError(t, read(ctx, []byte("a: b")), "a small document waits for nobody")
				large.end()
				assert.NoError(t, read(OwnedBy(t.Context(), "calm"), largeText), "the turn is free")
			})
		})
	}
}

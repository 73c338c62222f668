// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnreadBytesHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{}
		require.True(t, u.came(unreadBurst, time.Now()))
		time.Sleep(time.Second)
		require.True(t, u.came(unreadRate, time.Now()))
		u.belongs(unreadBurst)
		require.True(t, u.came(unreadBurst, time.Now()))
		assert.False(t, u.came(1, time.Now()))
	})
}

// TestAServerThatSentTooMuchIsPaused looks also at what comes after.
func TestAServerThatSentTooMuchIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, dialled := &unread{}, 0
		dial := u.dialing(func(context.Context, string, string) (net.Conn, error) { dialled++; return nil, io.EOF })
		require.False(t, u.came(unreadBurst+1, time.Now()))
		_, err := dial(t.Context(), "tcp", "server:443")
		require.ErrorIs(t, err, ErrUnasked)
		assert.False(t, u.came(1, time.Now()), "on another connection")
		time.Sleep(silence)
		_, err = dial(t.Context(), "tcp", "server:443")
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, 1, dialled)
		assert.True(t, u.came(unreadBurst, time.Now()))
	})
}

func TestManySmallReadsLoseNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unread{}
		require.True(t, u.came(unreadBurst, time.Now()))
		for range 1000 {
			time.Sleep(time.Millisecond)
			require.True(t, u.came(unreadRate/1000, time.Now()))
		}
	})
}

// TestWhatIsReadCountsNoMore has an answer that is larger than what may be unread.
func TestWhatIsReadCountsNoMore(t *testing.T) {
	u := &unread{}
	b := &body{ctx: t.Context(), cancel: func(error) {}, ReadCloser: io.NopCloser(endless{}), unread: u, left: 4 * unreadBurst, together: NewAllowance(8 * unreadBurst)}
	part := make([]byte, 32<<10)
	for range 3 * unreadBurst / len(part) {
		require.True(t, u.came(len(part)*5/4, time.Time{}))
		_, err := b.Read(part)
		require.NoError(t, err)
	}
}

// endless is text without end.
type endless struct{}

func (endless) Read(into []byte) (int, error) { return len(into), nil }

func TestAConnectionWithMuchThatNobodyReadsEnds(t *testing.T) {
	u := &unread{}
	theirs, ours := net.Pipe()
	connection, err := u.dialing(func(context.Context, string, string) (net.Conn, error) { return ours, nil })(t.Context(), "tcp", "server:443")
	require.NoError(t, err)
	sent := make(chan int64)
	go func() {
		n, _ := io.Copy(theirs, io.LimitReader(endless{}, 4*unreadBurst))
		sent <- n
	}()
	_, err = io.Copy(io.Discard, connection)
	require.ErrorIs(t, err, ErrUnasked)
	assert.Less(t, <-sent, int64(2*unreadBurst))
}

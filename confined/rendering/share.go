// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flux-landscaper/flux-landscaper/confined"
)

// rememberedJobs is of how many jobs a Renderer knows how much of their time is taken. One that is forgotten has all of it again.
const rememberedJobs = 4096

// leastShare is the part of the time of a job that an operation has in any case, whatever others took: so short ones do not fail by chance.
const leastShare = 8

// share is what the operations of a job have taken of its time. One that is tried again, which the job is not to blame for, costs it once. It is safe
// for concurrent use.
type share struct {
	whole time.Duration

	mu    sync.Mutex
	taken map[operation]time.Duration
}

// left is what there is for an operation.
func (s *share) left(o operation) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.whole
	for other, taken := range s.taken {
		if other != o {
			left -= taken
		}
	}
	return max(left, s.whole/leastShare)
}

func (s *share) take(o operation, taken time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[o] = taken
}

// shares are those of the latest jobs.
type shares struct {
	whole time.Duration
	byJob *lru.Cache[string, *share]
}

func newShares(whole time.Duration) *shares {
	byJob, _ := lru.New[string, *share](rememberedJobs)
	return &shares{whole: whole, byJob: byJob}
}

// of returns the share of a job; without one it is of nobody else.
func (s *shares) of(job string) *share {
	made := &share{whole: s.whole, taken: map[operation]time.Duration{}}
	if job == "" {
		return made
	}
	if known, ok, _ := s.byJob.PeekOrAdd(job, made); ok {
		return known
	}
	return made
}

// tell says of an operation that was out of time that it was not given all of it.
func (s *share) tell(ended *confined.Ended, left time.Duration) {
	if ended.Reason == confined.OutOfTime && left < s.whole {
		ended.Limit = fmt.Sprintf("%s, which were left of the %s of its job", left.Round(time.Millisecond), s.whole)
	}
}

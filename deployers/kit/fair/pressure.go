// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// muchPressure is the part of the time from which on processors are short.
	muchPressure = 0.45
	// pressureAge is how long an answer holds, and pressureSpan over how long a time it is measured at most.
	pressureAge, pressureSpan = 250 * time.Millisecond, 3 * time.Second
)

// pressure tells whether processors are short, by the part of the time in which some thread was ready to run and waited for one: the value "some" of the
// pressure stall information (PSI) of Linux. Libraries for /proc read that of the machine only. It is safe for concurrent use.
type pressure struct {
	// files have that information; the first one that can be read counts.
	files []string

	mu sync.Mutex
	// waited is the total that the file named from had at an instant; from is empty when there is none to compare with.
	waited time.Duration
	at     time.Time
	from   string
	isHigh bool
}

// processors are those of the container, and those of the machine where the container has no figures of its own.
var processors = &pressure{files: []string{"/sys/fs/cgroup/cpu.pressure", "/proc/pressure/cpu"}}

// areShort reports whether processors are short. It is false where the system does not tell, and for the first call after pressureSpan, which only begins to
// measure.
func (p *pressure) areShort() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	span := now.Sub(p.at)
	if span < pressureAge {
		return p.isHigh
	}
	waited, from := p.read()
	isComparable := from != "" && from == p.from && span <= pressureSpan
	p.isHigh = isComparable && (waited-p.waited).Seconds() > muchPressure*span.Seconds()
	p.waited, p.at, p.from = waited, now, from
	return p.isHigh
}

// read returns the total and the file that has it; no file where none can be read, or the first one has another format.
func (p *pressure) read() (waited time.Duration, from string) {
	for _, file := range p.files {
		content, err := os.ReadFile(file) // #nosec G304 -- a constant
		if err != nil {
			continue
		}
		var average [3]float64
		var microseconds int64
		if _, err := fmt.Fscanf(bytes.NewReader(content), "some avg10=%f avg60=%f avg300=%f total=%d", &average[0], &average[1], &average[2], &microseconds); err != nil {
			return 0, ""
		}
		return time.Duration(microseconds) * time.Microsecond, file
	}
	return 0, ""
}

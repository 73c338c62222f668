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

// pressure tells whether processors are short: for what part of the time something that could run waited for one, as Linux measures it (pressure stall
// information). It is safe for concurrent use.
type pressure struct {
	// files are where to look, the first one that can be read counts.
	files []string

	mu sync.Mutex
	// waited is for how long something had waited at an instant since the system was started, as a file told; none at first.
	waited time.Duration
	at     time.Time
	from   string
	isHigh bool
}

// processors are those of the container, and those of the machine where the container has no figures of its own.
var processors = &pressure{files: []string{"/sys/fs/cgroup/cpu.pressure", "/proc/pressure/cpu"}}

// areShort reports whether processors are short; not where the system does not tell, and not at the first question for a while, which only begins to
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

// read returns for how long something has waited, and the file that tells; none where no file can be read or the first one says something else.
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

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const (
	// MaxMessage is the length, in bytes, of messages in status and events.
	MaxMessage = 8 << 10
	// maxReason is the length of reasons; events take no longer ones.
	maxReason = 128
	// maxCodes is how many error codes a status keeps, and maxCode how long each may be.
	maxCodes, maxCode = 16, 64
)

// unknownReason stands for a reason that holds nothing usable.
const unknownReason = "Error"

// validReason is the pattern that the API server demands of the reasons of conditions.
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// Reason returns a reason that conditions accept: the given one if it is valid, else its letters and digits in CamelCase. Reasons come
// from deployers of others, too, and one that the API server refuses would keep the whole status from being written.
func Reason(reason string) string {
	if len(reason) <= maxReason && validReason.MatchString(reason) {
		return reason
	}
	var camel strings.Builder
	upper := true
	for _, r := range reason {
		letter, digit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z', r >= '0' && r <= '9'
		if !letter && (!digit || camel.Len() == 0) {
			upper = true
			continue
		}
		if upper && r >= 'a' {
			r -= 'a' - 'A'
		}
		camel.WriteRune(r)
		upper = false
		if camel.Len() == maxReason {
			break
		}
	}
	if camel.Len() == 0 {
		return unknownReason
	}
	return camel.String()
}

// varying are the parts of errors of networks that differ at every attempt: the local port and the time. A status that showed them would be
// written anew each time.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b(read|write) (tcp|udp)([46]?) \S+->`), "$1 $2$3 "},
	{regexp.MustCompile(`\bcurrent time \S+ is (after|before)\b`), "current time is $1"},
}

// Message returns a text as status and events show it: valid, at most MaxMessage long, with the middle cut out of a longer one, and without
// what differs between two attempts that fail alike. An empty text is replaced, because a condition that fails has to say something.
func Message(text string) string {
	if text == "" {
		return "no message was given"
	}
	const cut = " … "
	if len(text) > MaxMessage {
		half := (MaxMessage - len(cut)) / 2
		text = text[:half] + cut + text[len(text)-half:]
	}
	for _, part := range varying {
		text = part.pattern.ReplaceAllString(text, part.instead)
	}
	return strings.ToValidUTF8(text, "")
}

// boundCodes returns the first codes of a list that may come from others, each once and none absurdly long.
func boundCodes(codes []v1alpha1.ErrorCode) []v1alpha1.ErrorCode {
	var bounded []v1alpha1.ErrorCode
	for _, code := range codes {
		if code == "" || len(code) > maxCode || slices.Contains(bounded, code) {
			continue
		}
		if bounded = append(bounded, code); len(bounded) == maxCodes {
			break
		}
	}
	return bounded
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// longStatus is the size in bytes from which on a Status loses its details and most of its message.
	longStatus = 64 << 10
	// maxMessage is how many bytes of the message are left then.
	maxMessage = 8 << 10
)

var protobufPrefix = []byte("k8s\x00")

// isKubernetes reports whether a content type is one that API servers use for objects. An answer without one counts as JSON.
func isKubernetes(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (isJSON(media) || strings.HasPrefix(media, "application/vnd.kubernetes.protobuf"))
}

func isJSON(contentType string) bool {
	return contentType == "" || strings.HasPrefix(contentType, "application/json")
}

// guarded returns the body of an answer within its limits.
func (g *guard) guarded(ctx context.Context, cancel context.CancelCauseFunc, kind answerKind, response *http.Response) io.ReadCloser {
	guarded := &body{
		ReadCloser: response.Body, ctx: ctx, cancel: cancel, left: g.limits.Answer, unread: g.unread, together: g.limits.Together, site: g.site,
		isJSON: isJSON(response.Header.Get("Content-Type")), pace: paceOf(ctx), small: smallAnswer,
	}
	switch kind {
	case watchAnswer:
		guarded.left, guarded.perEvent, guarded.small = g.limits.Event, g.limits.Event, smallEvent
		guarded.events = &events{isJSON: guarded.isJSON}
		return guarded
	case oneAnswer:
		guarded.left, guarded.exceeded = min(g.limits.one, g.limits.Answer), g.noteEndless
	case discoveryAnswer:
		guarded.left, guarded.isAboutKinds = g.limits.discovery, true
	case versionAnswer:
		guarded.left, guarded.isAboutKinds = g.limits.version, true
	}
	wanted := kindsWanted(ctx, kind)
	if response.StatusCode < 300 && (kind.isObject() || wanted != nil) && isJSON(response.Header.Get("Content-Type")) {
		guarded.scan = &kindScan{wanted: wanted}
	}
	guarded.late = time.AfterFunc(g.limits.Body, func() { cancel(ErrSlow) })
	return guarded
}

// body is the body of an answer; it ends with an error as soon as the answer breaks a limit.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	late   *time.Timer
	// left is how many bytes may still come, perEvent how many an event may have.
	left, perEvent int64
	// exceeded is told when more comes; nil where nobody wants to know.
	exceeded func()
	// events of a watch; nil for other answers. hadLarge says that one was large: then the watch ends, because decoders keep the buffer that they
	// needed once, and goes on in a new one.
	events   *events
	hadLarge bool
	// pace is what reading keeps to; nil for none. end gives back the place in it; nil for none.
	pace         *Pace
	end          func()
	isAboutKinds bool
	// scan looks for the kind in JSON documents; nil for other answers.
	scan *kindScan

	// unread hears of what is read.
	unread *unread
	// Together is what the cost of all answers is counted by. site is the server that sends this one, and isJSON whether it sends JSON.
	together *allowance
	site     string
	isJSON   bool
	// spent is what was read so far, or of the current event. One that costs no more than small does not count.
	spent, small int64
	// cost is what together has counted, and lost whether it counts the answer no more. Both belong to it.
	cost int64
	lost bool
}

// Read reads from the answer.
func (b *body) Read(into []byte) (int, error) {
	switch {
	case b.hadLarge:
		return 0, io.EOF
	case b.left <= 0:
		if b.exceeded != nil {
			b.exceeded()
		}
		return 0, ErrLarge
	case b.events != nil:
		if err := b.pace.wait(b.ctx); err != nil {
			return 0, err
		}
	}
	into = into[:min(int64(len(into)), b.left)]
	n, err := b.ReadCloser.Read(into)
	b.unread.belongs(n + n/4 + readFrame)
	b.count(into[:n])
	if b.scan != nil && !b.scan.accepts(into[:n]) {
		return 0, ErrForeign
	}
	if err == io.EOF && b.scan != nil && b.scan.misses() {
		return 0, ErrForeign
	}
	if err != nil && err != io.EOF {
		err = speakable(b.ctx, err)
	}
	return n, err
}

func (b *body) count(read []byte) {
	cost := len(read)
	if b.isAboutKinds {
		cost = costOfKinds(read)
	}
	b.pace.charge(cost)
	b.left -= int64(len(read))
	if b.events != nil {
		read = b.countEvents(read)
	}
	b.spent += costOf(read, b.isJSON)
	if b.spent > b.small {
		b.together.spend(b, b.spent)
	}
}

// countEvents counts the events that end in a part of a watch, and returns what is of the next one.
func (b *body) countEvents(read []byte) []byte {
	ended, largest, end := b.events.read(read)
	if ended == 0 {
		return read
	}
	b.pace.charge(ended * eventCost)
	b.hadLarge = largest > smallEvent
	b.left = b.perEvent - b.events.size
	b.spent = 0
	b.together.giveBack(b)
	return read[end:]
}

// Close ends the answer.
func (b *body) Close() error {
	if b.late != nil {
		b.late.Stop()
	}
	err := b.ReadCloser.Close()
	b.cancel(nil)
	b.together.end(b)
	if b.end != nil {
		b.end()
	}
	return err
}

// cleanStatus leaves of an answer that reports an error only what a Status says. Anything else is taken out, so that the error of the
// client shows nothing but the code.
func cleanStatus(response *http.Response) error {
	content, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	if err != nil && (errors.Is(err, ErrSlow) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	_ = response.Body.Close() // everything that counts was read
	content = statusOf(content)
	response.Header.Set("Content-Type", runtime.ContentTypeJSON)
	response.Header.Del("Content-Length")
	response.ContentLength = int64(len(content))
	response.Body = io.NopCloser(bytes.NewReader(content))
	return nil
}

// statusIn returns the Status in an answer that was cleaned, without taking it out; nil where there is none.
func statusIn(response *http.Response) *apierrors.StatusError {
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // all of it is read
	response.Body = io.NopCloser(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	found := &apierrors.StatusError{}
	if json.Unmarshal(content, &found.ErrStatus) != nil || found.ErrStatus.Kind != "Status" {
		return nil
	}
	return found
}

// statusOf returns the Status in an answer, written anew as JSON, empty where there is none: clients decode errors as whatever kind they say they are.
func statusOf(content []byte) []byte {
	status, err := decodedStatus(content)
	if err != nil || status.Kind != "Status" {
		return nil
	}
	if len(content) >= longStatus {
		status.Details, status.Message = nil, strings.ToValidUTF8(status.Message[:min(len(status.Message), maxMessage)], "")
	}
	written, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	return written
}

func decodedStatus(content []byte) (status metav1.Status, err error) {
	message, isProtobuf := bytes.CutPrefix(content, protobufPrefix)
	if !isProtobuf {
		return status, json.Unmarshal(content, &status)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(message); err != nil || envelope.Kind != "Status" {
		return status, err
	}
	err = status.Unmarshal(envelope.Raw)
	status.TypeMeta = metav1.TypeMeta{Kind: envelope.Kind, APIVersion: envelope.APIVersion}
	return status, err
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Limits of what a target may cost.
type Limits struct {
	// Header is the time from the begin of a request until the header of its answer.
	Header time.Duration
	// Body is the time for the rest of an answer that is no watch.
	Body time.Duration
	// Answer, one, discovery, version and Event are the largest answer, answer that is one object, answer of the discovery, answer about one version of an API
	// group, and event of a watch in bytes.
	Answer, one, discovery, version, Event int64
	// Together is what all answers may cost that are read at a time.
	Together *allowance
}

// DefaultLimits returns the limits of a process. What limits all answers together is shared by those who share the result.
func DefaultLimits() Limits {
	return Limits{
		Header: 30 * time.Second, Body: 60 * time.Second, Answer: MaxTogether, one: 8 << 20, discovery: 2 << 20, version: 512 << 10, Event: 16 << 20,
		Together: NewAllowance(MaxTogether),
	}
}

const (
	// maxStatus is the largest answer that reports an error, in bytes.
	maxStatus = 1 << 20
	// maxRetryAfter is how many seconds a target may have a request wait before it is sent again.
	maxRetryAfter = 5
)

// guard sends requests to a server that a tenant chose. It bounds the time and the size of answers, follows no redirect, and lets no byte
// of an answer into an error that is not the answer of a Kubernetes API server.
type guard struct {
	next http.RoundTripper
	// watches sends watches: what nobody reads yet of their answers takes little memory there.
	watches *http.Transport
	// unread counts what the server sends that belongs to no answer.
	unread *unread
	limits Limits
	// site is the server's host and port, prefix the path of its URL.
	site, prefix string
	// actingAs is the user that the credentials impersonate; empty for none.
	actingAs string

	// answered is when the server last answered, silentUntil until when it is not asked again, and endlessUntil the same after an object larger than those of
	// API servers, in nanoseconds.
	answered, silentUntil, endlessUntil atomic.Int64
}

// silence is how long a server that let a request time out, and answered no other one meanwhile, is not asked again, and one that answers with more than an
// API server does. All requests of a job fail at once then, in place of one after the other.
const silence = 10 * time.Second

// WrappedRoundTripper lets client-go find the connection pool underneath.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// CloseIdleConnections closes what no request needs.
func (g *guard) CloseIdleConnections() {
	utilnet.CloseIdleConnectionsFor(g.next)
	g.watches.CloseIdleConnections()
}

// RoundTrip sends a request.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	kind := g.kindOf(request)
	end, err := paceOf(request.Context()).begin(request.Context(), kind)
	if err != nil {
		return nil, err
	}
	response, err := g.send(request, kind)
	if err != nil {
		end()
		return nil, err
	}
	guarded, isGuarded := response.Body.(*body)
	if !isGuarded {
		end()
		return response, nil
	}
	if guarded.isAboutKinds {
		guarded.late.Stop()
		if end, err = guarded.pace.beginKinds(request.Context()); err != nil {
			_ = guarded.Close() // nobody reads on
			return nil, err
		}
		guarded.late.Reset(min(kindsTime, g.limits.Body))
	}
	guarded.end = sync.OnceFunc(end)
	return response, nil
}

// send sends a request, and returns its answer within the limits.
func (g *guard) send(request *http.Request, kind answerKind) (*http.Response, error) {
	began := time.Now().UnixNano()
	if began < g.silentUntil.Load() {
		return nil, ErrSilent
	}
	if began < g.endlessUntil.Load() {
		return nil, ErrLarge
	}
	next := g.next
	if kind == watchAnswer {
		next = g.watches
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	late := time.AfterFunc(g.limits.Header, func() { cancel(ErrSilent) })
	response, err := next.RoundTrip(request.WithContext(ctx))
	late.Stop()
	if err != nil {
		defer cancel(nil)
		err = speakable(ctx, err)
		if request.Context().Err() == nil {
			g.noteSilence(began, err)
		}
		return nil, err
	}
	g.answered.Store(time.Now().UnixNano())
	g.unread.belongs(answerFrame)
	if err := g.admit(ctx, cancel, kind, response); err != nil {
		_ = response.Body.Close() // nobody reads on
		cancel(nil)
		return nil, err
	}
	return response, nil
}

func (g *guard) noteSilence(began int64, err error) {
	var network net.Error
	timedOut := errors.As(err, &network) && network.Timeout()
	if (timedOut || errors.Is(err, ErrSilent)) && g.answered.Load() < began {
		g.silentUntil.Store(time.Now().Add(silence).UnixNano())
	}
}

// noteEndless notes that an answer has more than any API server answers with.
func (g *guard) noteEndless() { g.endlessUntil.Store(time.Now().Add(silence).UnixNano()) }

// admit judges the header of an answer, and puts a guarded body in place of the one of response.
func (g *guard) admit(ctx context.Context, cancel context.CancelCauseFunc, kind answerKind, response *http.Response) error {
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return ErrRedirect
	case response.StatusCode < 200, response.StatusCode > http.StatusPartialContent && response.StatusCode < 300:
		return ErrForeign // no API server has them: of a switched protocol nothing is bounded, and clients decode the others as errors of any kind
	}
	limitRetryAfter(response.Header)
	contentType := response.Header.Get("Content-Type")
	if response.StatusCode < 300 && (kind.isObject() && !isKubernetes(contentType) || kindsWanted(ctx, kind) != nil && !isJSON(contentType)) {
		return ErrForeign
	}
	response.Body = g.guarded(ctx, cancel, kind, response)
	if response.StatusCode < 400 {
		return nil
	}
	if err := cleanStatus(response); err != nil {
		return err
	}
	if response.StatusCode == http.StatusForbidden {
		return g.explain(kind, response)
	}
	return nil
}

// explain returns the refusal of an answer where the client would show too little of it: clients of the discovery show nothing, and API servers do not
// say as whom the credentials may not act. Any other answer is left to the client.
func (g *guard) explain(kind answerKind, response *http.Response) error {
	refused := statusIn(response)
	switch {
	case refused == nil:
		return nil
	case g.actingAs != "" && strings.Contains(refused.ErrStatus.Message, "cannot impersonate"):
		refused.ErrStatus.Message = fmt.Sprintf("%s; the credentials of the Target may not act as %s: give them the right to impersonate it there, "+
			"or correct spec.serviceAccountName", refused.ErrStatus.Message, g.actingAs)
		return refused
	case kind.isAboutKinds():
		return refused
	}
	return nil
}

// limitRetryAfter keeps a target from having requests wait long: clients sleep as the header says, and send again.
func limitRetryAfter(header http.Header) {
	value := header.Get("Retry-After")
	if value == "" {
		return
	}
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 0 {
		header.Del("Retry-After")
		return
	}
	header.Set("Retry-After", strconv.Itoa(min(seconds, maxRetryAfter)))
}

// answerKind says what the answer to a request has to be.
type answerKind int

const (
	// anyAnswer is text or a document without a kind, such as the version.
	anyAnswer answerKind = iota
	objectAnswer
	oneAnswer
	// discoveryAnswer is about several API groups, versionAnswer about one version of one.
	discoveryAnswer
	versionAnswer
	watchAnswer
)

// isObject reports whether the answer has to be one or several Kubernetes objects.
func (k answerKind) isObject() bool { return k != anyAnswer }

// isAboutKinds reports whether the answer says which kinds there are.
func (k answerKind) isAboutKinds() bool { return k == discoveryAnswer || k == versionAnswer }

func (g *guard) kindOf(request *http.Request) answerKind {
	path, _ := strings.CutPrefix(request.URL.Path, strings.TrimRight(g.prefix, "/"))
	segments := strings.Split(strings.Trim(path, "/"), "/")
	root := 0 // segments of the root of a group and version
	switch segments[0] {
	case "api":
		root = 2
	case "apis":
		root = 3
	default:
		return anyAnswer
	}
	switch watch := request.URL.Query().Get("watch"); {
	case len(segments) < root:
		return discoveryAnswer
	case len(segments) == root:
		return versionAnswer
	case watch == "true" || watch == "1":
		return watchAnswer
	case isRaw(segments[root:]):
		return anyAnswer
	case isOne(request.Method, segments[root:]):
		return oneAnswer
	}
	return objectAnswer
}

// isOne reports whether the answer to a request below a group and version is one object and no list.
func isOne(method string, segments []string) bool {
	if segments[0] == "namespaces" && len(segments) > 2 {
		segments = segments[2:]
	}
	return len(segments) > 1 || method != http.MethodGet && method != http.MethodDelete
}

// isRaw reports whether the path below a group and version leads to a subresource that answers with something else than objects.
func isRaw(segments []string) bool {
	if segments[0] == "namespaces" && len(segments) > 3 {
		segments = segments[2:]
	}
	return len(segments) > 2 && (segments[2] == "proxy" || segments[0] == "pods" && segments[2] == "log")
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

const (
	// A request has reviewTimeout to be known, and then waits for its turn for maxWait at most.
	reviewTimeout = 30 * time.Second
	maxWait       = time.Minute
	// defaultTimeout is how long content may take to be found then.
	defaultTimeout = 2 * time.Minute
	// For how many requests content is looked for at a time: all, of one caller, and of one caller for one namespace; and how many of a caller wait.
	maxWorking     = 8
	maxOfCaller    = 4
	maxOfNamespace = 2
	maxWaiting     = 64
)

// Options of New.
type Options struct {
	// Client reads the landscaper cluster without a cache, and asks it who callers are.
	Client client.Client
	// Keys reads the JSON Web Key Set of the landscaper cluster, as ReadKeys does. Without it tokens that are new count as those of strangers at the same address.
	Keys func(context.Context) ([]byte, error)
	// Finders find each kind of content.
	Finders map[relay.Kind]Finder
	// Timeout is how long content may take to be found; 0 means two minutes.
	Timeout time.Duration
	// Metrics gets those of the relay.
	Metrics prometheus.Registerer
}

// Finder finds content for an item.
type Finder func(ctx context.Context, item *contract.Item) (*Content, error)

// Content is what was found for an item. It may have been found only in part, with an error.
type Content struct {
	// MediaType of the body, and the digest of the content.
	MediaType, Digest string
	Body              []byte
	// Sources are the Flux sources that it comes from.
	Sources []v1alpha1.SourceStatus
}

// Handler answers the requests of deployers.
type Handler struct {
	options  Options
	callers  callers
	turns    *turns
	room     *memory.Room
	requests *prometheus.CounterVec
	bytes    prometheus.Counter
}

// New returns a Handler.
func New(options Options) (*Handler, error) {
	options.Timeout = cmp.Or(options.Timeout, defaultTimeout)
	h := &Handler{
		options: options, callers: newCallers(options.Client, options.Keys), room: memory.NewRoom(answersRoom, answersStep),
		turns: newTurns(maxWorking, maxOfCaller, maxOfNamespace, maxWaiting),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "landscaper_relay_requests_total", Help: "Requests of deployers to the content relay, by the status of the answer.",
		}, []string{"code"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "landscaper_relay_sent_bytes_total", Help: "Bytes of content that the relay has sent.",
		}),
	}
	return h, errors.Join(options.Metrics.Register(h.requests), options.Metrics.Register(h.bytes))
}

// ServeHTTP answers one request. Who may not read a DeployItem learns nothing about it, not even whether it exists.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(relay.ServedBy, "v1")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.requests.WithLabelValues(strconv.Itoa(h.answer(w, r))).Inc()
}

// answer writes the answer and returns its status.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) int {
	asked, isKnown := relay.Parse(r.URL)
	if !isKnown || r.Method != http.MethodGet {
		return refuse(w, http.StatusNotFound)
	}
	until := time.Now().Add(answerTimeout)
	caller, status := h.admit(r, asked)
	if caller == "" {
		return refuse(w, status)
	}
	claim := h.claim(caller)
	defer claim.End()
	found, err := h.look(r.Context(), tenant{caller, asked.Namespace}, asked, claim)
	return h.send(w, r, until, found, err)
}

// claim begins an answer for a caller.
func (h *Handler) claim(caller string) *memory.Claim { return h.room.Claim(fenceOf(caller)) }

// admit returns the name of a caller that may have what it asks for, or else the status of the answer.
func (h *Handler) admit(r *http.Request, asked relay.Asked) (string, int) {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	log := ctrl.Log.WithName("relay").WithValues("kind", asked.Kind, "namespace", asked.Namespace, "name", asked.Name)
	caller, err := h.callers.identify(ctx, addressOf(r), r.Header.Get(relay.TokenHeader))
	switch {
	case isBusy(err):
		return "", http.StatusTooManyRequests
	case err != nil:
		log.Error(err, "a caller cannot be identified")
		return "", http.StatusServiceUnavailable
	case caller == nil:
		return "", http.StatusUnauthorized
	}
	mayRead, err := h.callers.mayRead(ctx, caller, asked)
	switch {
	case isBusy(err):
		return "", http.StatusTooManyRequests
	case err != nil:
		log.Error(err, "the rights of a caller cannot be found out", "caller", caller.Username)
		return "", http.StatusServiceUnavailable
	case !mayRead:
		log.Info("a caller may not get the DeployItem", "caller", caller.Username)
		return "", http.StatusForbidden
	}
	return caller.Username, 0
}

// look finds the content of an item when it is the caller's turn. It returns nil without an error where the item is another one than the deployer works on.
func (h *Handler) look(ctx context.Context, of tenant, asked relay.Asked, claim *memory.Claim) (*Content, error) {
	ctx, end, err := h.begin(ctx, of)
	if err != nil {
		return nil, err
	}
	defer end() // a slow reader of the answer has room only
	if err := await(ctx, claim, unknownContent); err != nil {
		return nil, err
	}
	item := &v1alpha1.DeployItem{}
	err = h.options.Client.Get(ctx, client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, item)
	if apierrors.IsNotFound(err) || err == nil && !asked.Fits(item) {
		return nil, nil
	}
	found, err := h.find(withClaim(ctx, claim), asked.Kind, item, err)
	if found == nil {
		found = &Content{}
	}
	claim.GiveBack(int64(len(found.Body)))
	switch {
	case err == nil && !claim.Fits(int64(len(found.Body))):
		return nil, errBusy
	case err != nil && !errors.Is(err, errBusy) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return found, kit.Again("GetContent", "DownloadFailed", "the content relay did not find the content within %s", h.options.Timeout)
	}
	return found, err
}

// begin waits for a turn, and returns the context in which content is looked for, which has its whole time then, and the function that ends both. The error
// is errBusy.
func (h *Handler) begin(ctx context.Context, of tenant) (context.Context, func(), error) {
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	end, err := h.turns.take(waiting, of)
	if err != nil {
		return nil, nil, errBusy
	}
	looking, stop := context.WithTimeout(ctx, h.options.Timeout)
	return looking, func() {
		stop()
		end()
	}, nil
}

func (h *Handler) find(ctx context.Context, kind relay.Kind, item *v1alpha1.DeployItem, err error) (*Content, error) {
	if err != nil {
		return nil, err
	}
	found, err := contract.ReadContext(ctx, h.options.Client, h.options.Client, item)
	if err != nil {
		return nil, err
	}
	return h.options.Finders[kind](ctx, &contract.Item{DeployItem: item, Context: found})
}

// send writes the content, until a time at most, or why there is none.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, until time.Time, content *Content, err error) int {
	if content != nil && len(content.Sources) > 0 {
		if encoded, failed := json.Marshal(content.Sources); failed == nil {
			w.Header().Set(relay.SourcesHeader, string(encoded))
		}
	}
	switch {
	case errors.Is(err, errBusy):
		return refuse(w, http.StatusTooManyRequests)
	case kit.IsTransient(err):
		return refuse(w, http.StatusServiceUnavailable)
	case err != nil:
		return h.fail(w, err)
	case content == nil:
		return refuse(w, http.StatusConflict)
	}
	w.Header().Set("ETag", `"`+content.Digest+`"`)
	if r.Header.Get("If-None-Match") == `"`+content.Digest+`"` {
		return refuse(w, http.StatusNotModified)
	}
	w.Header().Set("Content-Type", content.MediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(content.Body)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.bytes.Add(float64(deliver(w, content.Body, until)))
	return http.StatusOK
}

func (h *Handler) fail(w http.ResponseWriter, err error) int {
	w.Header().Set("Content-Type", relay.MediaTypeFailure)
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = relay.WriteFailure(w, "GetContent", err)
	return http.StatusUnprocessableEntity
}

// refuse answers with a status alone.
func refuse(w http.ResponseWriter, status int) int {
	w.WriteHeader(status)
	return status
}

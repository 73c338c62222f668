// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay is how a deployer gets the content of its DeployItems from the content relay of the landscaper cluster, and what both sides agree on.
// It reaches that through the API server and knows no registry. It promises nothing to others.
package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

const (
	// Audience is that of the tokens by which deployers say who they are. No API server accepts them.
	Audience = "landscaper-relay"
	// TokenHeader has such a token: an API server passes no Authorization on.
	TokenHeader = "Landscaper-Relay-Token" // #nosec G101 -- the name of a header
	// ServedBy is a header of every answer of the relay, so that those of others can be told from them.
	ServedBy = "Landscaper-Relay"
	// SourcesHeader has the Flux sources that the content comes from, as JSON.
	SourcesHeader = "Landscaper-Relay-Sources"
	// MediaTypeFailure is that of an answer that says why there is no content.
	MediaTypeFailure = "application/vnd.landscaper.failure+json"
	// MaxContent bounds an answer, in bytes.
	MaxContent = 128 << 20
	// MaxArchive bounds one with KindContent, which has to fit into a few Secrets.
	MaxArchive = 16 << 20

	prefix     = "content/v1"
	maxFailure = 64 << 10
)

// Kind is what is asked for of a DeployItem.
type Kind string

// The kinds of content.
const (
	// KindChart is the chart of a helm item.
	KindChart Kind = "chart"
	// KindContent is the archive with component descriptors and blueprint of a container item.
	KindContent Kind = "content"
)

// typeOf is the type of the items that have a kind of content.
var typeOf = map[Kind]string{KindChart: v1alpha1.HelmDeployItemType, KindContent: v1alpha1.ContainerDeployItemType}

// limit is how many bytes of a kind of content are read.
func (k Kind) limit() int64 {
	if k == KindContent {
		return MaxArchive
	}
	return MaxContent
}

// Asked is a request for the content of one version of one DeployItem.
type Asked struct {
	// Kind of the content.
	Kind Kind
	// Namespace and Name of the DeployItem.
	Namespace, Name string
	// UID and Generation are those that the deployer works on.
	UID        string
	Generation int64
}

// For returns the request for the content of an item.
func For(kind Kind, item *v1alpha1.DeployItem) Asked {
	return Asked{Kind: kind, Namespace: item.Namespace, Name: item.Name, UID: string(item.UID), Generation: item.Generation}
}

// URL returns path and query below the address of the relay.
func (a Asked) URL() (string, url.Values) {
	return strings.Join([]string{prefix, string(a.Kind), a.Namespace, a.Name}, "/"),
		url.Values{"uid": {a.UID}, "generation": {strconv.FormatInt(a.Generation, 10)}}
}

// Parse reads what URL has written; it reports false for everything else.
func Parse(at *url.URL) (Asked, bool) {
	rest, isOurs := strings.CutPrefix(strings.TrimPrefix(at.Path, "/"), prefix+"/")
	parts := strings.Split(rest, "/")
	if !isOurs || len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return Asked{}, false
	}
	generation, err := strconv.ParseInt(at.Query().Get("generation"), 10, 64)
	a := Asked{Kind: Kind(parts[0]), Namespace: parts[1], Name: parts[2], UID: at.Query().Get("uid"), Generation: generation}
	return a, err == nil && typeOf[a.Kind] != ""
}

// Fits reports whether an item is the one that is asked for, in that version and of a type that has such content.
func (a Asked) Fits(item *v1alpha1.DeployItem) bool {
	return item.Spec.Type == typeOf[a.Kind] && string(item.UID) == a.UID && item.Generation == a.Generation
}

// failure is a kit.Failure on its way.
type failure struct {
	Kind      kit.FailureKind      `json:"kind"`
	Operation string               `json:"operation"`
	Reason    string               `json:"reason"`
	Message   string               `json:"message"`
	Codes     []v1alpha1.ErrorCode `json:"codes,omitempty"`
	Heals     bool                 `json:"heals,omitempty"`
	// Source is the Flux source that is at fault.
	Source *flux.Error `json:"source,omitempty"`
}

// WriteFailure writes why there is no content.
func WriteFailure(w io.Writer, operation string, err error) error {
	known := kit.AsFailure(operation, err)
	sent := failure{
		Kind: known.Kind, Operation: known.Operation, Reason: known.Reason, Message: err.Error(), Codes: kit.CodesOf(err), Heals: known.Heals,
	}
	if !errors.As(err, &sent.Source) {
		sent.Source = nil
	}
	return json.NewEncoder(w).Encode(sent)
}

// readFailure returns what WriteFailure has written, as if it had happened here.
func readFailure(r io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(r, maxFailure))
	if err != nil {
		return err
	}
	var sent failure
	if err := json.Unmarshal(raw, &sent); err != nil || sent.Reason == "" {
		return fmt.Errorf("the content relay does not say what is wrong; update both sides to the same version")
	}
	cause := error(&told{sent.Message, nil})
	if sent.Source != nil {
		cause = &told{sent.Message, sent.Source}
	}
	return &kit.Failure{
		Kind: sent.Kind, Operation: sent.Operation, Reason: sent.Reason, Codes: sent.Codes, Heals: sent.Heals, Err: cause,
	}
}

// told is an error in the words of the relay.
type told struct {
	message string
	cause   error
}

// Error returns the message.
func (t *told) Error() string { return t.message }

// Unwrap returns the source that is at fault, if any.
func (t *told) Unwrap() error { return t.cause }

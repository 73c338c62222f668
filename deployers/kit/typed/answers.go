// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// errNotJSON says that an answer cannot be judged.
var errNotJSON = errors.New("the cluster answers with something else than the JSON that it was asked for; see what serves it")

// Answers returns a transport that refuses answers which must not become Go types. Those of watches and logs are passed on as they are: a client that
// decodes a watch has to look at its objects before it converts any.
func Answers(next http.RoundTripper) http.RoundTripper { return answers{next} }

type answers struct{ next http.RoundTripper }

// RoundTrip sends a request, and reads the answer before it is returned.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices || isStream(request) || !ofObjects.MatchString(request.URL.Path) {
		return response, err
	}
	if strings.Contains(response.Header.Get("Content-Type"), "protobuf") {
		_ = response.Body.Close() // nobody reads it
		return nil, errNotJSON
	}
	document, err := io.ReadAll(response.Body)
	if err == nil {
		if problem := (Rules{Quantities: true}).Document(document); problem != nil {
			_ = response.Body.Close() // it was read
			return nil, fmt.Errorf("the cluster answers with an object that no API server has: %w", problem)
		}
		err = io.EOF
	}
	response.Body = &readAlready{io.MultiReader(bytes.NewReader(document), ended{err}), response.Body}
	return response, nil
}

// ofObjects are the paths of objects. Other answers, such as the version of the server, have no kind and become no object.
var ofObjects = regexp.MustCompile(`/(api/v[0-9][^/]*|apis/[^/]+/v[0-9][^/]*)/`)

// ofLogs are the paths of the logs of Pods.
var ofLogs = regexp.MustCompile(`/api/v1/namespaces/[^/]+/pods/[^/]+/log$`)

// isStream reports whether an answer is read while it comes.
func isStream(request *http.Request) bool {
	return request.URL.Query().Get("watch") != "" || ofLogs.MatchString(request.URL.Path)
}

// readAlready is a body that was read. It is closed as late as any other.
type readAlready struct {
	io.Reader
	io.Closer
}

// ended is the end of a body.
type ended struct{ err error }

// Read returns how it ended.
func (e ended) Read([]byte) (int, error) { return 0, e.err }

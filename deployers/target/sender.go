// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

const (
	// MaxAnswer is the length in bytes from which on an answer of a target is refused.
	MaxAnswer = 16 << 20
	// maxStatus is the largest answer that reports an error, in bytes, and maxMessage how much is kept of the message of one that is larger than longStatus.
	maxStatus, longStatus, maxMessage = 1 << 20, 64 << 10, 8 << 10
	// maxRetryAfter is how many seconds a target may have a request wait before it is sent again.
	maxRetryAfter = 5
	dialTimeout   = 10 * time.Second
)

// errForeign says that an answer is not one of an API server.
var errForeign = errors.New("the answer of the server is not the Kubernetes object that it was asked for; check the address of the Target")

// policyOfTargets is what an API server that a tenant names may do. An API server itself ends a watch after an hour at the latest.
var policyOfTargets = egress.Policy{
	HTTP2: true, Header: 30 * time.Second, Body: time.Minute, Most: MaxAnswer, Stream: isStream, Event: 8 << 20, Renewal: time.Hour,
}

// isStream reports whether an answer is read while it comes: that of a watch, or of a log that is followed.
func isStream(request *http.Request) bool {
	asked := request.URL.Query()
	return isTrue(asked.Get("watch")) || isTrue(asked.Get("follow"))
}

func isTrue(text string) bool {
	value, err := strconv.ParseBool(text)
	return err == nil && value
}

// anywhere opens connections to the landscaper cluster, whose address the operator chose.
func anywhere() egress.Dial {
	return (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
}

// sender sends requests to an API server that a tenant chose. It lets no byte of an answer into an error that is not the answer of an API server.
type sender struct {
	*egress.Transport
	// prefix is the path of the URL of the server, and actingAs the user that the credentials impersonate; empty for none.
	prefix, actingAs string
}

func newSender(config *rest.Config, policy egress.Policy) (*sender, error) {
	var err error
	if policy.TLS, err = rest.TLSConfigFor(config); err != nil {
		return nil, err
	}
	policy.Proxy, policy.Plain = config.Proxy, config.DisableCompression
	s := &sender{Transport: egress.New(policy), actingAs: config.Impersonate.UserName}
	if server, err := url.Parse(config.Host); err == nil {
		s.prefix = path.Join("/", server.Path)
	}
	return s, nil
}

// roleDelays add up to a little more than a second.
var roleDelays = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 7}

// RoundTrip sends a request, and a binding again while the API server does not know its role: for somebody who may not grant more than he has, it looks roles
// up in a cache, which learns of one that was made a moment before only after that was answered.
func (s *sender) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.send(request)
	if !binds(request) {
		return response, err
	}
	for delays := roleDelays; err == nil && delays.Steps > 0 && lacksRole(response); {
		select {
		case <-request.Context().Done():
			return response, nil
		case <-time.After(delays.Step()):
		}
		again := request.Clone(request.Context())
		if again.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
		response, err = s.send(again)
	}
	return response, err
}

// binds reports whether a request may create a binding of RBAC, and can be sent again. What a dry run lacks may come with the others.
func binds(request *http.Request) bool {
	_, resource, isRBAC := strings.Cut(request.URL.Path, "/apis/"+rbacv1.GroupName+"/")
	mayCreate := request.Method == http.MethodPost || strings.HasPrefix(request.Header.Get("Content-Type"), string(types.ApplyPatchType))
	return isRBAC && strings.Contains(resource, "rolebindings") && mayCreate && request.GetBody != nil && !request.URL.Query().Has("dryRun")
}

// lacksRole reports whether the answer to a binding says that there is no such role: servers say that the binding is not found, or the role.
func lacksRole(response *http.Response) bool {
	if response.StatusCode != http.StatusNotFound {
		return false
	}
	status := statusIn(response)
	return status != nil && status.ErrStatus.Details != nil && status.ErrStatus.Details.Group == rbacv1.GroupName
}

// send sends a request once, and judges the answer.
func (s *sender) send(request *http.Request) (*http.Response, error) {
	response, err := s.Transport.RoundTrip(request)
	if errors.Is(err, egress.ErrPrivate) {
		return nil, fmt.Errorf("%w, and the operator allows public ones only", err)
	}
	if err == nil {
		err = s.judge(request, response)
	}
	if err != nil && response != nil {
		_ = response.Body.Close() // nobody reads on
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

// judge refuses an answer that no API server gives, and leaves of one that reports an error what a Status says.
func (s *sender) judge(request *http.Request, response *http.Response) error {
	code := response.StatusCode
	if code < 200 || code > http.StatusPartialContent && code < 300 {
		return errForeign // of a switched protocol nothing is bounded, and clients decode the others as errors of any kind
	}
	limitRetryAfter(response.Header)
	isObject, isAboutKinds := s.wants(request)
	switch {
	case code >= 400:
		return s.explain(isAboutKinds, response)
	case isObject && !isStream(request):
		return onlyObject(response)
	case isObject && !isKubernetes(response.Header.Get("Content-Type")):
		return errForeign
	}
	return nil
}

// wants says what the answer to a request has to be: one or several objects, or what tells of kinds, which is an object, too. Other answers are texts, or
// documents without a kind such as the version.
func (s *sender) wants(request *http.Request) (isObject, isAboutKinds bool) {
	below, _ := strings.CutPrefix(request.URL.Path, strings.TrimRight(s.prefix, "/"))
	segments, root := strings.Split(strings.Trim(below, "/"), "/"), 3 // segments of the root of a group and version
	switch segments[0] {
	case "api":
		root = 2
	case "apis":
	default:
		return false, false
	}
	if len(segments) <= root {
		return true, true
	}
	segments = segments[root:]
	if segments[0] == "namespaces" && len(segments) > 3 {
		segments = segments[2:]
	}
	isRaw := len(segments) > 2 && (segments[2] == "proxy" || segments[0] == "pods" && segments[2] == "log")
	return !isRaw, false
}

// isKubernetes reports whether a content type is one that API servers use for objects. An answer without one counts as JSON.
func isKubernetes(contentType string) bool {
	return isJSON(contentType) || strings.HasPrefix(contentType, "application/vnd.kubernetes.protobuf")
}

func isJSON(contentType string) bool {
	return contentType == "" || strings.HasPrefix(contentType, "application/json")
}

// onlyObject reads an answer, and refuses one that is no object: decoders quote documents without a kind in their errors.
func onlyObject(response *http.Response) error {
	if contentType := response.Header.Get("Content-Type"); !isJSON(contentType) {
		if isKubernetes(contentType) {
			return nil
		}
		return errForeign
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if kind, err := kjson.DefaultMetaFactory.Interpret(content); err != nil || kind.Kind == "" {
		return errForeign
	}
	replace(response, content)
	return nil
}

// replace puts a content in place of that of an answer, which was read.
func replace(response *http.Response, content []byte) {
	_ = response.Body.Close() // everything that counts was read
	response.Header.Del("Content-Length")
	response.ContentLength, response.Body = int64(len(content)), io.NopCloser(bytes.NewReader(content))
}

// explain leaves of an answer that reports an error only what a Status says. It returns a refusal of which the client would show too little: clients of the
// discovery show nothing, and API servers do not say as whom the credentials may not act.
func (s *sender) explain(isAboutKinds bool, response *http.Response) error {
	content, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	var network net.Error
	if err != nil && (errors.As(err, &network) && network.Timeout() || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	replace(response, statusOf(content))
	response.Header.Set("Content-Type", runtime.ContentTypeJSON)
	refused := statusIn(response)
	switch {
	case refused == nil || response.StatusCode != http.StatusForbidden:
		return nil
	case s.actingAs != "" && strings.Contains(refused.ErrStatus.Message, "cannot impersonate"):
		refused.ErrStatus.Message = fmt.Sprintf("%s; the credentials of the Target may not act as %s: give them the right to impersonate it there, "+
			"or correct spec.serviceAccountName", refused.ErrStatus.Message, s.actingAs)
		return refused
	case isAboutKinds:
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

// statusIn returns the Status in an answer that explain has left, without taking it out; nil where there is none.
func statusIn(response *http.Response) *apierrors.StatusError {
	content, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(content))
	found := &apierrors.StatusError{}
	if err != nil || json.Unmarshal(content, &found.ErrStatus) != nil || found.ErrStatus.Kind != "Status" {
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
	message, isProtobuf := bytes.CutPrefix(content, []byte("k8s\x00"))
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

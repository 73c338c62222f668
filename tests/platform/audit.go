// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

const (
	auditFile    = "audit.jsonl"
	markerPrefix = "platform-mark-"
)

// auditPolicy keeps who asked for what, without content; probes of health are left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: [/healthz*, /livez*, /readyz*]
- level: Metadata
`

// Request is one request that the API server has answered, or a watch that it has begun to answer.
type Request struct {
	Time time.Time // when the API server received it
	User string    // e.g. "source-controller", the name given to NewUser
	// Impersonated is in whose name User acts; empty for its own.
	Impersonated string
	UserAgent    string
	Verb         string // get, list, watch, create, update, patch, delete, deletecollection
	Resource     string // plural with group, e.g. "installations.landscaper.gardener.cloud" or "configmaps"; empty for a path
	Subresource  string // e.g. "status"
	Namespace    string
	Name         string
	Path         string // the request's URI without its host
	Code         int    // HTTP status
}

// Writes reports whether the request changes the cluster.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	default:
		return false
	}
}

// auditEvent is the part of an audit.k8s.io/v1 Event that a Request is made of.
type auditEvent struct {
	AuditID                  string
	RequestURI               string
	Verb                     string
	User                     struct{ Username string }
	ImpersonatedUser         struct{ Username string }
	UserAgent                string
	ObjectRef                struct{ Resource, APIGroup, Namespace, Name, Subresource string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp metav1.MicroTime
}

// auditLog is the log of requests in the folder of a cluster.
type auditLog struct{ dir string }

func (l auditLog) path() string { return filepath.Join(l.dir, auditFile) }

func (l auditLog) policy() string { return filepath.Join(l.dir, "audit-policy.yaml") }

func (l auditLog) args() []string {
	return []string{
		"--audit-policy-file=" + l.policy(),
		"--audit-log-path=" + l.path(),
		"--audit-log-maxsize=1000000",
		"--audit-log-format=json",
	}
}

func (l auditLog) writePolicy() error {
	return os.WriteFile(l.policy(), []byte(auditPolicy), 0o600)
}

// Requests returns every request that the API server received at since or later and answered before this call, in the
// order of the answers. It needs Options.Audit. Requests of the API server to itself have user "system:apiserver".
func (c *Cluster) Requests(ctx context.Context, since time.Time) ([]Request, error) {
	if !c.options.Audit {
		return nil, errors.New("requests are not recorded: set Options.Audit")
	}
	marker, err := markAudit(ctx, c.RestConfig)
	if err != nil {
		return nil, fmt.Errorf("cannot mark the end of the audit log: %w", err)
	}
	var requests []Request
	err = awaitReady(ctx, c.Process(binaries.APIServer), func(context.Context) error {
		var marked bool
		requests, marked, err = readAudit(auditLog{c.dir}.path(), since, marker)
		if err == nil && !marked {
			err = errors.New("the audit log is not complete yet")
		}
		return err
	})
	return requests, err
}

// markAudit sends a request that can be recognised in the log: whatever was answered before stands above it.
func markAudit(ctx context.Context, administrator *rest.Config) (string, error) {
	marker := markerPrefix + rand.Text()
	config := rest.CopyConfig(administrator)
	config.UserAgent = marker
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	return marker, answers(httpClient, administrator.Host+"/version")(ctx)
}

// readAudit reads the log up to the marker. A watch has two entries, when it begins and when it ends; the first counts.
func readAudit(path string, since time.Time, marker string) (requests []Request, marked bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	seen := map[string]bool{}
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var event auditEvent
		if err := decoder.Decode(&event); err != nil {
			return requests, false, ignoreEnd(err)
		}
		if event.UserAgent == marker {
			return requests, true, nil
		}
		if event.RequestReceivedTimestamp.Time.Before(since) || seen[event.AuditID] || event.isMarker() {
			continue
		}
		seen[event.AuditID] = true
		requests = append(requests, event.request())
	}
}

// ignoreEnd treats the end of the log, also in the middle of a line that is being written, as no error.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("cannot read the audit log: %w", err)
}

func (e auditEvent) isMarker() bool { return strings.HasPrefix(e.UserAgent, markerPrefix) }

func (e auditEvent) request() Request {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.APIGroup != "" {
		resource += "." + e.ObjectRef.APIGroup
	}
	return Request{
		Time:         e.RequestReceivedTimestamp.Time,
		User:         e.User.Username,
		Impersonated: e.ImpersonatedUser.Username,
		UserAgent:    e.UserAgent,
		Verb:         e.Verb,
		Resource:     resource,
		Subresource:  e.ObjectRef.Subresource,
		Namespace:    e.ObjectRef.Namespace,
		Name:         e.ObjectRef.Name,
		Path:         e.RequestURI,
		Code:         e.ResponseStatus.Code,
	}
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package clouds

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// AWS is the part of it that gives logins for its registry in one region.
type AWS struct {
	// Review returns the subject of a token for an audience, or why it is none.
	Review func(ctx context.Context, token, audience string) (subject string, err error)

	mu       sync.Mutex
	trusted  map[string]string
	sessions map[string]bool
	password string
	lifetime time.Duration
}

// AWSUser is the user of all logins at registries of AWS.
const AWSUser = "AWS"

// AWS puts it into the world.
func (w *World) AWS(region string, review func(ctx context.Context, token, audience string) (string, error)) *AWS {
	a := &AWS{Review: review, trusted: map[string]string{}, sessions: map[string]bool{}, password: rand.Text(), lifetime: 12 * time.Hour}
	w.Serve("sts."+region+".amazonaws.com", http.HandlerFunc(a.assume))
	w.Serve("api.ecr."+region+".amazonaws.com", http.HandlerFunc(a.authorize))
	return a
}

// Trust lets a subject, and nobody else, assume a role; an empty one ends that.
func (a *AWS) Trust(role, subject string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trusted[role] = subject
}

// Password is that of the logins at the moment.
func (a *AWS) Password() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.password
}

// Rotate makes another password, and says for how long it is announced to be good; negative lets nobody keep it.
func (a *AWS) Rotate(lifetime time.Duration) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.password, a.lifetime = rand.Text(), lifetime
	return a.password
}

// assume is the action AssumeRoleWithWebIdentity.
func (a *AWS) assume(out http.ResponseWriter, request *http.Request) {
	token := request.PostFormValue("WebIdentityToken")
	subject, err := a.Review(request.Context(), token, "sts.amazonaws.com")
	a.mu.Lock()
	defer a.mu.Unlock()
	out.Header().Set("Content-Type", "text/xml")
	if err != nil || subject == "" || a.trusted[request.PostFormValue("RoleArn")] != subject {
		out.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(out, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>`+
			`<Message>%s may not assume the role with %s</Message></Error><RequestId>1</RequestId></ErrorResponse>`, subject, token)
		return
	}
	session := rand.Text()
	a.sessions[session] = true
	_, _ = fmt.Fprintf(out, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
		`<AccessKeyId>key</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
		`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, session, time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano))
}

// authorize is the action GetAuthorizationToken.
func (a *AWS) authorize(out http.ResponseWriter, request *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if !a.sessions[request.Header.Get("X-Amz-Security-Token")] {
		out.WriteHeader(http.StatusBadRequest)
		_, _ = out.Write([]byte(`{"__type":"UnrecognizedClientException","message":"unknown session"}`))
		return
	}
	login := base64.StdEncoding.EncodeToString([]byte(AWSUser + ":" + a.password))
	_ = json.NewEncoder(out).Encode(map[string]any{"authorizationData": []any{
		map[string]any{"authorizationToken": login, "expiresAt": float64(time.Now().Add(a.lifetime).UnixMilli()) / 1000},
	}})
}

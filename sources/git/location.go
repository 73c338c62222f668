// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// Login is what the server is shown: a user with a password, or a token. The zero value is anonymous. It prints as a
// placeholder.
type Login struct {
	Username, Password string
	// Token is sent as a bearer token if there is no password.
	Token string
}

// String hides the content.
func (Login) String() string { return "a Git login (hidden)" }

// GoString hides the content from %#v too.
func (l Login) GoString() string { return l.String() }

func (l Login) method() transport.AuthMethod {
	switch {
	case l.Password != "" || l.Username != "":
		return &githttp.BasicAuth{Username: l.Username, Password: l.Password}
	case l.Token != "":
		return &githttp.TokenAuth{Token: l.Token}
	}
	return nil
}

// Location names a commit.
type Location struct {
	// URL of the repository: https, or http where Options allow it; without user information.
	URL string
	// Ref is a branch, a tag or a full name such as refs/pull/1/head; empty means the default branch.
	Ref string
	// Commit, if set, is the full hash of the commit to take. Ref then helps to find it.
	Commit string
	// Login for the server.
	Login Login
}

var fullHash = regexp.MustCompile("^[0-9a-f]{40}$")

// check returns where to connect to.
func (at Location) check(allowHTTP bool) (*transport.Endpoint, error) {
	u, err := url.Parse(at.URL)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fail(ErrInvalid, at, "its URL cannot be used", "write it as https://host/path")
	case u.User != nil:
		return nil, fail(ErrInvalid, at, "its URL contains a user", "put the login into a Secret")
	case u.Scheme != "https" && (u.Scheme != "http" || !allowHTTP):
		return nil, fail(ErrInvalid, at, "its URL is not https", "use the https address of the repository")
	case at.Commit != "" && !fullHash.MatchString(at.Commit):
		return nil, fail(ErrInvalid, at, "the commit is not a full hash of 40 hex digits", "write the full hash")
	}
	endpoint, err := transport.NewEndpoint(at.URL)
	if err != nil {
		return nil, fail(ErrInvalid, at, "its URL cannot be used", "write it as https://host/path")
	}
	return endpoint, nil
}

// pick returns the commit, or the tag object, that the location names among the refs of the server.
func (at Location) pick(refs *packp.AdvRefs) (plumbing.Hash, error) {
	if at.Commit != "" {
		return plumbing.NewHash(at.Commit), nil
	}
	if at.Ref == "" && refs.Head != nil {
		return *refs.Head, nil
	}
	for _, name := range []string{at.Ref, "refs/heads/" + at.Ref, "refs/tags/" + at.Ref} {
		if peeled, ok := refs.Peeled[name]; ok {
			return peeled, nil
		}
		if found, ok := refs.References[name]; ok && strings.HasPrefix(name, "refs/") {
			return found, nil
		}
	}
	if at.Ref == "" {
		return plumbing.ZeroHash, fail(ErrNotFound, at, "it has no default branch", "name a branch, tag or commit")
	}
	return plumbing.ZeroHash, fail(ErrNotFound, at, "it has no branch or tag "+strconv.Quote(at.Ref), "check the name")
}

func (at Location) loginCure() string {
	if at.Login == (Login{}) {
		return "give a login that may read the repository"
	}
	return "correct the login, or let its user read the repository"
}

// shown is the URL without what may be secret in it.
func (at Location) shown() string {
	u, err := url.Parse(at.URL)
	if err != nil {
		return "<not a URL>"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// hide removes the login from text, should a server repeat it.
func (at Location) hide(text string) string {
	for _, secret := range []string{at.Login.Password, at.Login.Token} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "<hidden>")
		}
	}
	return beginning.Of(text, 300)
}

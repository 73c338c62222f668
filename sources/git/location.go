// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Location names a commit.
type Location struct {
	// URL of the repository: https, or http where Options allow it; without user information.
	URL string
	// Ref is a branch, a tag or a full name such as refs/pull/1/head; empty means the default branch.
	Ref string
	// Commit, if set, is the full hash of the commit to take. Ref then helps to find it.
	Commit string
}

var fullHash = regexp.MustCompile("^[0-9a-f]{40}$")

// check returns where to connect to.
func (at Location) check(allowHTTP bool) (*transport.Endpoint, error) {
	u, err := url.Parse(at.URL)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fail(ErrInvalid, at, "its URL cannot be used", "write it as https://host/path")
	case u.User != nil:
		return nil, fail(ErrInvalid, at, "its URL contains a user", "use the address of a repository that everybody may read")
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

// shown is the URL without what may be secret in it.
func (at Location) shown() string {
	u, err := url.Parse(at.URL)
	if err != nil {
		return "<not a URL>"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// The classes of a *fault.Error of this package, whose subject is the repository, without user information and query. Every other error is worth
// another try, and may have one of a context or of Options.Transport in its chain.
var (
	// ErrNotFound: there is no such repository, ref, commit or path.
	ErrNotFound = fault.Class(fault.Stalled, "not found in the Git repository")
	// ErrUnauthorized: the server refuses the login, or wants one and there is none.
	ErrUnauthorized = fault.Class(fault.Stalled, "refused by the Git server")
	// ErrInvalid: the location cannot be used, or the server sent what is not a Git.
	ErrInvalid = fault.Class(fault.Stalled, "invalid Git location or content")
	// ErrTooLarge: the repository exceeds a limit of Options.
	ErrTooLarge = fault.Class(fault.Stalled, "too large for a Git repository")
)

func fail(class error, at Location, problem, cure string) error {
	return &fault.Error{Class: class, Subject: at.subject(), Problem: problem, Cure: cure}
}

func (at Location) subject() string { return fmt.Sprintf("Git repository %q", at.shown()) }

// explain turns an error of the Git library into a *fault.Error. doing says what was tried.
func explain(at Location, doing string, err error) error {
	if err == nil || errors.As(err, new(*fault.Error)) {
		return err
	}
	e := &fault.Error{Subject: at.subject(), Problem: "could not " + doing, Cure: "it is tried again"}
	switch status := answered(err); {
	case errors.Is(err, errManyRefs):
		e.Class, e.Problem, e.Cure = ErrTooLarge, fmt.Sprintf("the server lists more than %d MiB of refs", maxRefs>>20), "delete branches and tags that nobody needs, hide others on the server (transfer.hideRefs), or use a repository with fewer"
	case errors.Is(err, errTooLarge):
		e.Class, e.Problem, e.Cure = ErrTooLarge, doing+" needs more bytes or objects than allowed", "use a smaller repository or raise the limit of the controller"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		e.Class, e.Problem, e.Cure = ErrUnauthorized, "the server refuses to "+doing, "use a repository that everybody may read, or publish its content as localBlob"
	case errors.Is(err, transport.ErrRepositoryNotFound):
		e.Class, e.Problem, e.Cure = ErrNotFound, "there is no such repository", "check the URL; some servers also answer so without a login"
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		e.Class, e.Problem, e.Cure = ErrNotFound, "the repository has no commit", "push one"
	case status != 0:
		e.Problem += fmt.Sprintf(": the server answers %d", status)
	case fault.EndOf(err) != nil:
		e.Cause = fault.EndOf(err)
		e.Problem += ": it took too long or was stopped"
	default:
		e.Cause = err
		e.Problem += ": " + foreign.Beginning(fault.WithoutURL(err).Error(), 300)
	}
	return e
}

// answered returns the status of an unexpected answer, or 0.
func answered(err error) int {
	if unexpected, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		err = unexpected.Err
	}
	var answer *githttp.Err
	if errors.As(err, &answer) && answer.Response != nil && answer.StatusCode() != http.StatusOK {
		return answer.StatusCode()
	}
	return 0
}

// walk is the way through one tree.
type walk struct {
	at      Location
	tar     *tar.Writer
	objects storer.EncodedObjectStorer
	options Options
	entries int
	bytes   int64
}

// maxDepth is how many directories may lie in each other.
const maxDepth = 100

// write puts the files below folder into a tar.
func (c *Client) write(ctx context.Context, at Location, objects storer.EncodedObjectStorer, commit *object.Commit, folder string, w io.Writer) error {
	root, err := commit.Tree()
	if err != nil {
		return explain(at, "read the files of the commit", err)
	}
	clean := strings.TrimPrefix(path.Clean("/"+folder), "/")
	if clean != "" {
		if root, err = root.Tree(clean); err != nil {
			return fail(ErrNotFound, at, fmt.Sprintf("commit %s has no directory %q", commit.Hash, folder), "correct the path")
		}
	}
	out := &walk{at: at, tar: tar.NewWriter(w), objects: objects, options: c.options}
	if err := out.tree(ctx, root, "", 0); err != nil {
		return explain(at, "read the files of the commit", err)
	}
	return out.tar.Close()
}

func (w *walk) tree(ctx context.Context, t *object.Tree, at string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("directories in each other: %w", errTooLarge)
	}
	for _, entry := range t.Entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.entries++; w.entries > w.options.MaxEntries {
			return fmt.Errorf("files and directories: %w", errTooLarge)
		}
		if err := w.entry(ctx, t, &entry, path.Join(at, entry.Name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(ctx context.Context, t *object.Tree, entry *object.TreeEntry, name string, depth int) error {
	if unsafe(entry.Name) {
		return fail(ErrInvalid, w.at, fmt.Sprintf("it has an entry with the name %q", entry.Name), "remove it from the repository")
	}
	switch entry.Mode {
	case filemode.Dir:
		child, err := object.GetTree(w.objects, entry.Hash)
		if err != nil {
			return err
		}
		return w.tree(ctx, child, name, depth+1)
	case filemode.Submodule:
		return nil
	default:
		return w.file(t, entry, name)
	}
}

// unsafe reports whether a name is none that a file in a directory can have.
func unsafe(name string) bool {
	return name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00")
}

func (w *walk) file(t *object.Tree, entry *object.TreeEntry, name string) (err error) {
	file, err := t.TreeEntryFile(entry)
	if err != nil {
		return err
	}
	if w.bytes += file.Size; file.Size > w.options.MaxFile || w.bytes > w.options.MaxTotal {
		return fmt.Errorf("files: %w", errTooLarge)
	}
	content, err := file.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if entry.Mode == filemode.Symlink {
		return w.link(name, content)
	}
	mode := int64(0o644)
	if entry.Mode == filemode.Executable {
		mode = 0o755
	}
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: file.Size, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(w.tar, content)
	return err
}

func (w *walk) link(name string, content io.Reader) error {
	const longest = 4096
	target, err := io.ReadAll(io.LimitReader(content, longest))
	if err != nil {
		return err
	}
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: string(target), Mode: 0o777, Format: tar.FormatPAX})
}

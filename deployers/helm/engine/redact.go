// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// shortestSecret is the length from which a text is withheld; shorter ones would blacken ordinary words.
	shortestSecret = 4
	// shortestText is the same for texts that nothing says to be secret.
	shortestText = 6
)

var (
	sensitiveKey = regexp.MustCompile(`(?i)pass|secret|token|credential|private|apikey|accesskey|auth|cert|kubeconfig`)
	// logins finds passwords in URLs and in what else says how to log in.
	logins = regexp.MustCompile(`(?i)(://[^\s/:@"']*:)[^\s/@"']+(@)|((?:password|passwd|pwd|secret|token)=)[^\s;&"']+`)
)

// Redacted is an error whose text does not show secrets, nor objects that the API server quotes.
type Redacted struct {
	Err     error
	Secrets []string
}

// Error returns the text.
func (r Redacted) Error() string { return redact(target.ShownError(r.Err), r.Secrets) }

// Unwrap returns the original error for errors.As and errors.Is.
func (r Redacted) Unwrap() error { return r.Err }

// redact returns a text without secrets, whether they stand in it as they are, quoted or encoded.
func redact(text string, secrets []string) string {
	var forms []string
	for _, secret := range secrets {
		forms = append(append(forms, fault.Forms(secret)...), base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	forms = slices.DeleteFunc(forms, func(form string) bool { return len(form) < shortestSecret })
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }) // a secret may be part of another one
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "***")
	}
	return logins.ReplaceAllString(strings.NewReplacer(pairs...).Replace(text), "$1$3***$2")
}

// sensitive returns the texts and numbers below keys of values that sound like secrets.
func sensitive(values map[string]any) []string { return textsIn(nil, values, shortestSecret, false) }

// TextsOf returns all texts and numbers of a value that is secret.
func TextsOf(value any) []string { return textsIn(nil, value, shortestSecret, true) }

// textsIn appends the texts and numbers of a value that are not too short, also line by line: the end of a log may show the end of a key. Without all they are
// those below keys that sound like secrets.
func textsIn(found []string, value any, least int, all bool) []string {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			found = textsIn(found, inner, least, all || sensitiveKey.MatchString(key))
		}
	case []any:
		for _, inner := range value {
			found = textsIn(found, inner, least, all)
		}
	case float64:
		return textsIn(found, strconv.FormatFloat(value, 'f', -1, 64), least, all)
	case int64, json.Number:
		return textsIn(found, fmt.Sprint(value), least, all)
	case string:
		lines := []string{value}
		if strings.Contains(value, "\n") {
			lines = append(lines, strings.Split(value, "\n")...)
		}
		for _, line := range lines {
			if line = strings.TrimSpace(line); all && len(line) >= least {
				found = append(found, line)
			}
		}
	}
	return found
}

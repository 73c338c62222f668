// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package secrecy

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/flux-landscaper/flux-landscaper/api/disguise"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// minimumSecret is the length from which a value under a sensitive key is withheld; shorter ones would blacken ordinary words.
const minimumSecret = 4

var sensitiveKey = regexp.MustCompile(`(?i)pass|secret|token|credential|private|apikey|accesskey|auth|cert|kubeconfig`)

// Withheld is an error whose text does not show secrets.
type Withheld struct {
	Err     error
	Secrets []string
}

// Error returns the text without the secrets and without objects that the API server quotes.
func (w Withheld) Error() string { return Withhold(target.ShownError(w.Err), w.Secrets) }

// Unwrap returns the original error for errors.As and errors.Is.
func (w Withheld) Unwrap() error { return w.Err }

// maxSecrets is how many secrets are looked for in a text.
const maxSecrets = 10_000

// logins finds passwords in URLs and in what else says how to log in.
var logins = regexp.MustCompile(`(?i)(://[^\s/:@"']*:)[^\s/@"']+(@)|((?:password|passwd|pwd|secret|token)=)[^\s;&"']+`)

// Withhold returns a text without secrets.
func Withhold(text string, secrets []string) string { return hider(secrets)(text) }

// hider returns a function that takes secrets out of a text, in whatever form that repeats them.
func hider(secrets []string) func(string) string {
	if len(secrets) > maxSecrets {
		return func(string) string { return "*** (the values hold too many secrets to look for them in the message)" }
	}
	forms := sync.OnceValue(func() []string { return formsOf(secrets) })
	return func(text string) string {
		pieces := piecesOf(text)
		for _, form := range forms() {
			if pieces[form[:minimumSecret]] && pieces[form[len(form)-minimumSecret:]] {
				text = strings.ReplaceAll(text, form, "***")
			}
		}
		return logins.ReplaceAllString(text, "$1$3***$2")
	}
}

// formsOf returns the forms of all secrets, the longest first: a secret may be part of another one.
func formsOf(secrets []string) []string {
	var forms []string
	for _, secret := range secrets {
		forms = append(append(forms, disguise.Forms(secret)...), base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	forms = slices.DeleteFunc(forms, func(form string) bool { return len(form) < minimumSecret })
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(forms)
}

// piecesOf returns all pieces of a text that are as long as the shortest secret: most others are ruled out by a look at both ends.
func piecesOf(text string) map[string]bool {
	pieces := map[string]bool{}
	for i := range max(0, len(text)-minimumSecret+1) {
		pieces[text[i:i+minimumSecret]] = true
	}
	return pieces
}

// Sensitive returns the texts and numbers below keys that sound like secrets, also line by line: the end of a log may show the end of a key.
func Sensitive(values map[string]any) []string {
	var found []string
	for key, value := range values {
		found = collect(found, value, sensitiveKey.MatchString(key))
	}
	return withLines(found)
}

// withLines adds the lines of texts.
func withLines(texts []string) []string {
	for _, text := range slices.Clone(texts) {
		if strings.Contains(text, "\n") {
			texts = append(texts, lines(text)...)
		}
	}
	return texts
}

func collect(found []string, value any, isSecret bool) []string {
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			found = collect(found, inner, isSecret || sensitiveKey.MatchString(key))
		}
	case []any:
		for _, inner := range typed {
			found = collect(found, inner, isSecret)
		}
	case chartutil.Values:
		return collect(found, map[string]any(typed), isSecret)
	case string, float64, int64, json.Number:
		if text := plain(typed); isSecret && len(text) >= minimumSecret {
			found = append(found, text)
		}
	}
	return found
}

// shortText is the length up to which a text is likely to be an ordinary word.
const shortText = 5

// TextsOf returns the longer texts and numbers of values, whatever their keys sound like, also line by line: templates may show any of them in an error,
// and programs in their logs.
func TextsOf(values map[string]any) []string {
	return slices.DeleteFunc(withLines(collect(nil, values, true)), func(text string) bool { return len(text) <= shortText })
}

// plain is a text or a number as it is written.
func plain(value any) string {
	if number, isFloat := value.(float64); isFloat {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// Texts returns the texts and numbers in values that an error must not show when the values are secret, also line by line and in base64. What
// has less than four characters is left out.
func Texts(value any) []string {
	var found []string
	switch typed := value.(type) {
	case map[string]any:
		for _, inner := range typed {
			found = append(found, Texts(inner)...)
		}
	case []any:
		for _, inner := range typed {
			found = append(found, Texts(inner)...)
		}
	case string:
		found = append(lines(typed), base64.StdEncoding.EncodeToString([]byte(typed)))
	case float64:
		found = lines(strconv.FormatFloat(typed, 'f', -1, 64))
	case int64:
		found = lines(strconv.FormatInt(typed, 10))
	}
	return found
}

// lines returns a text and its lines.
func lines(text string) []string {
	var found []string
	for _, line := range append(strings.Split(text, "\n"), text) {
		if line = strings.TrimSpace(line); len(line) >= minimumSecret {
			found = append(found, line)
		}
	}
	return found
}

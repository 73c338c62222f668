// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestReasonsAreMadeValid(t *testing.T) {
	for given, want := range map[string]string{
		"DeployItemFailed":        "DeployItemFailed",
		"Deployment failed":       "DeploymentFailed",
		"":                        "Error",
		"…":                       "Error",
		"42 is wrong":             "IsWrong",
		"ends with:":              "EndsWith",
		"a":                       "a",
		strings.Repeat("A", 4000): strings.Repeat("A", 128),
	} {
		assert.Equal(t, want, Reason(given), "%.40q", given)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	long := Message(strings.Repeat("ä", MaxMessage))
	assert.LessOrEqual(t, len(long), MaxMessage)
	assert.True(t, utf8.ValidString(long))
	assert.Equal(t, "short", Message("short"))
	assert.NotEmpty(t, Message(""))
	assert.Equal(t, "bytes", Message("by\xfftes"))
}

func TestMessagesOfEqualFailuresAreEqual(t *testing.T) {
	for given, want := range map[string]string{
		"Get \"https://t\": read tcp 10.0.0.1:54321->10.0.0.2:443: read: connection reset by peer":                           "Get \"https://t\": read tcp 10.0.0.2:443: read: connection reset by peer",
		"write tcp6 [::1]:5->[::1]:443: broken pipe":                                                                         "write tcp6 [::1]:443: broken pipe",
		"x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:01Z is after 2025-01-01T00:00:00Z": "x509: certificate has expired or is not yet valid: current time is after 2025-01-01T00:00:00Z",
		"dial tcp 10.0.0.2:443: connect: connection refused":                                                                 "dial tcp 10.0.0.2:443: connect: connection refused",
	} {
		assert.Equal(t, want, Message(given))
	}
}

func TestCodesAreBounded(t *testing.T) {
	many := []v1alpha1.ErrorCode{"ERR_TIMEOUT", "", "ERR_TIMEOUT", v1alpha1.ErrorCode(strings.Repeat("X", 65))}
	assert.Equal(t, []v1alpha1.ErrorCode{"ERR_TIMEOUT"}, boundCodes(many))
	for i := range 100 {
		many = append(many, v1alpha1.ErrorCode(strings.Repeat("C", 1+i%50)))
	}
	assert.Len(t, boundCodes(many), 16)
}

func FuzzFailuresGiveValidConditions(f *testing.F) {
	f.Add("Deployment failed", "m")
	f.Add("", "")
	f.Add("ünïcode:", strings.Repeat("x", MaxMessage+1))
	f.Fuzz(func(t *testing.T, reason, message string) {
		obj := &v1alpha1.Execution{}
		Fail(obj, &Failure{Reason: reason, Err: text(message)}, now)
		assert.Empty(t, validation.ValidateConditions(obj.Status.Conditions, field.NewPath("status", "conditions")))
		Progress(obj, reason, message)
		assert.Empty(t, validation.ValidateConditions(obj.Status.Conditions, field.NewPath("status", "conditions")))
	})
}

// text is an error with any text.
type text string

// Error returns the text.
func (t text) Error() string { return string(t) }

var now = metav1.Now().Time

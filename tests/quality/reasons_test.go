// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func reasonsOf(t *testing.T) []Reason {
	t.Helper()
	reasons, err := Reasons(loaded(t), files(t))
	require.NoError(t, err)
	require.Greater(t, len(reasons), 150, "the scan finds the reasons of all rooms")
	return reasons
}

func TestEveryReasonIsExplained(t *testing.T) {
	explanations, err := Explanations(loaded(t))
	require.NoError(t, err)
	unexplained, unused := ReasonGaps(reasonsOf(t), explanations)
	assert.Empty(t, unexplained, "the code has reasons that %s does not explain: add them there and run make generate", ReasonsFile)
	assert.Empty(t, unused, "%s explains reasons that the code does not have: remove them", ReasonsFile)
}

func TestExplanationsAreSentences(t *testing.T) {
	explanations, err := Explanations(loaded(t))
	require.NoError(t, err)
	for i, explanation := range explanations {
		assert.Regexp(t, `^[A-Z`+"`"+`].*\.$`, explanation.Means, "%s: means", explanation.Reason)
		assert.Regexp(t, `^([A-Z`+"`"+`].*\.)?$`, explanation.Cure, "%s: cure", explanation.Reason)
		if i > 0 {
			assert.Greater(t, explanation.Reason, explanations[i-1].Reason, "%s is sorted, each reason once", ReasonsFile)
		}
	}
}

// TestWhoHasToActIsTold keeps a cure at every reason of failures that only a person ends.
func TestWhoHasToActIsTold(t *testing.T) {
	explanations, err := Explanations(loaded(t))
	require.NoError(t, err)
	told := map[string]Explanation{}
	for _, explanation := range explanations {
		told[explanation.Reason] = explanation
	}
	for _, reason := range reasonsOf(t) {
		if reason.endsBy() == "a person" && told[reason.Name].Ended == "" {
			assert.NotEmpty(t, told[reason.Name].Cure, "%s stalls, so somebody has to act: say what to do", reason.Name)
		}
	}
}

func TestGeneratedTroubleshooting(t *testing.T) {
	explanations, err := Explanations(loaded(t))
	require.NoError(t, err)
	fresh, err := RenderTroubleshooting(loaded(t), reasonsOf(t), explanations)
	require.NoError(t, err)
	committed, err := os.ReadFile(loaded(t).Path(ReasonsPage))
	require.NoError(t, err)
	assert.True(t, fresh == string(committed), "%s is stale: %s", ReasonsPage, cure)
}

func TestReasonsAreFoundWhereverTheyAreGiven(t *testing.T) {
	const head = `package x
import ("github.com/flux-landscaper/flux-landscaper/deployers/protocol"; "github.com/fluxcd/pkg/runtime/conditions")
`
	for name, c := range map[string]struct {
		code string
		want []Reason
	}{
		"stalled":        {`func f() error { return protocol.Stall("Do", "Alone", "why") }`, []Reason{{Name: "Alone", Ends: []string{"Stall"}}}},
		"several ends":   {`func f() (a, b error) { return protocol.Wait("Do", "Both", ""), protocol.Again("Do", "Both", "") }`, []Reason{{Name: "Both", Ends: []string{"Again", "Wait"}}}},
		"constant":       {`const reasonKept = "Kept"`, []Reason{{Name: "Kept"}}},
		"typed":          {"type Reason string\nconst Lost Reason = \"Gone\"", []Reason{{Name: "Gone"}}},
		"field":          {`var f = protocol.Failure{Kind: protocol.Waiting, Reason: "Given"}`, []Reason{{Name: "Given", Ends: []string{"Wait"}}}},
		"by place":       {"type no struct { reason, text string }\nvar f = &no{\"Placed\", \"some text\"}", []Reason{{Name: "Placed"}}},
		"variable":       {`func f() { reason := "Local"; _ = reason }`, []Reason{{Name: "Local"}}},
		"result":         {`func f() (reason, cure string) { return "Named", "do it" }`, []Reason{{Name: "Named"}}},
		"condition":      {`func f() { conditions.MarkFalse(o, "Ready", "Marked", "why") }`, []Reason{{Name: "Marked"}}},
		"event":          {`func f() { r.Recorder.Event(o, "Normal", "Told", "why") }`, []Reason{{Name: "Told"}}},
		"own function":   {"func tell(o any, reason string) {}\nfunc f() { tell(nil, \"Passed\") }", []Reason{{Name: "Passed"}}},
		"converted":      {`func f() error { return protocol.Stall("Do", protocol.Reason("Bound"), "") }`, []Reason{{Name: "Bound", Ends: []string{"Stall"}}}},
		"a sentence":     {`func f() { reason := "the spec changed"; _ = reason }`, nil},
		"something else": {`func f() { name := "Other"; g("Other"); _ = name }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*File
			for path, code := range map[string]string{
				"deployers/protocol/failure.go": "package protocol\nfunc Stall(operation, reason, f string) error\nfunc Wait(operation, reason, f string) error\nfunc Again(operation, reason, f string) error\n",
				"controllers/x/x.go":            head + c.code,
			} {
				syntax, err := parser.ParseFile(token.NewFileSet(), path, code, parser.SkipObjectResolution)
				require.NoError(t, err)
				all = append(all, &File{Path: path, Syntax: syntax})
			}
			found, err := Reasons(loaded(t), all)
			require.NoError(t, err)
			for i := range c.want {
				c.want[i].Rooms = []string{"controllers/x"}
			}
			assert.Equal(t, c.want, found)
		})
	}
}

func TestAConstantThatStandsForAnotherIsAReason(t *testing.T) {
	var all []*File
	for path, code := range map[string]string{
		"deployers/protocol/status.go": "package protocol\nconst ReasonKept = \"Kept\"\n",
		"controllers/x/x.go":           "package x\nimport \"github.com/flux-landscaper/flux-landscaper/deployers/protocol\"\nconst reasonKept = protocol.ReasonKept\n",
	} {
		syntax, err := parser.ParseFile(token.NewFileSet(), path, code, parser.SkipObjectResolution)
		require.NoError(t, err)
		all = append(all, &File{Path: path, Syntax: syntax})
	}
	found, err := Reasons(loaded(t), all)
	require.NoError(t, err)
	assert.Equal(t, []Reason{{Name: "Kept", Rooms: []string{"controllers/x", "deployers/protocol"}}}, found)
}

// TestPagesNameReasonsThatExist keeps the prose of the pages about reasons at what the code says.
func TestPagesNameReasonsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, reason := range reasonsOf(t) {
		known[reason.Name] = true
	}
	named := regexp.MustCompile("reason `([A-Z][A-Za-z]+)`")
	for _, page := range []string{ReasonsPage} {
		content, err := os.ReadFile(loaded(t).Path(page))
		require.NoError(t, err)
		for _, found := range named.FindAllStringSubmatch(string(content), -1) {
			assert.True(t, known[found[1]], "%s names the reason %s, which the code does not have", page, found[1])
		}
	}
}

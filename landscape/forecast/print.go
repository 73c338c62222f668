// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// signs stand before what is added, changed, deleted, kept or not known.
var signs = map[string]string{Added: "+", Changed: "~", Deleted: "-", Kept: "=", Unknown: "?"}

// line is one line of a forecast: how deep it lies, its sign, and its text.
type line struct {
	depth      int
	sign, text string
}

// Lines shows the forecast for a terminal of a width, 0 for any.
func (f *Forecast) Lines(width int, paint landscape.Palette) []string {
	var out []string
	for _, l := range f.lines() {
		indent, colour := strings.Repeat("  ", l.depth), func(text string) string { return text }
		switch l.sign {
		case signs[Added]:
			colour = paint.Green
		case signs[Changed], signs[Unknown]:
			colour = paint.Yellow
		case signs[Deleted], "!":
			colour = paint.Red
		}
		head := indent
		if l.sign != "" {
			head += l.sign + " "
		}
		rows := []string{l.text}
		if width > 0 {
			rows = landscape.Wrap(l.text, max(width-len(head), 20))
		}
		for i, row := range rows {
			if i > 0 {
				head = strings.Repeat(" ", len(head))
			}
			out = append(out, strings.TrimRight(colour(head+landscape.Plain(row)), " "))
		}
	}
	return out
}

// Markdown shows the forecast in a comment of a pull request.
func (f *Forecast) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "### flux landscaper diff: %s\n", f.Summary())
	code := false
	for _, l := range f.lines() {
		if l.depth == 0 {
			if code {
				out.WriteString("```\n")
			}
			fmt.Fprintf(&out, "\n**%s**\n\n```diff\n", escape.Replace(landscape.Plain(l.text)))
			code = true
			continue
		}
		sign := map[string]string{"~": "!", "": " ", "?": "#", "=": " ", "!": "#"}[l.sign]
		if sign == "" {
			sign = l.sign
		}
		text := strings.ReplaceAll(landscape.Plain(l.text), "\n", "\n"+sign+" ")
		fmt.Fprintf(&out, "%s%s %s\n", sign, strings.Repeat("  ", l.depth-1), strings.ReplaceAll(text, "```", "'''"))
	}
	if code {
		out.WriteString("```\n")
	}
	return out.String()
}

// escape takes from a text what Markdown would read, and what would notify people.
var escape = strings.NewReplacer("\n", " ", "*", `\*`, "_", `\_`, "`", "'", "<", "&lt;", "@", "@\u200b", "[", `\[`)

// Summary says in one sentence how much changes.
func (f *Forecast) Summary() string {
	if !f.Differs() {
		return "no job would start, and nothing would change"
	}
	jobs, unknown, refused, count := 0, 0, 0, map[string]int{}
	for i := range f.Installations {
		c := &f.Installations[i]
		if c.Why != "" {
			jobs++
		}
		unknown += len(c.Unknown)
		for _, item := range c.Items {
			unknown += len(item.Unknown)
			for _, object := range item.Objects {
				count[object.What]++
				if object.Refused != "" {
					refused++
				}
			}
		}
	}
	text := fmt.Sprintf("jobs that start: %d; objects on targets added: %d, changed: %d, deleted: %d", jobs, count[Added], count[Changed], count[Deleted])
	if refused > 0 {
		text += fmt.Sprintf("; refused: %d", refused)
	}
	if unknown > 0 {
		text += fmt.Sprintf("; not known: %d", unknown)
	}
	return text
}

// lines shows all of a forecast, Installation by Installation.
func (f *Forecast) lines() []line {
	var out []line
	for i := range f.Installations {
		out = append(out, f.Installations[i].lines()...)
	}
	if len(f.Objects) > 0 {
		out = append(out, line{text: "Other objects of the landscape"})
		for _, object := range f.Objects {
			out = append(out, object.lines(1)...)
		}
	}
	if len(f.Notes)+len(f.Withheld) > 0 {
		out = append(out, line{text: "What the comparison leaves out"})
		for _, note := range f.Notes {
			out = append(out, line{1, "?", note})
		}
		for _, kind := range f.Withheld {
			out = append(out, line{1, "?", "you may not list " + kind})
		}
	}
	return out
}

func (c *InstallationChange) lines() []line {
	title := fmt.Sprintf("Installation %s/%s", c.Namespace, c.Name)
	if c.What != "" {
		title += " " + c.What
	}
	switch {
	case c.Why != "":
		title += ": a job starts: " + c.Why
	case c.What != "" && c.What != Deleted:
		title += ": no job starts: " + c.Waits
	}
	out := []line{{text: title}}
	if c.Waits != "" && c.Why != "" {
		out = append(out, line{1, "!", "the job waits: " + c.Waits})
	}
	if c.Fails != "" {
		out = append(out, line{1, "!", "the job fails: " + c.Fails})
	}
	for _, why := range c.Unknown {
		out = append(out, line{1, signs[Unknown], "not known: " + why})
	}
	for _, item := range c.Items {
		out = append(out, line{1, signs[item.What], fmt.Sprintf("DeployItem %s %s", item.Name, item.What)})
		for _, why := range item.Unknown {
			out = append(out, line{2, signs[Unknown], "not known: " + why})
		}
		for _, object := range item.Objects {
			out = append(out, object.lines(2)...)
		}
		out = append(out, fieldLines(2, item.Fields)...)
	}
	for _, export := range c.Exports {
		text := fmt.Sprintf("export %s %s", export.ID, export.What)
		if export.What == Unknown {
			text = "exports that are made during the job are not known"
		}
		if len(export.Consumers) > 0 {
			text += ", flows to " + strings.Join(export.Consumers, ", ")
		}
		out = append(out, line{1, signs[export.What], text})
		out = append(out, fieldLines(2, export.Fields)...)
	}
	return append(out, fieldLines(1, c.Fields)...)
}

func (o ObjectChange) lines(depth int) []line {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	out := []line{{depth, signs[o.What], fmt.Sprintf("%s %s %s", o.Kind, name, o.What)}}
	if o.Refused != "" {
		out = append(out, line{depth + 1, "!", "refused: " + o.Refused})
	}
	return append(out, fieldLines(depth+1, o.Fields)...)
}

func fieldLines(depth int, fields []FieldChange) []line {
	var out []line
	for _, field := range fields {
		switch {
		case field.Before == nil && field.After == nil:
			out = append(out, line{depth, "", field.Path + ": the target has another value"})
		case field.Before == nil:
			out = append(out, line{depth, "", fmt.Sprintf("%s: %s (new)", field.Path, shown(field.After))})
		case field.After == nil:
			out = append(out, line{depth, "", fmt.Sprintf("%s: %s (removed)", field.Path, shown(field.Before))})
		default:
			out = append(out, changeLines(depth, field)...)
		}
	}
	return out
}

// changeLines shows the change of a field, of texts of several lines those that differ.
func changeLines(depth int, field FieldChange) []line {
	before, isText := field.Before.(string)
	after, isStill := field.After.(string)
	if !isText || !isStill || !strings.Contains(before+after, "\n") {
		return []line{{depth, "", fmt.Sprintf("%s: %s → %s", field.Path, shown(field.Before), shown(field.After))}}
	}
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	first := 0
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now, first = old[1:], now[1:], first+1
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	out := []line{{depth, "", fmt.Sprintf("%s, from line %d:", field.Path, first+1)}}
	for _, text := range old {
		out = append(out, line{depth + 1, signs[Deleted], text})
	}
	for _, text := range now {
		out = append(out, line{depth + 1, signs[Added], text})
	}
	return out
}

// shown is a value as JSON.
func shown(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?"
	}
	return strings.TrimSpace(text.String())
}

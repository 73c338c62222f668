// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What a character of a Picture takes, in pixels.
const (
	letterWidth, lineHeight = 8.4, 19
	margin                  = 16
)

var (
	// colours are those of marks, of the prompt and of titles.
	colours = []struct {
		mark   *regexp.Regexp
		colour string
	}{
		{regexp.MustCompile(`[✔✓]`), "#3fb950"},
		{regexp.MustCompile(`✗`), "#f85149"},
		{regexp.MustCompile(`[⚠►]`), "#d29922"},
		{regexp.MustCompile(`^\$|^[A-Z]+( +[A-Z]+)+$`), "#8b949e"},
	}
	drawnLine = regexp.MustCompile(`(?m)^<text .*?>(.*)</text>$`)
	drawnMark = regexp.MustCompile(`</?tspan[^>]*>`)
)

// Picture draws what a terminal shows, as an SVG with one text for each line.
func Picture(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	letters := 0
	for _, line := range lines {
		letters = max(letters, utf8.RuneCountInString(line))
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" fill="#e6edf3" `+
		`font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">`+"\n"+
		`<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n", int(float64(letters)*letterWidth)+2*margin, len(lines)*lineHeight+2*margin)
	for i, line := range lines {
		shown := html.EscapeString(line)
		for _, each := range colours {
			shown = each.mark.ReplaceAllString(shown, `<tspan fill="`+each.colour+`">$0</tspan>`)
		}
		fmt.Fprintf(&svg, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", margin, margin+(i+1)*lineHeight-5, shown)
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

// Drawn is the text of a Picture.
func Drawn(svg string) string {
	var text strings.Builder
	for _, line := range drawnLine.FindAllStringSubmatch(svg, -1) {
		text.WriteString(html.UnescapeString(drawnMark.ReplaceAllString(line[1], "")) + "\n")
	}
	return text.String()
}

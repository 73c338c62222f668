// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is text in columns.
type Table struct {
	Columns []Column
	Rows    []Row
}

// Column is one column of a table. A column that is empty in all rows is left out.
type Column struct {
	Title string
	// Drop says which columns go first where they do not fit: those with the highest number. 0 stays.
	Drop int
	// Right aligns to the right.
	Right bool
	// Wraps lets the column have what the others leave, with long text on several lines. Where that is too little, or the text is very long, it
	// stands below its row, over the whole width.
	Wraps bool
	// Painted has the colour of the health of the row.
	Painted bool
	// Quiet columns go before all others where they say False in every row.
	Quiet bool
}

// Row is one row of a table.
type Row struct {
	Cells []string
	// Indent stands before the first cell, and Below before its further lines.
	Indent, Below string
	Health        Health
	// Minor text in the column that wraps is left out where it would stand below the row.
	Minor bool
}

const (
	gap = "  "
	// leastWrap is how wide the column that wraps wants to be, before others are dropped for it.
	leastWrap = 28
	// leastFirst is how narrow the first column may become.
	leastFirst = 30
	// mostLines is how many lines text in the column that wraps may have beside the other cells.
	mostLines = 3
	titleCode = "2" // dim
)

// Lines returns the table with its titles. Width is that of the terminal; 0 is none, and each row is one line of any length then.
func (t *Table) Lines(width int, paint Palette) []string {
	return slices.Concat(t.Blocks(width, paint)...)
}

// Blocks returns the lines of the titles, and then those of each row.
func (t *Table) Blocks(width int, paint Palette) [][]string {
	columns, widths := t.fit(width)
	titles := Row{Cells: make([]string, len(t.Columns)), Minor: true}
	for _, at := range columns {
		titles.Cells[at] = t.Columns[at].Title
	}
	var blocks [][]string
	for i, row := range append([]Row{titles}, t.Rows...) {
		code := map[Health]string{Well: "32", Working: "33", Failing: "31", Held: "33"}[row.Health]
		if i == 0 {
			code = titleCode
		}
		if !paint {
			code = ""
		}
		blocks = append(blocks, t.row(row, columns, widths, width, code))
	}
	return blocks
}

// fit chooses the columns and their widths.
func (t *Table) fit(width int) (columns, widths []int) {
	widths = make([]int, len(t.Columns))
	for at := range t.Columns {
		for _, row := range t.Rows {
			widths[at] = max(widths[at], t.natural(row, at))
		}
		if widths[at] > 0 || at == 0 {
			widths[at] = max(widths[at], length(t.Columns[at].Title))
			columns = append(columns, at)
		}
	}
	if width == 0 {
		return columns, widths
	}
	if wanted(t, columns, widths) > width {
		columns = slices.DeleteFunc(columns, t.isQuiet)
	}
	for wanted(t, columns, widths) > width {
		worst := slices.MaxFunc(columns, func(a, b int) int { return t.Columns[a].Drop - t.Columns[b].Drop })
		if t.Columns[worst].Drop == 0 {
			break
		}
		columns = slices.DeleteFunc(columns, func(at int) bool { return at == worst })
	}
	if over := wanted(t, columns, widths) - width; over > 0 {
		for _, at := range columns {
			if t.Columns[at].Wraps {
				widths[at] = 0 // all of it stands below the rows
			}
		}
		if over = wanted(t, columns, widths) - width; over > 0 {
			widths[0] = max(leastFirst, widths[0]-over)
		}
		return columns, widths
	}
	for _, at := range columns {
		if t.Columns[at].Wraps {
			widths[at] = width - wanted(t, columns, widths) + min(widths[at], leastWrap)
		}
	}
	return columns, widths
}

// isQuiet reports whether a column says False in every row, and may go for that.
func (t *Table) isQuiet(at int) bool {
	return t.Columns[at].Quiet && !slices.ContainsFunc(t.Rows, func(row Row) bool { return row.Cells[at] != "False" && row.Cells[at] != "" })
}

// natural is the width that one cell would like. A first cell that stands alone in its row counts for none.
func (t *Table) natural(row Row, at int) int {
	if at > 0 {
		return longest(row.Cells[at])
	}
	if !slices.ContainsFunc(row.Cells[1:], func(cell string) bool { return cell != "" }) && len(row.Cells) > 1 {
		return 0
	}
	return length(row.Indent + row.Cells[0])
}

func longest(text string) int {
	most := 0
	for line := range strings.SplitSeq(text, "\n") {
		most = max(most, length(line))
	}
	return most
}

// wanted is the width of a row in which the column that wraps has the least.
func wanted(t *Table, columns, widths []int) int {
	sum := len(gap) * (len(columns) - 1)
	for _, at := range columns {
		if t.Columns[at].Wraps {
			sum += min(widths[at], leastWrap)
			continue
		}
		sum += widths[at]
	}
	return sum
}

// row returns the lines of one row. Width 0 makes it one.
func (t *Table) row(row Row, columns, widths []int, width int, code string) []string {
	cells, height := make([][]string, len(t.Columns)), 1
	var under []string
	alone := t.natural(row, 0) == 0
	for _, at := range columns {
		text := strings.TrimRight(row.Cells[at], "\n ")
		switch {
		case width == 0:
			cells[at] = []string{strings.Join(strings.Fields(text), " ")}
		case at == 0 && alone:
			cells[at] = wrapFirst(row, text, width)
		case at == 0:
			cells[at] = wrapFirst(row, text, widths[at])
		case t.Columns[at].Wraps && (widths[at] == 0 || len(Wrap(text, widths[at])) > mostLines):
			if text != "" && !row.Minor {
				under = Wrap(text, width-length(row.Below)-len(gap))
			}
		default:
			cells[at] = Wrap(text, widths[at])
		}
		height = max(height, len(cells[at]))
	}
	lines := make([]string, height)
	for i := range lines {
		var line strings.Builder
		for _, at := range columns {
			cell := ""
			if i < len(cells[at]) {
				cell = cells[at][i]
			}
			line.WriteString(t.cell(row, at, i, cell, widths[at], code) + gap)
		}
		lines[i] = strings.TrimRight(line.String(), " ")
	}
	for _, line := range under {
		lines = append(lines, row.Below+gap+line)
	}
	return lines
}

// wrapFirst wraps the first cell, whose further lines may have more before them.
func wrapFirst(row Row, text string, width int) []string {
	if length(row.Indent)+length(text) <= width {
		return []string{text}
	}
	return Wrap(text, width-max(length(row.Indent), length(row.Below)))
}

// cell pads the line of a cell, and paints it.
func (t *Table) cell(row Row, at, line int, text string, width int, code string) string {
	before := ""
	if at == 0 {
		if before = row.Indent; line > 0 {
			before = row.Below
		}
	}
	padding := strings.Repeat(" ", max(0, width-length(before)-length(text)))
	if t.Columns[at].Painted || code == titleCode {
		text = Palette(code != "").in(code, text)
	}
	if t.Columns[at].Right {
		return padding + before + text
	}
	return before + text + padding
}

// Wrap breaks a text into lines of at most width characters, at spaces where it can. Lines that it has stay lines.
func Wrap(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		runes := []rune(strings.TrimRight(line, " \t\r"))
		for len(runes) > width {
			at := width
			for at > 0 && runes[at] != ' ' {
				at--
			}
			if strings.TrimSpace(string(runes[:at])) == "" {
				at = width
			}
			lines = append(lines, strings.TrimRight(string(runes[:at]), " "))
			runes = []rune(strings.TrimLeft(string(runes[at:]), " "))
		}
		lines = append(lines, string(runes))
	}
	return lines
}

func length(text string) int { return utf8.RuneCountInString(text) }

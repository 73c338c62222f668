// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Limits of what MergeValues takes. Helm's own limits hold for each index alone.
const (
	maxValuesBytes   = 8 << 20
	maxListEntries   = 100_000
	maxNestedIndexes = "30"
)

var (
	listIndex     = regexp.MustCompile(`\[\+?([0-9]+)\]`)
	nestedIndexes = regexp.MustCompile(`(\[[^\]]*\]){` + maxNestedIndexes + `}`)
)

// ValuesSource is one source of values.
type ValuesSource struct {
	// Name says in errors where the content comes from.
	Name string
	// Content is a YAML file with values or, with a Path, a value in the syntax of helm --set.
	Content []byte
	// Path is where the value goes, in the syntax of helm --set.
	Path string
}

// MergeValues merges sources in their order, and values over them, as helm-controller does for valuesFrom. Maps are merged, everything else is
// replaced. Values are not changed. The error names the source and shows nothing of its content.
func MergeValues(sources []ValuesSource, values map[string]any) (map[string]any, error) {
	merged, size := map[string]any{}, 0
	for _, source := range sources {
		size += len(source.Content) + len(source.Path)
		var err error
		switch {
		case size > maxValuesBytes:
			err = fmt.Errorf("all sources of values together exceed %d MiB; leave out what is not needed", maxValuesBytes>>20)
		case source.Path != "":
			err = setValue(merged, source.Path, string(source.Content))
		default:
			var file map[string]any
			if file, err = valuesIn(source.Content); err == nil {
				merged = mergeMaps(merged, file)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source.Name, err)
		}
	}
	return mergeMaps(merged, asHelmReads(values).(map[string]any)), nil
}

// asHelmReads makes a float64 of each whole number, as Helm does when it reads a file of values: charts compare with floats. A number that a float64
// does not hold, or prints with an exponent, stays an int64, as that of helm --set.
func asHelmReads(value any) any {
	switch value := value.(type) {
	case map[string]any:
		read := make(map[string]any, len(value))
		for key, inner := range value {
			read[key] = asHelmReads(inner)
		}
		return read
	case []any:
		read := make([]any, len(value))
		for i, inner := range value {
			read[i] = asHelmReads(inner)
		}
		return read
	case int64:
		if float := float64(value); !strings.Contains(fmt.Sprint(float), "e") {
			return float
		}
	}
	return value
}

// valuesIn reads a YAML file with values.
func valuesIn(content []byte) (map[string]any, error) {
	var values map[string]any
	if err := foreign.Unmarshal(content, &values); errors.Is(err, foreign.ErrTooMuch) {
		return nil, errors.New(foreign.Problem(err))
	} else if err != nil {
		return nil, errors.New("is not a YAML file with keys and values; correct it, or set targetPath")
	}
	return asHelmReads(values).(map[string]any), nil
}

// setValue sets a value at a path. Helm's errors may quote the value, so they are not shown.
func setValue(values map[string]any, path, value string) error {
	expression := path + "=" + value
	if err := affordableIndexes(expression); err != nil {
		return err
	}
	set := strvals.ParseInto
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			expression, set = path+"="+strings.Trim(value, quote), strvals.ParseIntoString
		}
	}
	if set(expression, values) != nil {
		return errors.New("cannot be set at its targetPath; correct the path, or escape what helm --set takes for syntax in the content")
	}
	return nil
}

// affordableIndexes refuses paths that would make long or deep lists of nothing.
func affordableIndexes(expression string) error {
	plain := strings.ReplaceAll(expression, `\`, "") // an escaped digit is a digit
	entries := 0
	for _, match := range listIndex.FindAllStringSubmatch(plain, -1) {
		index, err := strconv.Atoi(match[1])
		if err != nil || index > maxListEntries {
			index = maxListEntries
		}
		if entries += index + 1; entries > maxListEntries {
			return fmt.Errorf("makes lists of more than %d entries; use smaller indexes", maxListEntries)
		}
	}
	if nestedIndexes.MatchString(plain) {
		return errors.New("nests lists in " + maxNestedIndexes + " others or more; use a YAML file")
	}
	return nil
}

// mergeMaps returns the content of both; that of over wins.
func mergeMaps(under, over map[string]any) map[string]any {
	merged := make(map[string]any, len(under)+len(over))
	maps.Copy(merged, under)
	for key, value := range over {
		if inner, isMap := value.(map[string]any); isMap {
			if present, isMap := merged[key].(map[string]any); isMap {
				merged[key] = mergeMaps(present, inner)
				continue
			}
		}
		merged[key] = value
	}
	return merged
}

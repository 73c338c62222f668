// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// getter reads a path of a server; the caller closes the body.
type getter func(ctx context.Context, path string) (io.ReadCloser, error)

// samples are the values of one scrape by metric family; a histogram counts as name_sum, name_count and, with the label le, name_bucket.
type samples map[string][]sample

type sample struct {
	labels map[string]string
	value  float64
}

func scrape(ctx context.Context, from getter) (samples, error) {
	body, err := from(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("cannot read metrics: %w", err)
	}
	defer body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return nil, fmt.Errorf("cannot parse metrics: %w", err)
	}
	all := samples{}
	for name, family := range families {
		for _, metric := range family.Metric {
			all.add(name, metric)
		}
	}
	return all, nil
}

func (s samples) add(name string, metric *dto.Metric) {
	labels := map[string]string{}
	for _, pair := range metric.Label {
		labels[pair.GetName()] = pair.GetValue()
	}
	switch {
	case metric.Histogram != nil:
		s[name+"_sum"] = append(s[name+"_sum"], sample{labels, metric.Histogram.GetSampleSum()})
		s[name+"_count"] = append(s[name+"_count"], sample{labels, float64(metric.Histogram.GetSampleCount())})
		s.addBuckets(name, labels, metric.Histogram)
	case metric.Counter != nil:
		s[name] = append(s[name], sample{labels, metric.Counter.GetValue()})
	case metric.Gauge != nil:
		s[name] = append(s[name], sample{labels, metric.Gauge.GetValue()})
	}
}

func (s samples) addBuckets(name string, labels map[string]string, histogram *dto.Histogram) {
	for _, bucket := range histogram.Bucket {
		labels := maps.Clone(labels)
		labels["le"] = strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64)
		s[name+"_bucket"] = append(s[name+"_bucket"], sample{labels, float64(bucket.GetCumulativeCount())})
	}
}

// sum adds the values of a family whose label has a value that begins with prefix; an empty label matches all.
func (s samples) sum(name, label, prefix string) float64 {
	var total float64
	for _, one := range s[name] {
		if label == "" || strings.HasPrefix(one.labels[label], prefix) {
			total += one.value
		}
	}
	return total
}

// by adds the values of a family by the value of a label.
func (s samples) by(name, label string) map[string]float64 {
	totals := map[string]float64{}
	for _, one := range s[name] {
		totals[one.labels[label]] += one.value
	}
	return totals
}

// minus returns the differences that are not zero.
func minus(after, before map[string]float64) map[string]float64 {
	left := maps.Clone(after)
	for key, value := range before {
		left[key] -= value
	}
	maps.DeleteFunc(left, func(_ string, value float64) bool { return value == 0 })
	return left
}

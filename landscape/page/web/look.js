// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// How states look: each has a colour, a shape and a word, so that none depends on colours alone.

import { s } from './dom.js';

/** states are those of nodes, the worst first. */
export const states = ['Failing', 'Drifted', 'Held', 'Working', 'Well'];

/** meanings say what a state means, for tooltips and the legend. */
export const meanings = {
  Failing: 'has failed, also where it is tried again',
  Drifted: 'what is deployed is not as it was deployed',
  Held: 'waits for a person: suspended, ignored, or a change that starts nothing',
  Working: 'a job runs, or goes on by itself',
  Well: 'is as it should be',
};

/** outlines are drawn in a box of 16 by 16, and signs in white on them. */
const outlines = {
  Failing: 'M5 0.5h6L15.5 5v6L11 15.5H5L0.5 11V5z',
  Drifted: 'M8 0L16 8L8 16L0 8z',
  Held: 'M1 1h14v14h-14z',
  Working: 'M8 0.5A7.5 7.5 0 1 1 8 15.5A7.5 7.5 0 1 1 8 0.5z',
  Well: 'M8 0.5A7.5 7.5 0 1 1 8 15.5A7.5 7.5 0 1 1 8 0.5z',
};
const signs = {
  Failing: 'M5 5l6 6M11 5l-6 6',
  Drifted: 'M8 3.8v5M8 11v1.4',
  Held: 'M5.8 4.5v7M10.2 4.5v7',
  Working: 'M6.3 4.6l5 3.4l-5 3.4z',
  Well: 'M4.3 8.3l2.6 2.6l4.9 -5.4',
};

/** shape is the sign of a state inside of a drawing. */
export function shape(state) {
  return s('g', { class: `shape ${state}` }, s('path', { class: 'outline', d: outlines[state] ?? outlines.Held }), s('path', { class: 'sign', d: signs[state] ?? signs.Held }));
}

/** icon is the sign of a state beside a text, which has to say the state, too. */
export function icon(state) {
  return s('svg', { class: 'icon', viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true', focusable: 'false' }, shape(state));
}

/** describe says in words how a node is: its state, where it is, and what is special about it. */
export function describe(node) {
  const { status } = node;
  const flags = [status.suspended && 'suspended', status.drifted && 'drifted', status.pending && 'pending'].filter(Boolean);
  return [node.word || node.state, ...flags].join(', ');
}

/** took says how long something took. Durations come as Go writes them. */
export function took(text) {
  const parts = [...(text ?? '').matchAll(/([\d.]+)(h|ms|m|µs|ns|s)/g)];
  const seconds = parts.reduce((sum, [, number, unit]) => sum + Number(number) * ({ h: 3600, m: 60, s: 1, ms: 1e-3 }[unit] ?? 0), 0);
  return seconds > 0 ? span(seconds) : '';
}

/** span says a number of seconds. */
export function span(seconds) {
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** ago says for how long something has been. */
export function ago(time) {
  return time ? span(Math.max(0, (Date.now() - Date.parse(time)) / 1000)) : '';
}

/** revision shortens what was applied to what a person compares: branch or version, and the beginning of the digest. */
export function revision(text) {
  return (text ?? '').replace(/@(sha1|sha256):([0-9a-f]{7})[0-9a-f]*/, '@$2');
}

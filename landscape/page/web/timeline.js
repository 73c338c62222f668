// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// The timeline of a job: who waited, who worked, and who everybody waited for in the end.

import { h } from './dom.js';
import { keyOf } from './landscape.js';
import { icon, span } from './look.js';

/** timeline shows the parts of a job. Select is called with the key of an Installation. */
export function timeline(job, landscape, select) {
  const now = Date.now();
  const times = job.spans.map(({ began, worked, ended }) => ({ began: Date.parse(began), worked: Date.parse(worked ?? began), ended: ended ? Date.parse(ended) : now }));
  const [first, last] = [Math.min(...times.map(({ began }) => began)), Math.max(...times.map(({ ended }) => ended))];
  const whole = Math.max(1000, last - first);
  const running = job.spans.some(({ ended }) => !ended);
  const rows = job.spans.map((part, i) => {
    const { began, worked, ended } = times[i];
    const length = span((ended - began) / 1000);
    const key = keyOf(part);
    const name = landscape.nodes.has(key) ? h('button', { class: 'link', onclick: () => select(key) }, part.title) : part.title;
    const words = [part.word, part.ended ? `took ${length}` : `runs for ${length}`, worked - began >= 1000 && `waited ${span((worked - began) / 1000)}`, part.critical && 'on the critical path'];
    const label = h('span', { class: 'name' }, icon(part.state), ' ', name, part.critical && h('b', { class: 'critical', title: 'on the critical path: the job would have ended earlier had this' }, ' ◆'));
    label.style.paddingLeft = `${part.depth * 14}px`;
    return h('li', { class: part.critical ? 'critical' : '' }, label,
      h('span', { class: 'track', title: words.filter(Boolean).join(', ') },
        bar('wait', began - first, worked - began, whole), bar(`work ${part.state} ${part.ended ? '' : 'running'}`, worked - first, ended - worked, whole)),
      h('span', { class: 'length' }, length, h('span', { class: 'unseen' }, ` ${words.filter(Boolean).join(', ')}`)));
  });
  return [
    h('p', { class: 'quiet' }, `${new Date(first).toLocaleString()}, ${running ? `runs for ${span(whole / 1000)}` : `took ${span(whole / 1000)}`}. `,
      h('b', { class: 'critical' }, '◆'), ' is the critical path, pale is waiting.'),
    h('ol', { class: 'timeline' }, rows),
  ];
}

function bar(kind, from, length, whole) {
  const element = h('span', { class: `bar ${kind}` });
  element.style.left = `${(100 * from) / whole}%`;
  element.style.width = `${(100 * Math.max(0, length)) / whole}%`;
  return element;
}

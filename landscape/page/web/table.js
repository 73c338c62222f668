// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// The table: the same landscape for people who read, search and sort, and for those who see no graph.

import { h, swap } from './dom.js';
import { isOther } from './landscape.js';
import { ago, describe, icon, revision, states, took } from './look.js';

const columns = [
  { title: 'State', of: (node) => states.indexOf(node.state), cell: (node) => [icon(node.state), ' ', describe(node)] },
  { title: 'Name', of: (node) => node.path, cell: (node) => h('button', { class: 'link' }, node.path) },
  { title: 'Kind', of: (node) => node.kind, cell: (node) => node.kind },
  { title: 'Namespace', of: (node) => node.namespace ?? '', cell: (node) => node.namespace ?? '' },
  { title: 'Revision', of: (node) => node.status.revision ?? '', cell: (node) => revision(node.status.revision) },
  { title: 'Took', of: (node) => parseFloat(node.status.took) || 0, cell: (node) => took(node.status.took) },
  { title: 'Since', of: (node) => -Date.parse(node.status.since ?? 0), cell: (node) => ago(node.status.since) },
  { title: 'Message', of: (node) => node.status.message ?? '', cell: (node) => h('span', { class: 'message' }, (node.status.drifted && node.status.drift) || node.status.message || '') },
];

export class Table {
  sorted = { column: 0, down: false };
  rows = new Map();

  constructor(element, told) {
    this.element = element;
    this.told = told;
    this.body = h('tbody');
    this.caption = h('caption');
    this.heads = columns.map(({ title }, at) => h('th', { scope: 'col' }, h('button', { onclick: () => this.sort(at) }, title, h('span', { class: 'order', 'aria-hidden': 'true' }))));
    swap(element, h('table', {}, this.caption, h('thead', {}, h('tr', {}, this.heads)), this.body));
  }

  /** show brings the rows to what the landscape holds. */
  show(landscape, look) {
    [this.landscape, this.look] = [landscape, look];
    this.heads.forEach((head, at) => {
      const [order, arrow] = at !== this.sorted.column ? ['none', ''] : this.sorted.down ? ['descending', ' ▼'] : ['ascending', ' ▲'];
      head.setAttribute('aria-sort', order);
      head.querySelector('.order').textContent = arrow;
    });
    const nodes = [...landscape.nodes.values()].filter(look.matches).map((node) => ({
      ...node, path: [...landscape.ancestors(node.key).reverse(), node].map(({ title }) => title).join(' / '),
    }));
    const { of } = columns[this.sorted.column];
    nodes.sort((a, b) => (compare(of(a), of(b)) || compare(isOther(a), isOther(b)) || compare(a.path, b.path)) * (this.sorted.down ? -1 : 1));
    const rows = new Map();
    for (const node of nodes) {
      const text = JSON.stringify([node, look.selected === node.key, ago(node.status.since)]);
      const old = this.rows.get(node.key);
      rows.set(node.key, old?.text === text ? old : { text, element: this.row(node, look.selected === node.key) });
    }
    const focused = this.body.contains(document.activeElement) && document.activeElement.closest('tr').dataset.key;
    this.rows = rows;
    this.place([...rows.values()].map(({ element }) => element));
    if (focused) this.focus(focused); // a row that is made anew or moved has lost the keyboard
    swap(this.caption, `${nodes.length} of ${landscape.nodes.size} objects`);
  }

  /** focus gives the keyboard to a row. */
  focus(key) {
    this.rows.get(key)?.element.querySelector('button').focus({ preventScroll: true });
  }

  /** place puts rows in order, and leaves those alone that stand where they should. */
  place(rows) {
    const keep = new Set(rows);
    for (const row of [...this.body.children]) if (!keep.has(row)) row.remove();
    let at = this.body.firstChild;
    for (const row of rows) {
      if (row === at) at = at.nextSibling;
      else this.body.insertBefore(row, at);
    }
  }

  row(node, chosen) {
    const open = ({ target }) => {
      if (target.closest('button') || getSelection().type !== 'Range') this.told.select(node.key, true); // a text that is marked is to be copied
    };
    return h('tr', { class: `${node.state} ${chosen ? 'selected' : ''}`, 'data-key': node.key, onclick: open }, columns.map(({ title, cell }) => h(title === 'Name' ? 'th' : 'td', { scope: title === 'Name' ? 'row' : undefined, 'data-title': title }, cell(node))));
  }

  sort(column) {
    this.sorted = { column, down: this.sorted.column === column && !this.sorted.down };
    this.show(this.landscape, this.look);
  }
}

function compare(a, b) {
  if (typeof a === 'string') return a.localeCompare(b);
  return a - b;
}

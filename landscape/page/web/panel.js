// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// The panel beside graph and table: all that is known of one object.

import { h, swap } from './dom.js';
import { keyOf } from './landscape.js';
import { ago, describe, icon, revision, took } from './look.js';
import { timeline } from './timeline.js';

export class Panel {
  open = new Set(['why', 'items', 'data', 'job']);

  constructor(element, told) {
    this.element = element;
    this.told = told;
  }

  /** show reads an object anew and shows it; an empty key closes the panel. */
  async show(key, landscape) {
    const other = key !== this.key;
    [this.key, this.landscape] = [key, landscape];
    this.element.hidden = !key;
    if (!key) {
      this.text = '';
      this.element.replaceChildren();
      return;
    }
    const answers = await Promise.all([read('api/object', key), read('api/events', key)]);
    if (key !== this.key) return; // another one was chosen meanwhile
    const text = JSON.stringify(answers) + ago(answers[0].value?.status?.since);
    if (text === this.text) return;
    this.text = text;
    const scrolled = other ? 0 : this.element.scrollTop;
    const focused = other ? null : this.element.contains(document.activeElement) && document.activeElement.textContent;
    this.fill(...answers);
    this.element.scrollTop = scrolled;
    if (focused) [...this.element.querySelectorAll('button, summary, h2')].find((each) => each.textContent === focused)?.focus({ preventScroll: true });
    if (other) this.told.shown();
  }

  focus() {
    this.element.querySelector('h2')?.focus();
  }

  link(key, text) {
    if (!this.landscape.nodes.has(key)) return text ?? this.landscape.name(key);
    const node = this.landscape.nodes.get(key);
    return h('button', { class: 'link', onclick: () => this.told.select(key, true) }, icon(node.state), ' ', text ?? this.landscape.name(key), h('span', { class: 'unseen' }, `, ${describe(node)}`));
  }

  /** section is a part that can be closed, and stays as a person has left it. */
  section(id, title, ...content) {
    if (content.flat(Infinity).filter(Boolean).length === 0) return null;
    return h('details', {
      open: this.open.has(id), ontoggle: (event) => (event.currentTarget.open ? this.open.add(id) : this.open.delete(id)),
    }, h('summary', {}, h('h3', {}, title)), ...content);
  }

  fill({ value: detail, error }, events) {
    const close = h('button', { class: 'close', 'aria-label': 'Close the panel', title: 'Close (Escape)', onclick: () => this.told.select('') }, '×');
    if (error) {
      swap(this.element, h('header', {}, h('h2', { tabindex: -1 }, this.landscape.name(this.key)), close), h('p', { class: 'note' }, error));
      return;
    }
    const { status } = detail;
    const parents = [...this.landscape.ancestors(detail.key)].reverse();
    swap(this.element,
      h('header', {}, h('div', {},
        h('p', { class: 'quiet' }, detail.kind, detail.namespace && ` in ${detail.namespace}`, parents.map(({ key }) => [' › ', this.link(key)])),
        h('h2', { tabindex: -1 }, detail.title)), close),
      h('p', { class: `state ${detail.state}` }, icon(detail.state), h('b', {}, ` ${describe(detail)}`), status.reason && status.reason !== detail.word && ` · ${status.reason}`, status.since && h('span', { class: 'quiet', title: status.since }, ` for ${ago(status.since)}`)),
      status.message && h(status.health === 'Well' ? 'p' : 'pre', { class: 'message' }, status.message),
      status.drift && h('pre', { class: 'message' }, status.drift),
      this.why(detail.why, detail),
      this.facts(detail),
      this.section('items', `Deploy items (${detail.deployItems?.length ?? 0})`, (detail.deployItems ?? []).map((item) => this.item(item))),
      this.section('children', `Sub-installations (${this.children(detail.key).length})`, list(this.children(detail.key).map(({ key }) => this.link(key)))),
      this.section('applies', `Applies (${detail.applies?.length ?? 0})`, detail.applies && list(detail.applies.map((key) => this.link(key)))),
      this.section('data', 'Data', this.flows(detail)),
      detail.job?.spans?.length > 0 && this.section('job', 'Last job', timeline(detail.job, this.landscape, (key) => this.told.select(key, true))),
      this.section('history', 'History', this.history(detail)),
      this.section('events', 'Events', this.events(events)));
  }

  children(key) {
    return this.landscape.children.get(key) ?? [];
  }

  /** why is the chain to the cause, and what to do; nothing where an object is well or is the cause itself and nothing is known of it. */
  why({ chain, means, cure, git, sources = [], heldUp, trigger }, detail) {
    if (detail.state === 'Well') {
      return trigger ? h('p', { class: 'quiet' }, `The last job was started by ${trigger}.`) : null;
    }
    const links = chain.map((link, i) => {
      const { health, drifted, reason, message } = link.status;
      const state = health === 'Well' && drifted ? 'Drifted' : health;
      const [key, title] = [keyOf(link), `${link.kind} ${this.landscape.mixed && link.namespace ? `${link.namespace}/` : ''}${link.name}`];
      return h('li', { class: state },
        i > 0 && h('span', { class: 'quiet' }, `${chain[i - 1].leads || 'then'} `),
        i > 0 && this.landscape.nodes.has(key) ? this.link(key, title) : [icon(state), ' ', i === 0 ? h('b', {}, title) : title],
        health !== 'Well' && reason && ` · ${reason}`,
        i > 0 && health !== 'Well' && message && message !== chain[i + 1]?.status.message && h('pre', { class: 'message' }, message),
        (link.notes ?? []).filter((note) => note !== detail.status.drift).map((note) => h('p', {}, note)));
    });
    const known = [pair('Means', means), pair('To do', cure && h('strong', {}, cure)), pair('Where', git), pair('Source', sources.map((source) => h('div', {}, source))), pair('Held up', heldUp?.join(', ')), pair('Started by', trigger)].filter(Boolean);
    return this.section('why', 'Why', (chain.length > 1 || chain[0].notes) && h('ol', { class: 'chain' }, links), known.length > 0 && h('dl', {}, known));
  }

  facts({ status, created, kustomization, clusters }) {
    const node = this.landscape.nodes.get(this.key);
    return h('dl', { class: 'facts' },
      pair('Revision', status.revision), pair('Last job', took(status.took)), pair('Jobs', status.runs),
      pair('Deploys to', (clusters ?? node?.clusters ?? []).map((key, i) => [i > 0 && ', ', this.link(key, `${key.split('/')[0]} ${this.landscape.name(key)}`)])),
      pair('Applied by', kustomization && this.link(kustomization, kustomization.replace('/', ' '))), pair('Age', ago(created)));
  }

  item(item) {
    const deployed = item.deployed ?? [];
    const note = (item.status.drifted && item.status.drift) || (item.state !== 'Well' && item.status.message);
    return h('details', { class: `item ${item.state}`, open: this.open.has(`item ${item.name}`), ontoggle: (event) => this.open[event.currentTarget.open ? 'add' : 'delete'](`item ${item.name}`) },
      h('summary', {}, icon(item.state), ' ', h('b', {}, item.name), h('span', { class: 'quiet' }, ` ${item.type}${item.target ? ` → ${item.target}` : ''} · ${describe(item)}`)),
      note && h('pre', { class: 'message' }, note),
      h('dl', { class: 'facts' }, pair('Revision', item.status.revision), pair('Took', took(item.status.took)), pair('After', item.dependsOn?.join(', ')), pair('Deployer', item.deployer)),
      deployed.length === 0 ? h('p', { class: 'quiet' }, 'Nothing is recorded as deployed.')
        : h('ul', { class: 'deployed' }, deployed.map(({ kind, namespace, name, revision }) => h('li', {}, h('span', { class: 'kind' }, kind), ' ', namespace ? `${namespace}/${name}` : name, revision > 0 && ` revision ${revision}`))));
  }

  flows({ imports = [], exports = [] }) {
    return [
      imports.length > 0 && h('h4', {}, 'Imports'),
      imports.length > 0 && list(imports.map(({ name, kind, object, from, missing }) => [
        h('b', {}, name), h('span', { class: 'quiet' }, ` ${kind} ${object} `), from && ['from ', this.link(from)], missing && h('strong', { class: 'Failing' }, ' does not exist'),
      ])),
      exports.length > 0 && h('h4', {}, 'Exports'),
      exports.length > 0 && list(exports.map(({ name, kind, object, to = [] }) => [
        h('b', {}, name), h('span', { class: 'quiet' }, ` ${kind} ${object} `), to.length > 0 ? ['to ', to.map((key, i) => [i > 0 && ', ', this.link(key)])] : h('span', { class: 'quiet' }, 'to nobody'),
      ])),
    ];
  }

  history({ history = [] }) {
    return history.length > 0 && h('table', {}, h('thead', {}, h('tr', {}, ['Revision', 'Ended', 'Took', 'Jobs', 'Last'].map((title) => h('th', { scope: 'col' }, title)))),
      h('tbody', {}, history.map((run) => h('tr', {}, h('td', {}, run.revision || 'the spec'), h('td', {}, run.status), h('td', {}, took(run.took)), h('td', {}, run.runs), h('td', { title: run.last }, `${ago(run.last)} ago`)))));
  }

  events({ value: events = [], error }) {
    if (error) return h('p', { class: 'note' }, error);
    return events.length > 0 && h('ul', { class: 'events' }, events.map((event) => h('li', { class: event.warning ? 'Failing' : '' },
      event.warning ? h('b', {}, '⚠ ') : null, h('span', { class: 'quiet', title: event.seen }, `${ago(event.seen)} ago · ${event.kind} ${event.name} · ${event.reason}${event.count > 1 ? ` · ${event.count}×` : ''}`), h('div', {}, event.message))));
  }
}

async function read(path, key) {
  try {
    const answer = await fetch(`${path}?key=${encodeURIComponent(key)}`);
    return answer.ok ? { value: await answer.json() } : { error: await answer.text() };
  } catch {
    return { error: 'The server does not answer.' };
  }
}

function pair(title, value) {
  if (value === undefined || value === null || value === '' || value === false || value === 0 || value.length === 0) return null;
  return [h('dt', {}, title), h('dd', {}, value)];
}

function list(items) {
  return items.length > 0 && h('ul', {}, items.map((item) => h('li', {}, item)));
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// The page: what is looked at and how, kept in the fragment of its address, so that a link shows the same.

import { h, swap } from './dom.js';
import { Graph } from './graph.js';
import { groupings, isOther, Landscape, matcher } from './landscape.js';
import { describe, icon, meanings, states } from './look.js';
import { Panel } from './panel.js';
import { Table } from './table.js';

const element = (id) => document.getElementById(id);
const landscape = new Landscape();
const look = { view: 'graph', grouping: 'cluster', query: '', wanted: new Set(), selected: '', unfolded: new Set() };

const graph = new Graph(element('graph'), { select, fold, placed: () => document.body.setAttribute('data-drawn', landscape.about.version) });
const table = new Table(element('table'), { select });
const panel = new Panel(element('panel'), { select, shown: () => focusPanel && panel.focus() });
let focusPanel = false;
let came = null; // what had the keyboard before the panel

/** select chooses a node; go gives the keyboard to the panel. */
function select(key, go = false) {
  focusPanel = go;
  const before = look.selected;
  const active = document.activeElement;
  if (key && !element('panel').contains(active)) came = active === document.body ? null : active;
  look.selected = key;
  for (const above of landscape.ancestors(key)) look.unfolded.add(above.key);
  remember();
  show();
  if (key && key === before && go) panel.focus();
  if (key) graph.reveal(key);
  else if (before) leave(before);
}

/** leave gives the keyboard back to what had it before the panel, or to what stands for it where that is drawn anew or hidden. */
function leave(key) {
  came?.focus({ preventScroll: true });
  if (document.activeElement === came) return;
  const view = look.view === 'graph' ? graph : table;
  view.focus(came?.closest('[data-key]')?.dataset.key ?? key);
}

function fold(key) {
  if (!landscape.children.has(key)) return;
  if (!look.unfolded.delete(key)) look.unfolded.add(key);
  remember();
  show();
}

/** remember writes what is looked at into the address. */
function remember() {
  const fragment = new URLSearchParams();
  if (look.view !== 'graph') fragment.set('view', look.view);
  if (look.grouping !== 'cluster') fragment.set('group', look.grouping);
  if (look.query) fragment.set('q', look.query);
  if (look.wanted.size > 0) fragment.set('state', [...look.wanted].join(','));
  if (look.selected) fragment.set('node', look.selected);
  for (const key of look.unfolded) fragment.append('open', key);
  history.replaceState(null, '', `#${fragment.toString().replaceAll('%2F', '/')}`);
}

/** recall reads what is looked at from the address. */
function recall() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  look.view = fragment.get('view') === 'table' ? 'table' : 'graph';
  look.grouping = Object.hasOwn(groupings, fragment.get('group') ?? '') ? fragment.get('group') : 'cluster';
  look.query = fragment.get('q') ?? '';
  look.wanted = new Set((fragment.get('state') ?? '').split(',').filter((state) => states.includes(state)));
  look.unfolded = new Set(fragment.getAll('open'));
  look.selected = fragment.get('node') ?? '';
  element('search').value = look.query;
  element('grouping').value = look.grouping;
}

/** show brings all of the page to what the landscape and the look are. */
function show() {
  const { about, nodes } = landscape;
  if (about.version === undefined) return;
  look.matches = matcher(look);
  document.body.dataset.view = look.view;
  element('where').textContent = [about.namespace ? `namespace ${about.namespace}` : 'all namespaces', about.cluster].filter(Boolean).join(' · ');
  for (const view of ['graph', 'table']) element(`show-${view}`).setAttribute('aria-pressed', look.view === view);
  showStates();
  showNotes();
  if (look.view === 'graph') graph.show(landscape, { ...look });
  else table.show(landscape, { ...look });
  const installations = [...nodes.values()].filter((node) => !isOther(node));
  const empty = look.view === 'graph' && (installations.length === 0 ? 'There are no Installations here.' : graph.scene.kept.size === 0 && 'Nothing matches the search.');
  element('empty').hidden = !empty;
  element('empty').textContent = empty || '';
  panel.show(look.selected, landscape);
}

function showStates() {
  const count = Object.fromEntries(states.map((state) => [state, 0]));
  for (const node of landscape.nodes.values()) if (look.view === 'table' || !isOther(node)) count[node.state]++; // the graph has only Installations
  states.forEach((state, i) => {
    const button = element('states').children[i];
    button.setAttribute('aria-pressed', look.wanted.has(state));
    button.classList.toggle('none', count[state] === 0);
    button.querySelector('.count').textContent = count[state];
  });
}

/** showNotes says what the graph does not: what else is not well, and what may not be seen. */
function showNotes() {
  const others = [...landscape.nodes.values()].filter((node) => isOther(node) && node.state !== 'Well');
  const withheld = landscape.about.withheld ?? [];
  const text = JSON.stringify([others.map((node) => [node.key, describe(node)]), withheld]);
  if (element('notes').dataset.text === text) return;
  element('notes').dataset.text = text;
  const shown = others.slice(0, 6).map((node) => h('li', {}, h('button', { class: 'link', onclick: () => select(node.key, true) }, icon(node.state), ` ${node.kind} ${landscape.name(node.key)}: ${describe(node)}`)));
  swap(element('notes'),
    others.length > 0 && h('ul', {}, h('li', {}, 'Also not well:'), shown, others.length > 6 && h('li', {}, `and ${others.length - 6} more in the table`)),
    withheld.length > 0 && h('p', {}, `You may not list ${withheld.join(', ')}; they are left out.`));
}

/** listen follows the server. A page that nobody sees does not. */
function listen() {
  let source;
  const live = (words, state) => {
    element('live').textContent = words;
    element('live').className = state;
  };
  const open = () => {
    source = new EventSource('api/changes');
    source.onopen = () => live('live', 'Well');
    source.onerror = ({ target }) => {
      live('connection lost, trying again', 'Failing');
      if (target.readyState === EventSource.CLOSED) setTimeout(() => target === source && document.visibilityState === 'visible' && open(), 5000); // an answer that is no stream, as of a proxy
    };
    source.addEventListener('landscape', ({ data }) => {
      landscape.replace(JSON.parse(data));
      for (const above of landscape.ancestors(look.selected)) look.unfolded.add(above.key);
      if (look.selected && !graph.moved) graph.wish = look.selected;
      show();
    });
    source.addEventListener('changes', ({ data }) => {
      const changes = JSON.parse(data);
      landscape.about.version = changes.version;
      landscape.change(changes);
      show();
    });
  };
  document.addEventListener('visibilitychange', () => {
    source.close();
    if (document.visibilityState === 'visible') open();
  });
  open();
}

function wire() {
  swap(element('states'), states.map((state) => h('button', {
    title: `Show only what ${meanings[state]}`, onclick: () => {
      if (!look.wanted.delete(state)) look.wanted.add(state);
      changed();
    },
  }, icon(state), ` ${state} `, h('span', { class: 'count' }, '0'))));
  const changed = () => {
    graph.moved = false;
    remember();
    show();
  };
  element('search').addEventListener('input', ({ target }) => {
    look.query = target.value;
    changed();
  });
  element('grouping').addEventListener('change', ({ target }) => {
    look.grouping = target.value;
    changed();
  });
  for (const view of ['graph', 'table']) {
    element(`show-${view}`).addEventListener('click', () => {
      look.view = view;
      remember();
      show();
    });
  }
  element('unfold').addEventListener('click', () => {
    const parents = [...landscape.children.keys()];
    look.unfolded = new Set(parents.every((key) => look.unfolded.has(key)) ? [] : parents);
    changed();
  });
  element('zoom-in').addEventListener('click', () => graph.zoom(1.25));
  element('zoom-out').addEventListener('click', () => graph.zoom(0.8));
  element('fit').addEventListener('click', () => graph.fit());
  window.addEventListener('hashchange', () => {
    recall();
    show();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && look.selected) select('');
    if (event.key === '/' && !['INPUT', 'SELECT'].includes(document.activeElement?.tagName)) {
      event.preventDefault();
      element('search').focus();
    }
  });
  setInterval(() => landscape.about.version !== undefined && look.view === 'table' && show(), 30000); // times go on
}

wire();
recall();
listen();

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// The graph: who gives what to whom. Only what is in sight is drawn.

import { fit, s, swap } from './dom.js';
import { scene } from './landscape.js';
import { describe, revision, shape } from './look.js';

/** Bounds of the scale: below small only names are shown, below legible no texts in boxes. */
const [smallest, legible, small, largest] = [0.04, 0.42, 0.75, 2.5];

/** margin is how many pixels around the window are drawn, so that moving it shows no gaps. */
const margin = 160;

/** room is what the names on an edge may take of the gap between boxes, which layout.js makes. */
const room = { width: 84, middle: 46 };

export class Graph {
  view = { x: 0, y: 0, scale: 1 };
  places = { at: {}, routes: {}, width: 0, height: 0 };
  drawn = new Map();
  worker = new Worker('layout.js');
  asked = 0;

  /**
   * @param {SVGSVGElement} svg is where the graph is drawn.
   * @param {{select: (key: string) => void, fold: (key: string) => void, placed: () => void}} told is who hears what a person does.
   */
  constructor(svg, told) {
    this.svg = svg;
    this.told = told;
    this.boxLayer = s('g');
    this.edgeLayer = s('g', { 'aria-hidden': 'true' });
    this.nodeLayer = s('g');
    this.textLayer = s('g', { class: 'texts', 'aria-hidden': 'true' });
    this.world = s('g', {}, this.boxLayer, this.edgeLayer, this.nodeLayer, this.textLayer);
    swap(svg, arrowheads(), this.world);
    this.worker.onmessage = ({ data }) => this.placed(data);
    this.worker.onerror = (event) => console.error(`the layout failed: ${event.message}`);
    this.listen();
    new ResizeObserver(() => this.adjust()).observe(svg);
  }

  /** show takes in the landscape and how it is looked at. Places are looked for anew only where boxes or edges have changed. */
  show(landscape, look) {
    this.landscape = landscape;
    this.look = look;
    this.scene = scene(landscape, look);
    const question = { boxes: this.scene.boxes, edges: this.scene.edges.map(({ from, to }) => ({ from, to })) };
    const asked = JSON.stringify(question);
    if (asked === this.question) {
      this.redraw();
      return;
    }
    const sameBoxes = this.scene.boxes.length > 0;
    this.question = asked;
    this.worker.postMessage({ id: ++this.asked, ...question });
    if (!sameBoxes) this.redraw();
  }

  placed({ id, at, routes, width, height }) {
    if (id !== this.asked) return; // a newer question is on its way
    const anchor = this.anchor;
    const before = anchor && this.places.at[anchor];
    this.places = { at, routes, width, height };
    this.edges = this.scene.edges;
    if (before && at[anchor]) { // what a person has folded stays where it is
      this.view.x += (before.x - at[anchor].x) * this.view.scale;
      this.view.y += (before.y - at[anchor].y) * this.view.scale;
    } else if (!this.moved) {
      this.fit();
      this.adjust();
    }
    this.anchor = null;
    if (this.wish) this.reveal(this.wish);
    this.redraw();
    this.told.placed();
  }

  /** adjust shows the chosen node, or all where none is chosen, until a person moves the window. */
  adjust() {
    if (this.svg.getBoundingClientRect().width === 0) return; // the table is shown
    const key = this.moved ? this.wish : this.look?.selected;
    if (this.places.at[key]) this.reveal(key);
    else if (this.moved) this.redraw();
    else this.fit();
  }

  /** fit shows all. */
  fit() {
    const { width, height } = this.svg.getBoundingClientRect();
    const scale = Math.min(1.1, (width - 48) / Math.max(1, this.places.width), (height - 48) / Math.max(1, this.places.height));
    this.view.scale = Math.max(smallest, scale);
    this.view.x = (width - this.places.width * this.view.scale) / 2;
    this.view.y = Math.max(24, (height - this.places.height * this.view.scale) / 2);
    this.moved = false;
    this.redraw();
  }

  /** reveal moves the window the least way that has a box in sight, and until a person has moved it all boxes where they have room; the box may have no place yet, or the window not be shown. */
  reveal(key) {
    const place = this.places.at[key];
    const { width, height } = this.svg.getBoundingClientRect();
    this.wish = place && width > 0 ? null : key;
    if (this.wish) return;
    const { view, places, moved } = this;
    const [x, y] = middle(place);
    if (view.scale < legible) this.zoom(0.9 / view.scale, [x * view.scale + view.x, y * view.scale + view.y]);
    const shift = (at, from, length, whole, most) => {
      const all = !moved && whole * view.scale <= most - 40;
      const [begin, size] = [at + (all ? 0 : from * view.scale), (all ? whole : length) * view.scale];
      return Math.max(20 - begin, Math.min(0, most - 20 - begin - size));
    };
    view.x += shift(view.x, place.x, place.width, places.width, width);
    view.y += shift(view.y, place.y, place.height, places.height, height);
    this.redraw();
  }

  /** zoom changes the scale around a point of the window, by default its middle. */
  zoom(factor, at) {
    const { width, height } = this.svg.getBoundingClientRect();
    const [px, py] = at ?? [width / 2, height / 2];
    const scale = Math.min(largest, Math.max(smallest, this.view.scale * factor));
    this.view.x = px - ((px - this.view.x) * scale) / this.view.scale;
    this.view.y = py - ((py - this.view.y) * scale) / this.view.scale;
    this.view.scale = scale;
    this.moved = true;
    this.redraw();
  }

  redraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      if (this.landscape) this.draw();
    });
  }

  /** draw brings what is in sight to what it should be, and removes all else. */
  draw() {
    const { x, y, scale } = this.view;
    const { width, height } = this.svg.getBoundingClientRect();
    this.world.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
    this.svg.classList.toggle('far', scale < legible);
    this.terse = scale < small;
    this.svg.classList.toggle('terse', this.terse);
    this.svg.style.setProperty('--scale', scale);
    const window = { left: (-margin - x) / scale, top: (-margin - y) / scale, right: (width + margin - x) / scale, bottom: (height + margin - y) / scale };
    const seen = new Set();
    const put = (id, look, layer, make) => {
      seen.add(id);
      const old = this.drawn.get(id);
      if (old?.look === look) return;
      const element = make();
      const focused = old?.element === document.activeElement;
      if (old) old.element.replaceWith(element);
      else layer.append(element);
      if (focused) element.focus({ preventScroll: true });
      this.drawn.set(id, { look, element });
    };
    const near = this.neighbours();
    this.drawBoxes(window, near, put);
    this.drawEdges(window, put);
    for (const [id, { element }] of this.drawn) {
      if (seen.has(id) || element === document.activeElement) continue;
      element.remove();
      this.drawn.delete(id);
    }
    this.svg.classList.toggle('chosen', near !== null);
  }

  drawBoxes(window, near, put) {
    const first = this.focusKey && this.places.at[this.focusKey] ? this.focusKey : null;
    let reachable = first;
    const visit = (box) => {
      const place = this.places.at[box.key];
      if (!place || !overlaps(place, window)) return;
      const group = box.title !== undefined;
      const node = this.landscape.nodes.get(group ? box.about : box.key);
      if (!group && !node) return;
      reachable ??= group ? null : box.key;
      const open = !group && box.children.length > 0;
      const chosen = this.look.selected === (group ? box.about : box.key);
      const dim = !group && near !== null && !near.has(box.key);
      const look = JSON.stringify([place, node?.title, node?.state, node && describe(node), node?.status.revision, open, chosen, dim, reachable === box.key, this.terse, box.name, this.landscape.children.get(box.key)?.length]);
      if (group) put(`title ${box.key}`, look, this.textLayer, () => this.title(box, place, node));
      put(box.key, look, group || open ? this.boxLayer : this.nodeLayer, () => (group ? this.group(box, place, node, chosen) : this.node(node, place, { name: box.name, open, chosen, dim, reachable: reachable === box.key })));
      for (const child of box.children) visit(child);
    };
    for (const box of this.scene.boxes) visit(box);
  }

  /** group draws the box around roots that belong together. */
  group(box, place, node, chosen) {
    return s('g', { class: `group ${node?.state ?? ''} ${chosen ? 'selected' : ''}`, transform: `translate(${place.x} ${place.y})`, 'data-key': node?.key },
      s('title', {}, node ? `${box.title}: ${describe(node)}` : box.title), s('rect', { width: place.width, height: place.height, rx: 10 }));
  }

  /** title says what a group is, above the edges that cross it. */
  title(box, place, node) {
    const text = node && node.state !== 'Well' ? `${box.title} · ${describe(node)}` : box.title;
    return s('g', { class: `title ${node?.state ?? ''}`, transform: `translate(${place.x + 14} ${place.y + 10})`, 'data-key': node?.key },
      node && s('g', { transform: 'translate(0 1)' }, shape(node.state)), s('text', { x: node ? 24 : 0, y: 14 }, text));
  }

  /** node draws an Installation: a card, or where it is unfolded the box around its sub-installations. */
  node(node, place, { name, open, chosen, dim, reachable }) {
    const children = this.landscape.children.get(node.key) ?? [];
    const words = describe(node);
    const label = `${node.title} in ${node.namespace}, ${words}${children.length > 0 ? `, ${children.length} sub-installations, ${open ? 'unfolded' : 'folded'}` : ''}`;
    const second = [words, revision(node.status.revision)].filter(Boolean).join(' · ');
    const room = place.width - (children.length > 0 ? 94 : 48);
    const terse = this.terse && !open;
    return s('g', {
      class: `node ${node.state} ${open ? 'open' : ''} ${chosen ? 'selected' : ''} ${dim ? 'dim' : ''}`, transform: `translate(${place.x} ${place.y})`,
      tabindex: reachable ? 0 : -1, role: 'button', 'data-key': node.key,
      onfocus: () => { this.focusKey = node.key; }, // on the graph as a whole it would make that a stop of the tab key
    },
    s('title', {}, label),
    s('rect', { class: 'card', width: place.width, height: place.height, rx: 7 }),
    s('rect', { class: 'edge', width: 5, height: place.height, rx: 2 }),
    s('g', { class: 'mark', transform: `translate(14 ${terse ? 17 : open ? 9 : 11})` }, shape(node.state)),
    s('text', { class: `name ${terse ? 'large' : ''}`, 'aria-hidden': 'true', x: 38, y: terse ? 32 : open ? 22 : 23 }, fit(name, terse ? '600 20px' : '600 13px', room)),
    !open && !terse && s('text', { class: 'words', 'aria-hidden': 'true', x: 14, y: 41 }, fit(second, '12px', place.width - 24)),
    children.length > 0 && s('g', { class: 'fold', 'aria-hidden': 'true', transform: `translate(${place.width - 46} ${terse ? 15 : 8})`, 'data-fold': node.key },
      s('rect', { width: 40, height: 20, rx: 10 }), s('text', { x: 20, y: 14 }, `${open ? '−' : '+'}${children.length}`)));
  }

  /** neighbours are the chosen node with those it gives to or takes from, nothing where none is chosen. */
  neighbours() {
    const { selected } = this.look;
    if (!selected || !this.places.at[selected]) return null;
    const near = new Set([selected, ...this.landscape.ancestors(selected).map(({ key }) => key)]);
    for (const { from, to } of this.scene.edges) {
      if (from === selected) near.add(to);
      if (to === selected) near.add(from);
    }
    const below = (key) => {
      for (const child of this.landscape.children.get(key) ?? []) {
        near.add(child.key);
        below(child.key);
      }
    };
    below(selected);
    return near.size > 1 ? near : null;
  }

  /** labels are where the names on the edges of the chosen node stand, by the index of the edge: none over another. */
  labels() {
    const { selected } = this.look;
    const { edges = [], terse, places } = this;
    const known = this.labelled;
    if (known?.places === places && known.selected === selected && known.terse === terse) return known.at;
    const [at, line] = [new Map(), terse ? 20 : 14];
    edges.forEach((edge, index) => {
      const [from, to] = [places.at[edge.from], places.at[edge.to]];
      if (!selected || ![edge.from, edge.to].includes(selected) || !edge.names?.length || !from || !to) return;
      const path = s('path', { d: curve(this.points(index, from, to)) });
      const length = path.getTotalLength();
      const along = Math.min(room.middle, length / 2); // beside the other box, where no box is
      const { x, y } = path.getPointAtLength(edge.from === selected ? length - along : along);
      const right = from.x + from.width;
      const gap = edge.from === selected ? to.x - room.middle : right + room.middle;
      const label = { x: to.x > right ? gap : x, y: y - 5 };
      while ([...at.values()].some((other) => Math.abs(other.x - label.x) < room.width && Math.abs(other.y - label.y) < line)) label.y += line;
      at.set(index, label);
    });
    this.labelled = { places, selected, terse, at };
    return at;
  }

  points(index, from, to) {
    const route = this.places.routes[index];
    return route ? routed(route, from, to) : direct(from, to);
  }

  drawEdges(window, put) {
    const { selected } = this.look;
    const labels = this.labels();
    (this.edges ?? []).forEach((edge, index) => {
      const [from, to] = [this.places.at[edge.from], this.places.at[edge.to]];
      if (!from || !to) return;
      const points = this.points(index, from, to);
      if (!overlaps(around(points), window)) return;
      const chosen = selected && (edge.from === selected || edge.to === selected);
      const id = `edge ${edge.from} ${edge.to} ${edge.kind}`;
      const look = JSON.stringify([points, edge, chosen, this.terse]);
      const names = (edge.names ?? []).join(', ');
      const label = labels.get(index);
      if (label) {
        put(`names ${id}`, look + JSON.stringify(label), this.textLayer, () => s('text', { class: 'names', ...label }, s('title', {}, names), fit(names, this.terse ? '18px' : '12px', room.width)));
      }
      put(id, look, this.edgeLayer, () => s('g', { class: `flow ${edge.kind} ${edge.missing ? 'missing' : ''} ${chosen ? 'chosen' : ''}` },
          s('title', {}, `${edge.kind}${names && `: ${names}`}${edge.missing ? ', which does not exist yet' : ''}`),
          s('path', { class: 'wide', d: curve(points) }),
          s('path', { class: 'line', d: curve(points), 'marker-end': `url(#arrow-${edge.missing ? 'missing' : edge.kind})` })));
    });
  }

  /** focus gives the keyboard to a box. */
  focus(key) {
    this.focusKey = key;
    this.reveal(key);
    this.draw();
    this.drawn.get(key)?.element.focus({ preventScroll: true });
  }

  listen() {
    const { svg } = this;
    const pointers = new Map();
    let dragged = 0;
    svg.addEventListener('wheel', (event) => {
      event.preventDefault();
      const { left, top } = svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), [event.clientX - left, event.clientY - top]);
    }, { passive: false });
    svg.addEventListener('pointerdown', (event) => {
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      dragged = 0;
    });
    window.addEventListener('pointermove', (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
      const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      dragged += Math.abs(dx) + Math.abs(dy);
      if (other) {
        const { left, top } = svg.getBoundingClientRect();
        const apart = ([x, y]) => Math.hypot(x - other[0], y - other[1]);
        this.zoom(apart([event.clientX, event.clientY]) / Math.max(1, apart(before)), [(event.clientX + other[0]) / 2 - left, (event.clientY + other[1]) / 2 - top]);
        return;
      }
      if (dragged < 4) return;
      this.view.x += dx;
      this.view.y += dy;
      this.moved = true;
      svg.classList.add('moving');
      this.redraw();
    });
    for (const end of ['pointerup', 'pointercancel']) {
      window.addEventListener(end, (event) => {
        pointers.delete(event.pointerId);
        svg.classList.remove('moving');
      });
    }
    svg.addEventListener('click', (event) => {
      if (dragged >= 4) return;
      const fold = event.target.closest('[data-fold]')?.dataset.fold;
      const key = event.target.closest('[data-key]')?.dataset.key;
      if (fold) this.fold(fold);
      else this.told.select(key ?? '');
      if (key) this.focusKey = key;
    });
    svg.addEventListener('keydown', (event) => this.key(event));
  }

  fold(key) {
    this.anchor = key;
    this.focusKey = key;
    this.told.fold(key);
  }

  key(event) {
    const key = event.target.closest('[data-key]')?.dataset.key;
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const acts = { '+': () => this.zoom(1.25), '=': () => this.zoom(1.25), '-': () => this.zoom(0.8), 0: () => this.fit() };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (acts[event.key]) acts[event.key]();
    else if (key && moves[event.key]) this.step(key, moves[event.key]);
    else if (key && event.key === 'Enter') this.told.select(key, true);
    else if (key && event.key === ' ') this.fold(key);
    else return;
    event.preventDefault();
  }

  /** step gives the keyboard to the nearest box in a direction, to the left to one that gives and to the right to one that takes where there is such. */
  step(key, [dx, dy]) {
    const here = middle(this.places.at[key]);
    const ends = dx < 0 ? ['to', 'from'] : ['from', 'to'];
    const linked = dx === 0 ? [] : this.edges.filter((edge) => edge[ends[0]] === key && this.places.at[edge[ends[1]]]).map((edge) => edge[ends[1]]);
    let [best, least] = [null, Infinity];
    for (const [other, place] of Object.entries(this.places.at)) {
      if (other === key || other.startsWith('group ') || (linked.length > 0 && !linked.includes(other))) continue;
      const [x, y] = middle(place);
      const [along, aside] = [(x - here[0]) * dx + (y - here[1]) * dy, Math.abs((x - here[0]) * dy) + Math.abs((y - here[1]) * dx)];
      const far = Math.abs(along) + 2.5 * aside;
      if ((along > 4 || linked.length > 0) && far < least) [best, least] = [other, far];
    }
    if (best) this.focus(best);
  }
}

function arrowheads() {
  const head = (kind) => s('marker', { id: `arrow-${kind}`, class: `arrow ${kind}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto' },
    s('path', { d: 'M0 0.5L8 4L0 7.5z' }));
  return s('defs', {}, ['data', 'target', 'order', 'missing'].map(head));
}

function middle({ x, y, width }) {
  return [x + Math.min(width, 212) / 2, y + 24];
}

function overlaps(place, { left, top, right, bottom }) {
  return place.x < right && place.x + place.width > left && place.y < bottom && place.y + place.height > top;
}

function around(points) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x + 1, height: Math.max(...ys) - y + 1 };
}

/** routed lets a route of the layout begin and end in the middle of the sides. */
function routed(points, from, to) {
  const inner = points.slice(1, -1);
  return [[from.x + from.width, from.y + from.height / 2], ...inner, [to.x, to.y + to.height / 2]];
}

/** direct leads from a box to one of another group: from side to side, or where that is not to its right, from above or below. */
function direct(from, to) {
  const below = to.y > from.y + from.height;
  if (to.x < from.x + from.width && (below || to.y + to.height < from.y)) {
    const [x1, x2] = [from.x + from.width * 0.6, to.x + to.width * 0.8];
    const [y1, y2] = below ? [from.y + from.height, to.y] : [from.y, to.y + to.height];
    return [[x1, y1], [x1, y1 + (y2 - y1) / 2], [x2, y2 - (y2 - y1) / 2], [x2, y2]];
  }
  const [start, end] = [[from.x + from.width, from.y + from.height / 2], [to.x, to.y + to.height / 2]];
  const bend = Math.max(40, Math.min(160, Math.abs(end[0] - start[0]) / 2));
  return [start, [start[0] + bend, start[1]], [end[0] - bend, end[1]], end];
}

/** curve is a smooth line through the middles between points. */
function curve(points) {
  const text = ([x, y]) => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
  if (points.length === 2) {
    const [[x1, y1], [x2, y2]] = points;
    const half = (x2 - x1) / 2;
    return `M${text([x1, y1])}C${text([x1 + half, y1])} ${text([x2 - half, y2])} ${text([x2, y2])}`;
  }
  if (points.length === 4) return `M${text(points[0])}C${points.slice(1).map(text).join(' ')}`;
  let d = `M${text(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const last = i === points.length - 2;
    const next = last ? points[i + 1] : [(points[i][0] + points[i + 1][0]) / 2, (points[i][1] + points[i + 1][1]) / 2];
    d += `Q${text(points[i])} ${text(next)}`;
  }
  return d;
}

// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

/*! With dagre and graphlib 3.1.3, MIT License, Copyright (c) 2012-2014 Chris Pettitt: see NOTICE. */

// The worker that finds places: dagre orders what is connected, and what is not stands in rows.

import { Graph, layout } from './vendor/dagre/dagre.esm.js';

/** Sizes of boxes, which graph.js draws. */
const size = { width: 212, height: 50, head: 34, pad: 14, gap: 18, rank: 96 };

/** wideness is how much wider than high a window mostly is. */
const wideness = 1.8;

/** manyBoxes is from where on the quicker way to rank is taken: the other one takes seconds for some hundred boxes. */
const manyBoxes = 60;

self.onmessage = ({ data: { id, boxes, edges } }) => {
  const at = {};
  const routes = {};
  const numbered = edges.map((edge, index) => ({ ...edge, index }));
  let whole = place(boxes, numbered, size.gap);
  if (boxes[0]?.key.startsWith('group ')) { // the way of groups that fills a window better
    whole = ['LR', 'TB'].map((way) => place(boxes, numbered, 2 * size.gap, way)).sort((a, b) => strain(a) - strain(b))[0];
  }
  settle(whole, 0, 0, at, routes);
  self.postMessage({ id, at, routes, width: whole.width, height: whole.height });
};

/** strain is how much smaller something gets in a window than it would be in one of its own form. */
function strain({ width, height }) {
  return Math.max(width / wideness, height);
}

/** place puts boxes beside each other, and returns the size of all with the places in it. */
function place(boxes, edges, gap, way = 'LR') {
  const inside = new Map();
  const mark = (box, top) => {
    inside.set(box.key, top);
    for (const child of box.children ?? []) mark(child, top);
  };
  for (const box of boxes) mark(box, box.key);
  const between = new Map();
  const own = new Map(boxes.map((box) => [box.key, []]));
  for (const edge of edges) {
    const [from, to] = [inside.get(edge.from), inside.get(edge.to)];
    if (!from || !to) continue;
    if (from === to) own.get(from).push(edge);
    else if (!between.has(`${from} ${to}`)) between.set(`${from} ${to}`, { from, to, indices: from === edge.from && to === edge.to ? [edge.index] : [] });
    else if (from === edge.from && to === edge.to) between.get(`${from} ${to}`).indices.push(edge.index);
  }
  const sized = new Map();
  for (const box of boxes) {
    const open = box.children?.length > 0;
    const inner = open ? place(box.children, own.get(box.key), size.gap) : null;
    sized.set(box.key, {
      key: box.key, inner,
      width: open ? Math.max(size.width, inner.width + 2 * size.pad) : size.width,
      height: open ? inner.height + size.head + size.pad : size.height,
    });
  }
  return pack(parts([...sized.values()], [...between.values()], gap, way), gap);
}

/** settle moves the places of a box and of those in it to where they are in the whole. */
function settle(block, x, y, at, routes) {
  for (const [index, points] of Object.entries(block.routes)) routes[index] = points.map(([px, py]) => [px + x, py + y]);
  for (const box of block.boxes) {
    at[box.key] = { x: box.x + x, y: box.y + y, width: box.width, height: box.height };
    if (box.inner) settle(box.inner, box.x + x + (box.width - box.inner.width) / 2, box.y + y + size.head, at, routes);
  }
}

/** parts are the boxes that hang together, each with places of its own. */
function parts(boxes, edges, gap, way) {
  const leader = new Map(boxes.map((box) => [box.key, box.key]));
  const find = (key) => {
    while (leader.get(key) !== key) key = leader.get(key);
    return key;
  };
  for (const { from, to } of edges) leader.set(find(from), find(to));
  const together = new Map();
  for (const box of boxes) {
    const key = find(box.key);
    if (!together.has(key)) together.set(key, { boxes: [], edges: [] });
    together.get(key).boxes.push(box);
  }
  for (const edge of edges) together.get(find(edge.from)).edges.push(edge);
  return [...together.values()].map((part) => (part.boxes.length > 1 ? ordered(part, gap, way) : alone(part.boxes[0])));
}

function alone(box) {
  return { width: box.width, height: box.height, boxes: [{ ...box, x: 0, y: 0 }], routes: {} };
}

/** ordered lets dagre find the places of boxes that hang together, from left to right or from top to bottom. */
function ordered({ boxes, edges }, gap, way) {
  const graph = new Graph();
  graph.setGraph({ rankdir: way, nodesep: gap, edgesep: 8, ranksep: size.rank, ranker: boxes.length > manyBoxes ? 'tight-tree' : 'network-simplex' });
  for (const { key, width, height } of boxes) graph.setNode(key, { width, height });
  for (const { from, to } of edges) graph.setEdge(from, to, {});
  layout(graph);
  const routes = {};
  for (const { from, to, indices } of way === 'LR' ? edges : []) {
    for (const index of indices) routes[index] = graph.edge(from, to).points.map(({ x, y }) => [x, y]);
  }
  return {
    width: graph.graph().width, height: graph.graph().height, routes,
    boxes: boxes.map((box) => {
      const { x, y } = graph.node(box.key);
      return { ...box, x: x - box.width / 2, y: y - box.height / 2 };
    }),
  };
}

/** pack puts blocks in rows, the largest first, so that the whole is a little wider than high. */
function pack(blocks, gap) {
  const area = blocks.reduce((sum, block) => sum + (block.width + gap) * (block.height + gap), 0);
  const most = Math.max(Math.sqrt(area * wideness), ...blocks.map((block) => block.width));
  const tidy = [...blocks].sort((a, b) => (a.boxes.length > 1) === (b.boxes.length > 1) ? b.height - a.height : b.boxes.length - a.boxes.length);
  const whole = { width: 0, height: 0, boxes: [], routes: {} };
  let [x, y, row] = [0, 0, 0];
  for (const block of tidy) {
    if (x > 0 && x + block.width > most) {
      y += row + gap;
      [x, row] = [0, 0];
    }
    for (const box of block.boxes) whole.boxes.push({ ...box, x: box.x + x, y: box.y + y });
    for (const [index, points] of Object.entries(block.routes)) whole.routes[index] = points.map(([px, py]) => [px + x, py + y]);
    x += block.width + gap;
    row = Math.max(row, block.height);
    whole.width = Math.max(whole.width, x - gap);
    whole.height = Math.max(whole.height, y + row);
  }
  return whole;
}

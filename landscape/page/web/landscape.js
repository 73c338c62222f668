// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// The landscape as the server tells it, and what of it is shown.

/** Landscape holds nodes and edges, and follows the changes that the server sends. */
export class Landscape {
  nodes = new Map();
  edges = [];
  children = new Map();
  about = {};

  /** replace takes in a whole landscape. */
  replace({ nodes, edges, ...about }) {
    this.about = about;
    this.nodes = new Map(nodes.map((node) => [node.key, node]));
    this.edges = edges;
    this.connect();
  }

  /** change takes in what is new since the version before. */
  change({ nodes = [], removed = [], edges }) {
    for (const node of nodes) this.nodes.set(node.key, node);
    for (const key of removed) this.nodes.delete(key);
    this.edges = edges ?? this.edges;
    this.connect();
  }

  connect() {
    this.children = new Map();
    for (const node of this.nodes.values()) {
      if (!node.parent || !this.nodes.has(node.parent)) continue;
      if (!this.children.has(node.parent)) this.children.set(node.parent, []);
      this.children.get(node.parent).push(node);
    }
  }

  /** ancestors of a node, the nearest first. */
  ancestors(key) {
    const found = [];
    for (let node = this.nodes.get(this.nodes.get(key)?.parent); node && !found.includes(node); node = this.nodes.get(node.parent)) found.push(node);
    return found;
  }

  /** name says which node a key is, for people. */
  name(key) {
    const node = this.nodes.get(key);
    return node ? node.title : key.split('/').pop();
  }
}

/** keyOf returns the key of the node that a link of a chain names. */
export function keyOf({ kind, namespace = '', name }) {
  return `${kind}/${namespace}/${name}`;
}

/** isOther says that a node is none of those in the graph: Kustomizations, sources, Targets and Environments. */
export function isOther(node) {
  return node.kind !== 'Installation';
}

/** matcher returns whether a node is to be shown, by its text and state. A word such as namespace:x or kind:x asks for just that. */
export function matcher({ query, wanted }) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (node) => {
    if (wanted.size > 0 && !wanted.has(node.state)) return false;
    return words.every((word) => {
      const [, field, value] = word.match(/^(namespace|kind|name|reason):(.+)$/) ?? [];
      if (field) return String(field === 'reason' ? node.status.reason ?? '' : node[field] ?? '').toLowerCase().includes(value);
      return [node.kind, node.namespace, node.name, node.title, node.word, node.status.reason, node.status.message, node.status.revision, node.kustomization, ...(node.clusters ?? [])]
        .some((text) => text?.toLowerCase().includes(word));
    });
  };
}

/** groupings are the ways in which roots stand together: for a node the key and the title of its group, or nothing. */
export const groupings = {
  cluster: (node) => {
    const clusters = node.clusters ?? [];
    if (clusters.length === 0) return ['none', 'No target'];
    return [clusters.join(' '), clusters.map((key) => key.split('/')).map(([kind, , name]) => `${kind} ${name}`).join(' and ')];
  },
  namespace: (node) => [`Namespace//${node.namespace}`, `Namespace ${node.namespace}`],
  kustomization: (node) => {
    if (!node.kustomization) return ['none', 'Not applied by Flux'];
    const [, namespace, name] = node.kustomization.split('/');
    return [node.kustomization, `Kustomization ${namespace}/${name}`];
  },
  none: () => null,
};

/**
 * scene returns what the graph shows: boxes in boxes, with edges between those of one box. Unfolded Installations are boxes around their
 * sub-installations, and groups are boxes around roots.
 */
export function scene(landscape, { grouping, unfolded, matches }) {
  const kept = new Set();
  for (const node of landscape.nodes.values()) {
    if (isOther(node) || !matches(node)) continue;
    kept.add(node.key);
    for (const above of landscape.ancestors(node.key)) kept.add(above.key);
  }
  const boxOf = (node) => {
    const children = (landscape.children.get(node.key) ?? []).filter((child) => kept.has(child.key));
    return { key: node.key, children: unfolded.has(node.key) && children.length > 0 ? children.map(boxOf) : [] };
  };
  const groups = new Map();
  for (const key of kept) {
    const node = landscape.nodes.get(key);
    if (node.parent && kept.has(node.parent)) continue;
    const [id, title] = groupings[grouping](node) ?? ['', ''];
    if (!groups.has(id)) groups.set(id, { key: `group ${id}`, title, about: id, children: [] });
    groups.get(id).children.push(boxOf(node));
  }
  const boxes = groups.has('') ? groups.get('').children : [...groups.values()].sort((a, b) => a.title.localeCompare(b.title));
  const edges = landscape.edges.filter((edge) => kept.has(edge.from) && kept.has(edge.to));
  for (const edge of landscape.edges) {
    const [from, to] = [`group ${edge.from}`, `group ${edge.to}`];
    if (edge.kind === 'order' && groups.has(edge.from) && groups.has(edge.to)) edges.push({ ...edge, from, to });
  }
  return { boxes, edges, kept };
}

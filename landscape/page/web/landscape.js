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
    this.mixed = new Set([...this.nodes.values()].map(({ namespace }) => namespace).filter(Boolean)).size > 1;
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

  /** name says which node a key is, for people: with its namespace where there is more than one. */
  name(key) {
    const [, namespace, name] = key.split('/');
    const title = this.nodes.get(key)?.title ?? name;
    return this.mixed && namespace ? `${namespace}/${title}` : title;
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

/** fields are what a word of a search such as kind:x asks for. */
const fields = {
  namespace: (node) => node.namespace, kind: (node) => node.kind, name: (node) => node.name, reason: ({ status }) => status.reason, message: ({ status }) => status.message,
  revision: ({ status }) => status.revision, cluster: (node) => node.clusters?.join(' '), kustomization: (node) => node.kustomization,
};

/** matcher returns whether a node is to be shown, by its state and by words, all of which have to be in its namespace and name, in what is said of it where it is not well, or in the field that a word names. */
export function matcher({ query, wanted }) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (node) => {
    if (wanted.size > 0 && !wanted.has(node.state)) return false;
    return words.every((word) => {
      const [, field, value] = word.match(/^(\w+):(.+)$/) ?? [];
      if (Object.hasOwn(fields, field ?? '')) return (fields[field](node) ?? '').toLowerCase().includes(value);
      const said = node.state === 'Well' ? '' : `${node.status.message ?? ''} ${node.status.drift ?? ''}`; // of what is well all say the same
      return `${node.namespace ?? ''}/${node.name} ${node.title} ${said}`.toLowerCase().includes(word);
    });
  };
}

/** groupings are the ways in which roots stand together: for a node the key and the title of its group, or nothing. */
export const groupings = {
  cluster: (node, landscape) => {
    const clusters = node.clusters ?? [];
    if (clusters.length === 0) return ['none', 'No target'];
    return [clusters.join(' '), clusters.map((key) => `${key.split('/')[0]} ${landscape.name(key)}`).join(' and ')];
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
  const boxOf = (node, name = node.title) => {
    const children = (landscape.children.get(node.key) ?? []).filter((child) => kept.has(child.key));
    return { key: node.key, name, children: unfolded.has(node.key) && children.length > 0 ? children.map((child) => boxOf(child)) : [] };
  };
  const groups = new Map();
  for (const key of kept) {
    const node = landscape.nodes.get(key);
    if (node.parent && kept.has(node.parent)) continue;
    const [id, title] = groupings[grouping](node, landscape) ?? ['', ''];
    if (!groups.has(id)) groups.set(id, { key: `group ${id}`, title, about: id, children: [] });
    groups.get(id).children.push(boxOf(node, title.split(/[ /]/).includes(node.namespace) ? node.title : landscape.name(key))); // no namespace that the group says
  }
  const boxes = groups.has('') ? groups.get('').children : [...groups.values()].sort((a, b) => a.title.localeCompare(b.title));
  const edges = landscape.edges.filter((edge) => kept.has(edge.from) && kept.has(edge.to));
  for (const edge of landscape.edges) {
    const [from, to] = [`group ${edge.from}`, `group ${edge.to}`];
    if (edge.kind === 'order' && groups.has(edge.from) && groups.has(edge.to)) edges.push({ ...edge, from, to });
  }
  return { boxes, edges, kept };
}

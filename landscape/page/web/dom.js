// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Elements of HTML and SVG, made without text that is parsed as either.

const svgSpace = 'http://www.w3.org/2000/svg';

/** h makes an element of HTML. Properties that begin with "on" are listeners; others are attributes, left out where false or undefined. */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** s makes an element of SVG in the same way. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(svgSpace, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== undefined && value !== null) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ''));
  return element;
}

/** swap replaces what is in an element. */
export function swap(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

const measure = document.createElement('canvas').getContext('2d');

/** fit shortens a text to what has room in a width of a font, such as "600 13px". */
export function fit(text, font, width) {
  measure.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  if (measure.measureText(text).width <= width) return text;
  let [least, most] = [0, text.length];
  while (least < most) {
    const half = Math.ceil((least + most) / 2);
    if (measure.measureText(text.slice(0, half) + '…').width <= width) least = half;
    else most = half - 1;
  }
  return text.slice(0, least) + '…';
}

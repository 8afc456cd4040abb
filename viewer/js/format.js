// SPDX-License-Identifier: Apache-2.0
// format.js: numbers and times as people read them. Times are whole nanoseconds; what is exact is shown exact.
'use strict';

const integer = (n) => n.toLocaleString('en-US');

const plural = (n, one, many = `${one}s`) => `${integer(n)} ${n === 1 ? one : many}`;

// Sorted numbers as "0-3,7".
function numberSpans(numbers, comma = ',') {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let j = i;
    while (numbers[j + 1] === numbers[j] + 1) j++;
    parts.push(j > i ? `${numbers[i]}-${numbers[j]}` : String(numbers[i]));
    i = j + 1;
  }
  return parts.join(comma);
}

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// "32 ns", "1.54 µs": four significant digits at most.
function duration(ns) {
  const size = Math.abs(ns);
  for (const [unit, name] of UNITS) {
    if (size >= unit || unit === 1) {
      const value = ns / unit;
      const digits = unit === 1 ? (Number.isInteger(value) ? 0 : 1) : Math.abs(value) >= 100 ? 1
        : Math.abs(value) >= 10 ? 2 : 3;
      return `${trimZeros(value.toFixed(digits))} ${name}`;
    }
  }
  return `${ns} ns`;
}

// A duration that is a BigInt (a sum over warps).
function longDuration(ns) {
  return duration(Number(ns));
}

const trimZeros = (text) => (text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text);

// A time since the trace's start, with as many digits as a step between neighbours needs.
function timeLabel(ns, step) {
  const [unit, name] = UNITS.find(([u]) => Math.max(Math.abs(ns), step) >= u) ?? [1, 'ns'];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / step) - 1e-9)));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

const percent = (share) => `${share >= 0.0995 ? (share * 100).toFixed(0) : (share * 100).toFixed(1)} %`;

function fileSize(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1048576) return `${(bytes / 1024).toFixed(1)} KB`;
  return bytes < 1073741824 ? `${(bytes / 1048576).toFixed(1)} MB` : `${(bytes / 1073741824).toFixed(2)} GB`;
}

// The fewest digits that read back to the same double; of an f32 that was widened, to the same f32.
function floatText(value) {
  if (Number.isFinite(value) && Math.fround(value) === value) {
    for (let digits = 1; digits <= 9; digits++) {
      const text = value.toPrecision(digits);
      if (Math.fround(Number(text)) === value) return String(Number(text));
    }
  }
  return String(value);
}

// Cuts the middle out of a text that is too long: both ends of a mangled name tell something.
function elide(text, limit) {
  if (text.length <= limit) return text;
  if (limit < 4) return text.slice(0, Math.max(0, limit));
  const head = Math.ceil((limit - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (limit - 1 - head))}`;
}

// ---- elements -------------------------------------------------------------------------------------------------------

const byId = (id) => document.getElementById(id);

// element('td', {class: 'n', title: 'x', onclick: f}, 'text', child, …)
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

// A table of the side panel: columns as [title, class] or as ready <th>.
function grid(columns, rows, attributes = {}) {
  const head = columns.map((c) => (c instanceof Node ? c : element('th', { scope: 'col', class: c[1] }, c[0])));
  return element('table', { class: 'grid', ...attributes },
    element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows));
}

const numberCell = (text, exact) => element('td', { class: 'n', title: exact }, text);
const timeCell = (ns, meaning = '') => numberCell(duration(ns), `${integer(ns)} ns${meaning}`);
const plainButton = (text, attributes = {}) => element('button', { class: 'plain', ...attributes }, text);

// A canvas's context, sized to its box in device pixels, in CSS units.
function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d', { alpha: false });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

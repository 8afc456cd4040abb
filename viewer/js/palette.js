// SPDX-License-Identifier: Apache-2.0
// palette.js: which colour a name has. Waiting is warm, working is cool, so that a picture tells at a glance which it is;
// within each family neighbours differ in hue and lightness, also to a colour-blind eye.
'use strict';

const WAIT_PATTERN = /(^|_)(wait|acquire|sync|barrier)/i;

const FAMILY = {
  light: {
    wait: ['#e4572e', '#f2a33a', '#c93a6b', '#f6c667', '#a8481f', '#f08a7b'],
    work: ['#3a7ca5', '#5aa9a4', '#6b6fb5', '#8cc084', '#2f5d8a', '#9a86c4', '#3f8f6b', '#86b3d1', '#57629c',
      '#a9c25d', '#1f7a8c', '#b59ad6'],
    alive: '#d5dae1', other: '#9aa5b1', marker: '#1d2733',
  },
  dark: {
    wait: ['#f26b43', '#f0ab4a', '#e0588a', '#f3cd7c', '#c4623a', '#f49c8e'],
    work: ['#4f9bc9', '#5cbab3', '#8388d6', '#93c98a', '#4478ad', '#a995d6', '#4fae85', '#94c1df', '#717dbd',
      '#b3cc6a', '#2f98ad', '#c2abe0'],
    alive: '#39424e', other: '#6c7885', marker: '#e8edf3',
  },
};

const isWait = (name) => WAIT_PATTERN.test(name);

function hexToRgb(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

const rgbToHex = (rgb) => `#${rgb.map((v) => Math.round(v).toString(16).padStart(2, '0')).join('')}`;
const mix = (a, b, share) => a.map((v, i) => v + (b[i] - v) * share);

// Readable text on a colour.
function inkOn(hex) {
  const [r, g, b] = hexToRgb(hex).map((v) => (v / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? '#10161d' : '#ffffff';
}

class Palette {
  // Names get their colours by the time of their own, so that the busiest ones differ most.
  constructor(trace) {
    this.trace = trace;
    this.slot = new Map(); // name -> [family, index]
    const order = [...trace.classes.keys()].sort((a, b) => trace.categories.own[b] - trace.categories.own[a]);
    const used = { wait: 0, work: 0 };
    for (const cls of order) {
      const { name, kind } = trace.classes[cls];
      if (kind === KINDS.lifetime || kind === KINDS.launch || kind === KINDS.diagnostic
        || this.slot.has(name)) continue;
      const family = isWait(trace.strings[name]) ? 'wait' : 'work';
      this.slot.set(name, [family, used[family]++]);
    }
    this.setTheme('light');
  }

  setTheme(theme) {
    const style = getComputedStyle(document.documentElement);
    this.ui = {};
    for (const key of ['ground', 'panel', 'row', 'row-alt', 'line', 'line-strong', 'ink', 'ink-soft', 'ink-faint',
      'accent', 'group', 'launch', 'select']) {
      this.ui[key] = style.getPropertyValue(`--${key}`).trim();
    }
    const family = FAMILY[theme];
    this.alive = family.alive;
    this.other = family.other;
    this.marker = family.marker;
    const ground = hexToRgb(this.ui.row);
    this.fill = this.trace.classes.map(({ name, kind }) => {
      if (kind === KINDS.lifetime) return family.alive;
      if (kind === KINDS.launch) return this.ui.launch;
      const slot = this.slot.get(name);
      if (!slot) return family.other;
      const colours = family[slot[0]], round = Math.floor(slot[1] / colours.length);
      return round === 0 ? colours[slot[1]]
        : rgbToHex(mix(hexToRgb(colours[slot[1] % colours.length]), ground, 0.18 * (1 + (round - 1) % 3)));
    });
    this.ink = this.fill.map(inkOn);
    this.dim = this.fill.map((hex) => rgbToHex(mix(hexToRgb(hex), ground, 0.8)));
    const { classes, of } = this.trace.categories;
    this.category = classes.map((cls, i) => hexToRgb(cls >= 0 ? this.fill[cls] : i === 0 ? family.alive
      : family.other));
    this.categoryIsWait = classes.map((cls) => cls >= 0 && isWait(this.trace.className(cls)));
    this.categoryOf = of;
    this.groundRgb = ground;
    // A ramp from the ground to a strong colour, for shares.
    const ramp = (strong) => Array.from({ length: 256 },
      (_, i) => mix(ground, hexToRgb(strong), 0.06 + 0.94 * (i / 255) ** 0.85));
    this.busyRamp = ramp(theme === 'light' ? '#17507a' : '#6cc3f5');
    this.waitRamp = ramp(theme === 'light' ? '#c2371a' : '#ff8a5c');
  }
}

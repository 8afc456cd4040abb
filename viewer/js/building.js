// SPDX-License-Identifier: Apache-2.0
// building.js: what is known of a large trace while the server prepares it (`facts` of doc/api.md): how far it is, and an
// overview that grows: launches, names, and an SM by time map of what was read so far.
'use strict';

// What the server does, and from which to which share of the bar.
const PHASES = { decoding: ['decodes it', 0, 1], reading: ['reads it', 0, 0.45], placing: ['sorts it', 0.45, 0.9],
  summing: ['sums it up', 0.9, 1] };
const BUILDING_NAMES = 12, BUILDING_LAUNCHES = 6;

class Building {
  constructor() {
    this.root = byId('building');
  }

  hide() {
    this.root.hidden = true;
    byId('start').classList.remove('wide');
  }

  show({ state, progress = {}, overview = null, ...counts }) {
    const { phase, bytes = 0, total = 0 } = progress, bar = byId('start-progress');
    const [does, from, to] = PHASES[phase] ?? ['is at it', 0, 1];
    const size = total > 1 << 20 ? `: ${fileSize(bytes)} of ${fileSize(total)}` : '';
    byId('start-title').textContent = 'A large trace is prepared';
    byId('start-text').textContent = state === 'waiting' ? 'The server prepares another one first.'
      : `The server ${does}${size}. It does so once: the next time, this page opens at once.`;
    bar.hidden = false;
    if (total > 0) bar.value = from + (to - from) * Math.min(1, bytes / total);
    else bar.removeAttribute('value');
    byId('start').dataset.state = 'loading';
    const ready = overview && (overview.launches?.length > 0 || overview.names?.length > 0);
    this.root.hidden = !ready;
    byId('start').classList.toggle('wide', Boolean(ready));
    if (ready) this.draw(overview, counts);
  }

  draw({ launches = [], names = [], activity = null }, counts) {
    const map = this.map(activity);
    const facts = [plural(counts.launches ?? launches.length, 'launch', 'launches'), plural(counts.warps ?? 0, 'warp'),
      plural(counts.events ?? 0, 'event'), duration(counts.span_ns ?? 0)].join(' · ');
    this.root.replaceChildren(element('p', { class: 'so-far' }, 'Read so far: ', element('b', {}, facts)), ...map,
      element('div', { class: 'halves' }, this.names(names), this.launches(launches, counts.launches ?? launches.length)));
  }

  names(names) {
    const most = Math.max(1, ...names.filter((n) => n.kind !== KINDS.lifetime).map((n) => n.total_ns));
    const order = (n) => (n.kind === KINDS.lifetime ? 2 : isWait(n.name) ? 0 : 1);
    const shown = [...names].sort((a, b) => order(a) - order(b) || b.total_ns - a.total_ns).slice(0, BUILDING_NAMES);
    return grid([['name', ''], ['count', 'n'], ['total', 'n']], shown.map((n) => element('tr',
      { class: n.kind === KINDS.lifetime ? 'quiet' : '' },
      element('td', { class: 'name', title: n.name }, n.name), numberCell(integer(n.count)),
      n.kind === KINDS.marker ? numberCell('') : element('td', { class: 'n bar' },
        n.kind === KINDS.lifetime ? null : element('span', { class: `fill ${isWait(n.name) ? 'wait' : 'work'}`,
          style: { width: `calc((100% - 8px) * ${n.total_ns / most})` } }),
        element('span', { class: 'over' }, duration(n.total_ns))))));
  }

  launches(launches, count) {
    const rows = launches.slice(0, BUILDING_LAUNCHES).map((l) => element('tr', {},
      element('td', {}, l.name.replace(/^launch /, '#')), element('td', { class: 'name', title: l.kernel }, l.kernel),
      numberCell(`+${duration(l.start)}`), numberCell(duration(l.end - l.start))));
    if (count > rows.length) rows.push(element('tr', { class: 'quiet' },
      element('td', { colspan: 4 }, `and ${integer(count - rows.length)} more`)));
    return grid([['launch', ''], ['kernel', ''], ['at', 'n'], ['span', 'n']], rows);
  }

  // A line for each SM: how busy its warps are over time.
  map(activity) {
    if (!activity || activity.sms.length === 0) return [];
    const { sms, bins, from, to, busy } = activity, bytes = Uint8Array.from(atob(busy), (c) => c.charCodeAt(0));
    const canvas = element('canvas', { width: bins, height: sms.length, role: 'img',
      'aria-label': 'SM by time: how busy the warps of each SM are, as far as it was read' });
    const context = canvas.getContext('2d'), image = context.createImageData(bins, sms.length);
    const style = getComputedStyle(document.documentElement);
    const [ground, strong] = ['--row', '--accent'].map((v) => hexToRgb(style.getPropertyValue(v).trim()));
    for (let i = 0; i < bins * sms.length; i++) {
      const share = (bytes[i] ?? 0) / 255;
      image.data.set([...mix(ground, strong, share === 0 ? 0 : 0.15 + 0.85 * share), 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
    const text = (words) => element('span', {}, words), at = (t) => (t > 0 ? `+${duration(t)}` : '0');
    return [element('div', { class: 'map' }, canvas), element('p', { class: 'axis' }, text(at(from)),
      text(`SM ${sms[0]} – ${sms.at(-1)}, busy share`), text(at(to)))];
  }
}

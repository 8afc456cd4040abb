// SPDX-License-Identifier: Apache-2.0
// launches.js: every launch with its span and skews, and the SMs that start or end late in the current one.
'use strict';

const LAUNCH_ROWS = 200;

class LaunchesPanel {
  constructor(app) {
    this.app = app;
    this.current = app.trace.launches[0] ?? null;
    this.root = byId('launches-section');
    this.draw();
  }

  choose(launch, show) {
    this.current = launch;
    this.draw();
    if (!show) return;
    this.app.view.fitTo(launch.start, launch.end);
    this.app.revealNode(launch.node);
  }

  draw() {
    const { trace } = this.app, shown = this.shown();
    const head = element('tr', {}, ...[['launch', ''], ['kernel', ''], ['at', 'n'], ['span', 'n'], ['warps', 'n'],
      ['start skew', 'n'], ['end skew', 'n']]
      .map(([title, cls]) => element('th', { scope: 'col', class: cls }, title)));
    const rows = shown.map((l) => element('tr',
      { class: l === this.current ? 'on' : '', onclick: () => this.choose(l, true) },
      element('td', { title: l.name }, element('button', { class: 'plain' }, l.name.replace(/^launch /, '#'))),
      element('td', { class: 'name', title: l.kernel }, element('span', {}, l.kernel)),
      element('td', { class: 'n', title: `${integer(l.start)} ns after the first event` }, `+${duration(l.start)}`),
      element('td', { class: 'n', title: `${integer(l.end - l.start)} ns` }, duration(l.end - l.start)),
      element('td', { class: 'n' }, integer(l.warps)),
      element('td', { class: 'n', title: `${integer(l.startSkew)} ns between the first and the last SM to start` },
        duration(l.startSkew)),
      element('td', { class: 'n', title: `${integer(l.endSkew)} ns between the first and the last SM to end` },
        duration(l.endSkew))));
    const more = trace.launches.length - shown.length;
    this.root.replaceChildren(
      element('h2', {}, 'Launches',
        element('span', { class: 'scope' }, more > 0
        ? `${integer(shown.length)} of ${integer(trace.launches.length)}, around the current one`
        : integer(trace.launches.length))),
      element('div', { class: 'scroll launches' }, element('table', { class: 'grid' }, element('thead', {}, head),
        element('tbody', {}, ...rows))),
      this.lateSms());
  }

  shown() {
    const { launches } = this.app.trace;
    if (launches.length <= LAUNCH_ROWS) return launches;
    const from = Math.max(0, Math.min(launches.indexOf(this.current) - LAUNCH_ROWS / 2, launches.length - LAUNCH_ROWS));
    return launches.slice(from, from + LAUNCH_ROWS);
  }

  lateSms() {
    const l = this.current;
    if (!l || l.sms.length < 2) return element('div', { class: 'late' });
    const firstStart = Math.min(...l.sms.map((s) => s.start)), lastEnd = Math.max(...l.sms.map((s) => s.end));
    const starts = l.sms.filter((s) => s.start > firstStart).sort((a, b) => b.start - a.start).slice(0, 5),
      ends = [...l.sms].sort((a, b) => b.end - a.end).slice(0, 5);
    const early = l.sms.filter((s) => s.end < lastEnd).sort((a, b) => a.end - b.end).slice(0, 5);
    const line = (title, sms, text, help) => element('p', { title: help }, element('b', {}, title), sms.length > 0
      ? null : 'all at once', ...sms.map((s) =>
      element('button', { class: 'chip', onclick: () => this.app.openSm(s.sm, s.start, l) }, `SM ${s.sm} `,
        element('span', {}, text(s)))));
    return element('div', { class: 'late' },
      line('Late to start', starts, (s) => `+${duration(s.start - firstStart)}`, 'After the first SM of the launch'),
      line('Last to end', ends, (s) => (s.end === lastEnd ? 'last' : `−${duration(lastEnd - s.end)}`),
        'Before the launch ends'),
      line('First to end', early, (s) => `−${duration(lastEnd - s.end)}`,
        'Before the launch ends: these SMs idle that long'));
  }
}

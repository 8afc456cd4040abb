// SPDX-License-Identifier: Apache-2.0
// launches.js: every launch with its span and skews, and the SMs that start or end late in the current one.
'use strict';

const LAUNCH_ROWS = 200; // more are not listed at once
const LAUNCH_COLUMNS = [['launch', ''], ['kernel', ''], ['at', 'n'], ['span', 'n'], ['warps', 'n'], ['start skew', 'n'],
  ['end skew', 'n']];
const LATE_SMS = 5;

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
    const { trace } = this.app, shown = this.shown(), all = integer(trace.launches.length);
    const scope = shown.length < trace.launches.length ? `${integer(shown.length)} of ${all}, around the current one`
      : all;
    this.root.replaceChildren(
      element('h2', {}, 'Launches', element('span', { class: 'scope' }, scope)),
      element('div', { class: 'scroll launches' }, grid(LAUNCH_COLUMNS, shown.map((l) => this.row(l)))),
      this.lateSms());
  }

  row(l) {
    return element('tr', { class: l === this.current ? 'on' : '', onclick: () => this.choose(l, true) },
      element('td', { title: l.name }, plainButton(elide(l.name.replace(/^launch /, '#'), 11))),
      element('td', { class: 'name', title: l.kernel }, l.kernel),
      numberCell(`+${duration(l.start)}`, `${integer(l.start)} ns after the first event`),
      timeCell(l.end - l.start), numberCell(integer(l.warps)),
      timeCell(l.startSkew, ' between the first and the last SM to start'),
      timeCell(l.endSkew, ' between the first and the last SM to end'));
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
    const top = (sms, order) => [...sms].sort(order).slice(0, LATE_SMS);
    const starts = top(l.sms.filter((s) => s.start > firstStart), (a, b) => b.start - a.start);
    const ends = top(l.sms, (a, b) => b.end - a.end);
    const early = top(l.sms.filter((s) => s.end < lastEnd), (a, b) => a.end - b.end);
    const before = (s) => (s.end === lastEnd ? 'last' : `−${duration(lastEnd - s.end)}`);
    return element('div', { class: 'late' },
      this.line('Late to start', starts, (s) => `+${duration(s.start - firstStart)}`,
        'After the first SM of the launch'),
      this.line('Last to end', ends, before, 'Before the launch ends'),
      this.line('First to end', early, before, 'Before the launch ends: these SMs idle that long'));
  }

  line(title, sms, text, help) {
    const chip = (s) => element('button',
      { class: 'chip', onclick: () => this.app.openSm(s.sm, s.start, this.current) },
      `SM ${s.sm} `, element('span', {}, text(s)));
    return element('p', { title: help }, element('b', {}, title),
      ...(sms.length > 0 ? sms.map(chip) : ['all at once']));
  }
}

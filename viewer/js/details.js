// SPDX-License-Identifier: Apache-2.0
// details.js: the tabs below the tables: the selected event, the distribution of a name, its payloads, the diagnostics.
'use strict';

const TABS = [['event', 'Event'], ['distribution', 'Distribution'], ['roles', 'Roles'], ['payload', 'Payload'],
  ['diagnostics', 'Diagnostics']];

class TabsPanel {
  constructor(app) {
    this.app = app;
    this.tab = app.trace.diagnostics.length + app.trace.notes.length > 0 ? 'diagnostics' : 'distribution';
    this.bar = byId('tabs');
    this.body = byId('tab-body');
    this.bar.replaceChildren(...TABS.map(([key, title]) => element('button',
      { role: 'tab', id: `tab-${key}`, 'aria-controls': 'tab-body',
      onclick: () => this.show(key), onkeydown: (e) => this.move(e, key) }, title)));
    this.draw();
  }

  move(e, key) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const next = TABS[(TABS.findIndex(([k]) => k === key) + step + TABS.length) % TABS.length][0];
    this.show(next);
    byId(`tab-${next}`).focus();
  }

  show(key) {
    this.tab = key;
    this.draw();
  }

  draw() {
    const { trace } = this.app, trouble = trace.diagnostics.length + trace.notes.length;
    for (const [key, title] of TABS) {
      const tab = byId(`tab-${key}`);
      tab.setAttribute('aria-selected', String(this.tab === key));
      tab.tabIndex = this.tab === key ? 0 : -1;
      if (key === 'diagnostics') tab.textContent = trouble ? `${title} (${trouble})` : title;
    }
    this.body.setAttribute('aria-labelledby', `tab-${this.tab}`);
    if (this.tab === 'event') this.body.replaceChildren(...this.event());
    else if (this.tab === 'diagnostics') this.body.replaceChildren(...this.diagnostics());
    else if (this.tab === 'roles') this.app.roles.show(this.body);
    else if (this.tab === 'distribution') this.app.plots.distribution(this.body);
    else this.app.plots.payload(this.body);
  }

  event() {
    const { app } = this;
    if (app.selected < 0) return [element('p', { class: 'empty' },
      'Click an event in the timeline: all its fields stand here.')];
    const e = app.selectedEvent;
    if (!e) return [element('p', { class: 'empty' }, 'Asking for its fields…')];
    const name = app.trace.eventName(e), step = (direction, title) => element('button',
      { onclick: () => app.step(direction), title: `${title} ${name} of this warp` },
      direction < 0 ? '← previous' : 'next →');
    return [
      element('div', { class: 'tools' }, step(-1, 'Previous'), step(1, 'Next'),
        element('button', { onclick: () => app.focusName(e.cls) }, 'this name'),
        element('button', { onclick: () => app.revealEvent(e.event) }, 'show')),
      fieldTable(app.trace.fields(e)), ...this.arrows(e)];
  }

  // Where the arrows of an event lead, to go there.
  arrows({ event, start }) {
    const { app } = this, { trace, source } = app;
    const ends = source.arrowsOf(event).slice(0, MAX_ARROWS)
      .map(({ from, to }) => [from === event ? '→' : '←', source.at(from === event ? to : from)]).filter(([, e]) => e);
    if (ends.length === 0) return [];
    const rows = ends.map(([arrow, other]) => {
      const place = trace.place(trace.lanes.node[other.lane]);
      return element('tr', { onclick: () => app.goTo(other.event) },
        element('td', {}, plainButton(`${arrow} ${trace.label(other)}`)),
        numberCell(`${integer(other.start - start)} ns`),
        ...[place.sm, place.cta?.join(', '), place.warp].map((v) => numberCell(String(v ?? ''))));
    });
    return [element('div', { class: 'longest' },
      grid([['arrows', ''], ['starts', 'n'], ['SM', 'n'], ['CTA', 'n'], ['warp', 'n']], rows, { id: 'arrows' }))];
  }

  diagnostics() {
    const { trace } = this.app, out = [];
    for (const d of trace.diagnostics) {
      out.push(element('p', { class: 'diagnostic' }, d.text, d.counter
        ? element('code', {}, `${d.counter} ${integer(d.count)}`) : null));
    }
    for (const note of trace.notes) out.push(element('p', { class: 'diagnostic' }, note));
    if (out.length === 0) out.push(element('p', { class: 'empty' },
      'Nothing was dropped, damaged or left open: every counter of the decoder is 0.'));
    return out;
  }
}

function fieldTable(fields) {
  return element('table', { class: 'fields' }, element('tbody', {}, ...fields.map(([key, value]) =>
    element('tr', {}, element('th', { scope: 'row' }, key), element('td', {}, value)))));
}

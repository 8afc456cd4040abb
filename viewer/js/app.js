// SPDX-License-Identifier: Apache-2.0
// app.js: holds the page's state (view, selection, chosen name, search) and passes every change on.
'use strict';

const SIDE_BY_SIDE = 24; // launches

class App {
  // origin: {name, size, dropped, files, server}
  constructor(tables, source, origin) {
    this.source = source;
    this.trace = new Trace(tables, source);
    this.files = origin.files;
    this.dropped = origin.dropped;
    this.origin = origin;
    this.selected = -1;      // number of an event
    this.selection = null;   // {from, to, sms}: a span of time, of some SMs or (null) of all
    this.focusClass = -1;    // the name chosen in the table
    this.cursorRow = -1;     // node of the keyboard's row
    this.query = resolveQuery(this.trace, '');
    this.dragging = false;
    this.frames = 0;
    this.life = new AbortController(); // ends what listens outside the page's own elements
    this.palette = new Palette(this.trace);
    this.view = new View(this.trace.launches, this.trace.span, () => this.viewChanged());
    this.tip = new Tip(this);
    this.dialogs = new Dialogs();
    this.rows = new Rows(this.trace);
    this.ruler = new Ruler(this);
    this.heat = new Heat(this);
    this.timeline = new Timeline(this);
    this.names = new NamesPanel(this);
    this.plots = new Plots(this);
    this.roles = new RolesPanel(this);
    this.perfetto = new Perfetto(this);
    this.link = new Link(this);
    source.attach(this);
  }

  start() {
    byId('start').hidden = true;
    for (const id of ['main', 'search', 'actions']) byId(id).hidden = false;
    this.setTheme(stored('iket-theme') ?? 'auto');
    this.describe();
    this.launches = new LaunchesPanel(this);
    this.tabs = new TabsPanel(this);
    this.input = new Input(this);
    byId('fold-tool').hidden = !Fold.isWorth(this.trace.launches, this.trace.span);
    this.layout();
    this.resizeSpacer();
    this.firstView();
    if (!this.link.read()) this.cursorRow = this.rows.nodes[0] ?? -1;
    this.statsPending = true;
    this.invalidate();
    requestAnimationFrame(() => this.refreshStats()); // the first frame asks for its pictures before
  }

  // What a person calls the trace. A view that the server made (BASE.iket;sm=5) has a better title.
  get name() { return this.dropped ? this.dropped.name : facts.base.includes('.iket') ? facts.title : facts.base; }

  // The whole trace where its launches fill a good part of it. Far apart, none would be seen: a few stand side by side, of
  // many the longest is shown.
  firstView() {
    const { launches, span } = this.trace, busy = launches.reduce((sum, l) => sum + l.end - l.start, 0);
    if (launches.length === 0 || busy > span * 0.1) return;
    if (launches.length > 1 && launches.length <= SIDE_BY_SIDE) {
      this.foldGaps(true);
      return;
    }
    this.launches.choose(launches.reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a)), true);
  }

  describe() {
    const { counts, device, diagnostics, notes, span } = this.trace;
    byId('trace-name').textContent = this.name;
    byId('trace-facts').replaceChildren(...[device.replace(/^IKET ?/, ''), counts.kernels > 1
      ? plural(counts.kernels, 'kernel') : null, plural(counts.launches, 'launch', 'launches'),
      plural(counts.sms, 'SM'), plural(counts.warps, 'warp'), plural(counts.ranges, 'range'),
        plural(counts.markers, 'marker'), duration(span)]
      .filter(Boolean).map((text) => element('span', {}, text)));
    byId('trace-facts').title = `Starts at ${this.trace.t0} ns of the GPU's global timer`;
    const banner = byId('banner'), lines = [...diagnostics.map((d) => d.text), ...notes];
    banner.hidden = lines.length === 0;
    banner.replaceChildren(element('b', {}, '⚠'),
      ` ${lines[0] ?? ''}${lines.length > 1 ? ` · and ${lines.length - 1} more` : ''} `,
      element('button', { onclick: () => this.tabs.show('diagnostics') }, 'Diagnostics'));
  }

  font(size, weight = 400) { return `${weight} ${size}px ${this.fontFamily}`; }

  // ---- theme, size, frame -------------------------------------------------------------------------------------------

  setTheme(theme) {
    this.theme = theme;
    const dark = theme === 'dark' || (theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.fontFamily = getComputedStyle(document.body).fontFamily;
    this.palette.setTheme(dark ? 'dark' : 'light');
    this.heat.group.repaint();
    this.timeline.group.repaint();
    if (this.tabs) {
      this.names.draw();
      this.tabs.draw();
    }
    this.invalidate();
  }

  toggleTheme() {
    const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    store('iket-theme', next);
    this.setTheme(next);
  }

  layout() {
    const stage = byId('stage'), box = stage.getBoundingClientRect();
    this.view.width = Math.max(120, this.timeline.scroller.clientWidth - GUTTER);
    const room = this.heatRoom ?? Math.round((box.height - RULER_HEIGHT - 24) * 0.45);
    byId('heat-box').style.height = `${this.heat.layout(Math.max(this.heat.least, room))}px`;
    this.timeline.height = Math.max(60, this.timeline.scroller.clientHeight);
    this.tabs?.draw();
    this.invalidate();
  }

  resizeSpacer() {
    const height = Math.min(this.rows.height + 40, 3e7) - this.timeline.scroller.clientHeight;
    byId('spacer').style.height = `${Math.max(0, height)}px`;
  }

  invalidate() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.frames++;
      this.ruler.draw();
      this.heat.draw();
      this.timeline.draw(this.timeline.height);
      byId('status-view').textContent = this.statusText();
    });
  }

  statusText() {
    const { from, to } = this.selection ?? {}, whole = (t) => integer(Math.round(t));
    const span = this.selection ? `selected ${whole(from)} – ${whole(to)} ns (${duration(Math.round(to - from))})` : '';
    const narrowed = this.query.nodes
      ? `${integer(this.query.warps)} of ${integer(this.trace.warps.length)} warps shown` : '';
    return [span, narrowed].filter(Boolean).join('  ·  ');
  }

  viewChanged() {
    this.link?.later();
    this.invalidate();
  }

  // ---- numbers ------------------------------------------------------------------------------------------------------

  askActivity(rows, from, to, bins, then) {
    this.source.activity(rows, from, to, bins, (answer) => {
      then(answer);
      this.invalidate();
    });
  }

  // What table, distribution, plots and CSV are of: {span: {from, to} or null, sms: numbers or null, query}.
  get scope() { return { span: this.selection, sms: this.selection?.sms ?? null, query: this.query }; }

  scopeText() {
    const parts = [];
    if (this.selection) parts.push(`${duration(Math.round(this.selection.to - this.selection.from))} selected`);
    if (this.selection?.sms) parts.push(`${integer(this.selection.sms.length)} SMs`);
    if (this.query.nodes) parts.push(`${integer(this.query.warps)} warps`);
    return parts.length > 0 ? parts.join(', ') : 'whole trace';
  }

  refreshStats() {
    const id = (this.statsTurn = (this.statsTurn ?? 0) + 1);
    this.statsPending = true;
    byId('names-section').classList.add('waiting');
    this.source.stats(this.scope, ({ classes }) => {
      if (id !== this.statsTurn) return;
      this.statsPending = false;
      this.inScope = new Map(classes.map((s) => [s.cls, s.count]));
      byId('names-section').classList.remove('waiting');
      this.names.update(classes, this.scopeText());
      this.tabs.draw();
      this.showResult();
      this.settled?.();
    });
  }

  // Events of a class (-1: all) in scope; null while they are counted.
  countInScope(cls) {
    if (this.statsPending) return null;
    return cls >= 0 ? this.inScope.get(cls) ?? 0 : [...this.inScope.values()].reduce((a, b) => a + b, 0);
  }

  // ---- what changes the state ---------------------------------------------------------------------------------------

  select(event, quiet = false) {
    this.selected = event;
    this.selectedEvent = event >= 0 ? this.source.at(event) : null;
    if (event >= 0) {
      const node = this.trace.nodeOf(event), warp = this.trace.ancestor(node, NODES.warp);
      this.cursorRow = warp >= 0 ? warp : node;
      const launch = this.trace.launchOf(node);
      if (launch && launch !== this.launches.current) this.launches.choose(launch, false);
      if (!quiet) this.tabs.tab = 'event';
      this.source.get(event, (whole) => {
        if (this.selected !== event) return;
        this.selectedEvent = whole;
        this.say(this.trace.fields(whole).map(([k, v]) => `${k} ${v}`).join(', '));
        this.tabs.draw();
        this.invalidate();
      });
    }
    this.tabs.draw();
    this.link.later();
    this.invalidate();
  }

  // Calls f with an event: at once where it is here.
  withEvent(i, f) {
    const event = this.source.at(i);
    if (event) f(event);
    else this.source.get(i, f);
  }

  say(text) { byId('live').textContent = text; }

  setSelection(span) {
    this.selection = span;
    this.refreshStats();
    this.link.later();
    this.invalidate();
  }

  focusName(cls) {
    this.focusClass = cls;
    if (this.tabs.tab === 'event' || this.tabs.tab === 'diagnostics') this.tabs.tab = 'distribution';
    this.names.draw();
    this.tabs.draw();
    this.link.later();
    this.invalidate();
  }

  search(text) {
    const hadRows = this.query.nodes !== null;
    this.query = resolveQuery(this.trace, text);
    if (byId('query').value !== text) byId('query').value = text;
    if (hadRows || this.query.nodes) {
      this.rows.setFilter(this.query.nodes, this.query.warps);
      this.resizeSpacer();
      this.refreshStats();
    }
    this.showResult();
    this.link.later();
    this.invalidate();
  }

  // Beside the search line: what is wrong with it, or how much it finds.
  showResult() {
    const { bad, classes, nodes, warps, text } = this.query, out = [];
    if (classes && !this.statsPending) {
      let count = 0;
      for (const [cls, n] of this.inScope) if (classes[cls]) count += n;
      out.push(plural(count, 'event'));
    } else if (classes) out.push('counting');
    if (nodes) out.push(plural(warps, 'warp'));
    byId('query-result').textContent = bad.length > 0 ? bad.join('; ') : text.trim() === '' ? '' : out.join(' in ');
  }

  // Enter in the search line: the next event that matches, in the order of the rows.
  nextMatch(direction) {
    if (!this.query.classes) return;
    this.source.nextMatch(this.selected, direction, this.query.classes, this.scope, (event) => {
      if (event >= 0) this.goTo(event);
    });
  }

  goTo(event) {
    this.select(event);
    this.revealEvent(event);
  }

  toggle(node) {
    this.rows.toggle(node);
    this.resizeSpacer();
    if (this.rows.open[node]) this.timeline.scrollToNode(node, true);
    this.link.later();
    this.invalidate();
  }

  revealNode(node) {
    this.rows.openAncestors(node);
    this.resizeSpacer();
    this.timeline.scrollToNode(node);
    this.invalidate();
  }

  revealEvent(event) {
    const node = this.trace.nodeOf(event), warp = this.trace.ancestor(node, NODES.warp);
    this.revealNode(warp >= 0 ? warp : node);
    this.withEvent(event, ({ start, end }) => this.view.reveal(start, end));
  }

  // Opens an SM down to its warps, in the launch that runs at `time`.
  openSm(sm, time, launch = null) {
    const parts = this.trace.sms.find((s) => s.sm === sm)?.parts ?? [];
    const away = ({ launch: l }) => (time < l.start ? l.start - time : time > l.end ? time - l.end : 0);
    const part = launch ? parts.find((p) => p.launch === launch) : [...parts].sort((a, b) => away(a) - away(b))[0];
    if (!part) return;
    this.rows.openAncestors(part.node);
    this.rows.toggle(part.node, true);
    this.resizeSpacer();
    this.cursorRow = part.node;
    this.timeline.scrollToNode(part.node, true);
    this.link.later();
    this.invalidate();
  }

  // The neighbour of the selected event with its name: in its warp, or (across) in another one.
  step(direction, across = false) {
    if (this.selected < 0) {
      this.selectFirst();
      return;
    }
    const arrived = (next) => {
      if (next >= 0) {
        this.goTo(next);
        return;
      }
      const name = this.selectedEvent ? this.trace.eventName(this.selectedEvent) : 'one';
      const which = `${direction < 0 ? 'earlier' : 'later'} ${name}`;
      this.say(`No ${which} in ${across ? 'another' : 'this'} warp`);
    };
    if (across) this.source.acrossWarps(this.selected, direction, this.query, arrived);
    else this.source.neighbour(this.selected, direction, arrived);
  }

  // The range around the selected event, or inside it.
  nest(direction) {
    this.source.nested(this.selected, direction, (event) => {
      if (event >= 0) this.goTo(event);
    });
  }

  // The first range of the keyboard's row that is in view.
  selectFirst() {
    if (this.cursorRow < 0) return;
    this.source.firstUnder(this.cursorRow, this.view.time(GUTTER), this.focusClass, (event) => {
      if (event >= 0) this.goTo(event);
    });
  }

  // Launches that are far apart side by side, or in true time.
  foldGaps(on) {
    const wasWhole = this.view.from <= 0 && this.view.to >= this.view.span;
    byId('fold').checked = on;
    this.view.foldGaps(on);
    if (wasWhole && !this.selection) this.view.fitTo(0, this.trace.span);
    this.heat.group.forget();
    this.timeline.group.forget();
    this.viewChanged();
  }

  fit() {
    if (this.selection) this.view.fitTo(this.selection.from, this.selection.to);
    else this.view.fitTo(0, this.trace.span);
  }

  clear() {
    if (this.selected >= 0) this.select(-1);
    else if (this.selection) this.setSelection(null);
    else if (this.focusClass >= 0) this.focusName(-1);
    else if (this.query.text) this.search('');
  }

  saveCsv() { this.source.saveCsv(this.focusClass, this.scope, `${this.name}.csv`); }

  // Where idle time is folded away: a hatched gap.
  drawFolds(c, height, top = 0) {
    const { view } = this, { runs, on } = view.fold, ui = this.palette.ui;
    if (!on) return;
    c.strokeStyle = ui['line-strong'];
    c.save();
    c.beginPath();
    c.rect(GUTTER, top, view.width, height - top);
    c.clip();
    for (let k = Math.max(1, view.fold.runAtPlace(view.from)); k < runs.length; k++) {
      const x0 = view.placeX(runs[k - 1].to + runs[k - 1].shift), x1 = view.placeX(runs[k].from + runs[k].shift);
      if (x0 > GUTTER + view.width) break;
      if (x1 < GUTTER || x1 - x0 < 3) continue;
      this.hatch(c, Math.max(GUTTER, x0) + 1, top, Math.min(GUTTER + view.width, x1) - 1, height);
    }
    c.restore();
  }

  hatch(c, left, top, right, bottom) {
    const width = right - left;
    c.save();
    c.beginPath();
    c.rect(left, top, width, bottom - top);
    c.clip();
    c.beginPath();
    for (let y = top - width; y < bottom; y += 7) {
      c.moveTo(left, y + width);
      c.lineTo(right, y);
    }
    c.globalAlpha = 0.6;
    c.stroke();
    c.restore();
  }

  // The selected span over a canvas of rows.
  drawSpan(c, height, lines) {
    if (!this.selection) return;
    const { view } = this, x0 = Math.max(GUTTER, view.x(this.selection.from)),
      x1 = Math.min(GUTTER + view.width, view.x(this.selection.to));
    if (x1 < GUTTER || x0 > GUTTER + view.width) return;
    const [top, bottom] = lines ?? [0, height], ui = this.palette.ui;
    c.fillStyle = ui.select;
    c.globalAlpha = 0.13;
    c.fillRect(x0, top, x1 - x0, bottom - top);
    c.globalAlpha = 0.8;
    c.fillRect(Math.round(x0), top, 1, bottom - top);
    c.fillRect(Math.round(x1), top, 1, bottom - top);
    c.globalAlpha = 1;
  }
}

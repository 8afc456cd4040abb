// SPDX-License-Identifier: Apache-2.0
// input.js: keys, wheel and drags, and the controls of the bar: what a person does, told to the app.
'use strict';

class Input {
  constructor(app) {
    this.app = app;
    this.listen();
  }

  wheelZoom(e) {
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.app.view.pan(e.deltaX);
    else this.app.view.zoom(1.0015 ** e.deltaY, Math.max(GUTTER, e.offsetX));
  }

  // Follows the pointer until it is released; `click` is called when it did not move.
  drag(canvas, down, move, click = null) {
    let moved = false;
    canvas.setPointerCapture(down.pointerId);
    const onMove = (e) => {
      if (!moved && Math.hypot(e.clientX - down.clientX, e.clientY - down.clientY) < 4) return;
      moved = true;
      this.app.dragging = true;
      this.app.tip.hide();
      move(e);
    };
    const onUp = () => {
      canvas.removeEventListener('pointermove', onMove);
      canvas.removeEventListener('pointerup', onUp);
      canvas.removeEventListener('pointercancel', onUp);
      this.app.dragging = false;
      if (!moved) click?.();
    };
    canvas.addEventListener('pointermove', onMove);
    canvas.addEventListener('pointerup', onUp);
    canvas.addEventListener('pointercancel', onUp);
  }

  // Selects a span by dragging; smsOf(event) tells the SMs it covers, null for all.
  dragSelect(canvas, down, smsOf, click = null) {
    const start = this.app.view.time(down.offsetX);
    let timer = 0;
    this.drag(canvas, down, (e) => {
      const now = this.app.view.time(Math.max(GUTTER, Math.min(GUTTER + this.app.view.width, e.offsetX)));
      this.app.selection = { from: Math.round(Math.min(start, now)), to: Math.round(Math.max(start, now)),
        sms: smsOf ? smsOf(e) : null };
      clearTimeout(timer);
      timer = setTimeout(() => this.app.setSelection(this.app.selection), 60);
      this.app.invalidate();
    }, click ?? (() => this.app.setSelection(null)));
  }

  listen() {
    const { signal } = this.app.life;
    document.addEventListener('keydown', (e) => this.key(e), { signal });
    const resized = new ResizeObserver(() => this.app.layout());
    resized.observe(byId('scroller'));
    resized.observe(byId('stage'));
    signal.addEventListener('abort', () => resized.disconnect());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.app.setTheme(this.app.theme),
      { signal });
    byId('fit').addEventListener('click', () => this.app.fit());
    byId('fold').addEventListener('change', (e) => this.app.foldGaps(e.target.checked));
    byId('theme').addEventListener('click', () => this.app.toggleTheme());
    byId('show-help').addEventListener('click', () => this.app.dialogs.help());
    byId('show-files').addEventListener('click', () => this.app.dialogs.files(this.app));
    byId('show-perfetto').addEventListener('click', () => this.app.perfetto.open());
    byId('query').addEventListener('input', (e) => this.app.search(e.target.value));
    byId('search').addEventListener('submit', (e) => e.preventDefault());
    byId('query').addEventListener('keydown', (e) => {
      if (e.key === 'Enter') this.app.nextMatch(e.shiftKey ? -1 : 1);
      else if (e.key === 'Escape') {
        this.app.search('');
        this.app.timeline.canvas.focus();
      }
    });
    this.app.timeline.scroller.addEventListener('scroll', () => this.app.link.later());
    this.app.timeline.canvas.addEventListener('focus', () => this.app.invalidate());
    this.app.timeline.canvas.addEventListener('blur', () => this.app.invalidate());
    splitter(byId('heat-split'), (dx, dy) => {
      this.app.heatRoom = Math.max(this.app.heat.least, (this.app.heatRoom ?? this.app.heat.height) + dy);
      this.app.layout();
    });
    splitter(byId('side-split'), (dx) => {
      const side = byId('side');
      side.style.width = `${Math.max(260, Math.min(innerWidth - 420, side.getBoundingClientRect().width - dx))}px`;
      this.app.layout();
    });
  }

  key(e) {
    if (e.target.matches('input, select, textarea') || byId('dialog').open || e.ctrlKey || e.metaKey
      || e.altKey) return;
    const row = (step) => this.moveRow(step), act = {
      w: () => this.app.view.zoom(1 / 1.4), s: () => this.app.view.zoom(1.4),
        a: () => this.app.view.pan(-this.app.view.width * 0.15), d: () => this.app.view.pan(this.app.view.width * 0.15),
      f: () => this.app.fit(), t: () => this.app.toggleTheme(), '/': () => byId('query').focus(),
        '?': () => this.app.dialogs.help(), Escape: () => this.app.clear(),
      z: () => this.app.selectedEvent && this.app.view.fitTo(this.app.selectedEvent.start, this.app.selectedEvent.end),
      g: () => !byId('fold-tool').hidden && this.app.foldGaps(!this.app.view.fold.on),
      '[': () => this.moveLaunch(-1), ']': () => this.moveLaunch(1), ArrowLeft: () => this.app.step(-1, e.shiftKey),
        ArrowRight: () => this.app.step(1, e.shiftKey),
      ArrowUp: () => (this.app.selected >= 0 ? this.app.nest(-1) : row(-1)),
        ArrowDown: () => (this.app.selected >= 0 ? this.app.nest(1) : row(1)),
      PageUp: () => row(-20), PageDown: () => row(20), Home: () => row(-1e9), End: () => row(1e9),
    }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    const onCanvas = e.target === this.app.timeline.canvas;
    if (e.key === 'Enter' && onCanvas) {
      if (this.app.cursorRow >= 0 && this.app.selected < 0) this.app.toggle(this.app.cursorRow);
      e.preventDefault();
      return;
    }
    if (!act || (e.target.matches('button, [role=separator], [role=tab]')
      && /^(Arrow|Page|Home|End)/.test(e.key))) return;
    e.preventDefault();
    act();
  }

  moveRow(step) {
    const at = this.app.rows.rowOfNode.get(this.app.cursorRow) ?? -1;
    const row = Math.max(0, Math.min(this.app.rows.nodes.length - 1, at + step));
    this.app.cursorRow = this.app.rows.nodes[row];
    this.app.timeline.scrollToNode(this.app.cursorRow);
    const kind = this.app.trace.nodes.kind[this.app.cursorRow];
    const state = kind === NODES.warp ? '' : this.app.rows.open[this.app.cursorRow] ? ', open' : ', closed';
    this.app.say(`${this.app.trace.nodeName(this.app.cursorRow)}${state}`);
    this.app.invalidate();
  }

  moveLaunch(step) {
    const { launches } = this.app.trace, at = launches.indexOf(this.app.launches.current) + step;
    if (at >= 0 && at < launches.length) this.app.launches.choose(launches[at], true);
  }
}

// A bar between two parts that is moved by mouse or arrow keys.
function splitter(bar, move) {
  bar.addEventListener('pointerdown', (e) => {
    let x = e.clientX, y = e.clientY;
    bar.setPointerCapture(e.pointerId);
    const onMove = (at) => {
      move(at.clientX - x, at.clientY - y);
      x = at.clientX;
      y = at.clientY;
    };
    bar.addEventListener('pointermove', onMove);
    bar.addEventListener('pointerup', () => bar.removeEventListener('pointermove', onMove), { once: true });
  });
  bar.addEventListener('keydown', (e) => {
    const step = { ArrowLeft: [-16, 0], ArrowRight: [16, 0], ArrowUp: [0, -16], ArrowDown: [0, 16] }[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    move(...step);
  });
}

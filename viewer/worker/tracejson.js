// SPDX-License-Identifier: Apache-2.0
// tracejson.js: reads a trace.json (doc/FORMAT.md section 5) from its bytes, in any order of keys.
//
// Times become exact differences to the first one met. Tables may come after the launches: indices are kept until then.
// What was read is then replayed into the tracks that a .pftrace would have.
'use strict';

const SIGNED_BITS = { 1: 8, 3: 16, 5: 32, 7: 64 };

// A payload's bits, as the format's payloadType and payloadVal have them, as [PAYLOAD type, low, high].
function typedPayload(kind, bits) {
  if (SIGNED_BITS[kind]) {
    const value = BigInt.asUintN(64, BigInt.asIntN(SIGNED_BITS[kind], bits));
    return [PAYLOAD.int, Number(value & 0xFFFFFFFFn), Number(value >> 32n)];
  }
  if (kind === 13) {
    const word = new DataView(new ArrayBuffer(12));
    word.setUint32(0, Number(bits & 0xFFFFFFFFn));
    word.setFloat64(4, word.getFloat32(0));
    return [PAYLOAD.double, word.getUint32(8), word.getUint32(4)];
  }
  const type = kind === 14 ? PAYLOAD.double : kind === 15 ? PAYLOAD.pointer : PAYLOAD.uint;
  return [type, Number(bits & 0xFFFFFFFFn), Number((bits >> 32n) & 0xFFFFFFFFn)];
}

class TraceJsonReader {
  constructor(bytes, builder, progress) {
    this.in = new JsonScanner(bytes);
    this.builder = builder;
    this.progress = progress;
    this.seen = 0;
    this.baseHigh = null;
    this.baseLow = 0;
    this.least = Infinity;
    this.strings = [];
    this.places = [];
    this.launches = [];
    this.diagnostics = [];
  }

  // A time relative to the first one met; exact.
  time() {
    this.in.integer();
    const { high, low } = this.in;
    if (this.baseHigh === null) {
      this.baseHigh = high;
      this.baseLow = low;
    }
    const time = (high - this.baseHigh) * 1e9 + (low - this.baseLow);
    if (time < this.least) this.least = time;
    return time;
  }

  read() {
    const json = this.in;
    json.object((key) => {
      if (key === 'stringTable') json.array(() => this.strings.push(json.string()));
      else if (key === 'locationTable') json.array(() => this.places.push(this.place()));
      else if (key === 'launches') json.array(() => this.launch('', this.launches.length));
      else if (key === 'graphLaunches') {
        json.object((graph) => {
          let ordinal = 0;
          json.array(() => this.launch(graph, ordinal++));
        });
      } else if (key === 'diagnostics' && json.peek() === 123) {
        json.object((counter) => {
          const count = json.integer();
          if (count !== 0) this.diagnostics.push({ counter, count });
        });
      } else json.skip();
    });
    if (this.launches.length === 0
      || this.baseHigh === null) throw new FormatError('the file holds no launch with events');
    this.t0 = BigInt(this.baseHigh) * 1000000000n + BigInt(this.baseLow) + BigInt(this.least);
    this.replay();
  }

  place() {
    const json = this.in, place = { sm: -1, tpc: -1, gpc: -1, cta: [], warp: 0 };
    json.object((key) => {
      if (key === 'smId') place.sm = json.integer();
      else if (key === 'tpcId') place.tpc = json.integer();
      else if (key === 'gpcId') place.gpc = json.integer();
      else if (key === 'warpId') place.warp = json.integer();
      else if (key === 'ctaId') json.array(() => place.cta.push(json.integer()));
      else json.skip();
    });
    return place;
  }

  launch(graph, ordinal) {
    const json = this.in;
    const launch = { graph, ordinal, kernel: 'kernel', grid: [1, 1, 1], block: [1, 1, 1], gridId: 0n, contextId: 0n,
      warps: new Map(),
      markers: 0, ranges: 0 };
    const axis = { X: 0, Y: 1, Z: 2 };
    json.object((key) => {
      if (key === 'kernelName') launch.kernel = json.string();
      else if (key === 'gridId') launch.gridId = json.bigint();
      else if (key === 'contextId') launch.contextId = json.bigint();
      else if (/^gridDim[XYZ]$/.test(key)) launch.grid[axis[key[7]]] = json.integer();
      else if (/^blockDim[XYZ]$/.test(key)) launch.block[axis[key[8]]] = json.integer();
      else if (key === 'markers') json.array(() => this.marker(launch));
      else if (key === 'ranges') json.array(() => this.range(launch));
      else if (key === 'warpLifetimes') json.array(() => this.lifetime(launch));
      else json.skip();
    });
    this.launches.push(launch);
  }

  warpOf(launch, location) {
    let warp = launch.warps.get(location);
    if (warp === undefined) {
      warp = { location, start: Infinity, end: -Infinity, markers: [], ranges: [] };
      launch.warps.set(location, warp);
    }
    return warp;
  }

  lifetime(launch) {
    const json = this.in;
    let location = 0, start = 0, end = 0;
    json.object((key) => {
      if (key === 'locIdx') location = json.integer();
      else if (key === 'startTs') start = this.time();
      else if (key === 'endTs') end = this.time();
      else json.skip();
    });
    const warp = this.warpOf(launch, location);
    warp.start = start;
    warp.end = end;
  }

  marker(launch) {
    const json = this.in;
    let location = 0, name = 0, time = 0, type = 0, bits = 0n;
    json.object((key) => {
      if (key === 'locIdx') location = json.integer();
      else if (key === 'markerNameIdx') name = json.integer();
      else if (key === 'timestamp') time = this.time();
      else if (key === 'payloadType') type = json.integer();
      else if (key === 'payloadVal') bits = json.bigint();
      else json.skip();
    });
    this.warpOf(launch, location).markers.push({ name, time, payload: type ? typedPayload(type, bits) : null });
    launch.markers++;
    if ((++this.seen & 0xFFFF) === 0) this.progress(this.in.at);
  }

  range(launch) {
    const json = this.in;
    const range = { name: 0, start: 0, end: 0, token: false, unclosed: false, payload: null, endPayload: null };
    let location = 0;
    json.object((key) => {
      if (key === 'rangeNameIdx') range.name = json.integer();
      else if (key === 'startTs') range.start = this.time();
      else if (key === 'endTs') range.end = this.time();
      else if (key === 'rangeType') range.token = json.integer() === 1;
      else if (key === 'unclosed') range.unclosed = json.skip() === 'true';
      else if (key === 'warpLocIdxs') {
        let first = true;
        json.array(() => {
          const index = json.integer();
          if (first) location = index;
          first = false;
        });
      } else if (key === 'internalEvents') {
        let index = 0;
        json.array(() => {
          const payload = this.internalPayload();
          if (index++ === 0) range.payload = payload;
          else range.endPayload = payload;
        });
      } else json.skip();
    });
    this.warpOf(launch, location).ranges.push(range);
    launch.ranges++;
    if ((++this.seen & 0xFFFF) === 0) this.progress(this.in.at);
  }

  internalPayload() {
    const json = this.in;
    let type = 0, bits = 0n;
    json.object((key) => {
      if (key === 'payloadType') type = json.integer();
      else if (key === 'payloadVal') bits = json.bigint();
      else json.skip();
    });
    return type ? typedPayload(type, bits) : null;
  }

  // ---- from what was read to the tracks of doc/pftrace.md -----------------------------------------------------------

  replay() {
    const builder = this.builder;
    this.nextUuid = 0;
    const group = this.track(0, 'Launches', 0);
    if (this.diagnostics.length > 0) {
      const track = this.track(group.uuid, 'Diagnostics', 0);
      for (const { counter, count } of this.diagnostics) {
        const row = builder.instant(track, 0, builder.classOf(builder.string(`${counter}: ${count}`), KIND.diagnostic));
        builder.store.extra.set(row, { counter, count });
      }
    }
    for (const launch of this.launches) {
      launch.start = Infinity;
      launch.end = -Infinity;
      for (const warp of launch.warps.values()) {
        this.settleWarp(warp);
        launch.start = Math.min(launch.start, warp.start);
        launch.end = Math.max(launch.end, warp.end);
      }
    }
    const kernels = new Map();
    this.launches = this.launches.filter((l) => l.warps.size > 0).sort((a, b) => a.start - b.start);
    for (const launch of this.launches) {
      if (!kernels.has(launch.kernel)) kernels.set(launch.kernel,
        this.track(group.uuid, launch.kernel, kernels.size + 1));
      this.replayLaunch(launch, kernels.get(launch.kernel));
    }
  }

  // A file that lacks a warp's lifetime gives it that of its events; times become relative to the least.
  settleWarp(warp) {
    for (const r of warp.ranges) {
      r.start -= this.least;
      r.end -= this.least;
    }
    for (const m of warp.markers) m.time -= this.least;
    warp.start -= this.least;
    warp.end -= this.least;
    if (warp.start <= warp.end) return;
    for (const r of warp.ranges) {
      warp.start = Math.min(warp.start, r.start);
      warp.end = Math.max(warp.end, r.end);
    }
    for (const m of warp.markers) {
      warp.start = Math.min(warp.start, m.time);
      warp.end = Math.max(warp.end, m.time);
    }
  }

  track(parent, name, rank) {
    return this.builder.track(++this.nextUuid, parent, name, rank);
  }

  replayLaunch(launch, kernel) {
    const builder = this.builder;
    const places = this.places;
    const row = this.track(kernel.uuid, launch.graph ? `${launch.graph} #${launch.ordinal}`
      : `launch ${launch.ordinal}`, launch.ordinal);
    const slice = builder.begin(row, launch.start, builder.classOf(builder.string(launch.kernel), KIND.launch));
    const sms = new Set();
    const children = new Map();
    const child = (parent, name, rank) => {
      const key = `${parent.uuid} ${name}`;
      if (!children.has(key)) children.set(key, this.track(parent.uuid, name, rank));
      return children.get(key);
    };
    for (const warp of launch.warps.values()) {
      const place = places[warp.location];
      if (place === undefined) throw new FormatError(`location ${warp.location} is not in the locationTable`);
      sms.add(place.sm);
      const where = place.gpc >= 0 && place.tpc >= 0 ? ` (GPC ${place.gpc}, TPC ${place.tpc})` : '';
      const [x = 0, y = 0, z = 0] = place.cta;
      const cta = child(child(row, `SM ${place.sm}${where}`, place.sm), `CTA (${x}, ${y}, ${z})`, x
        + launch.grid[0] * (y + launch.grid[1] * z));
      this.replayWarp(warp, this.track(cta.uuid, `warp ${place.warp}`, place.warp));
    }
    builder.end(row, launch.end);
    builder.store.extra.set(slice, {
      launch: launch.ordinal, grid_id: small(launch.gridId), context_id: small(launch.contextId),
        grid: launch.grid.join(' x '),
      block: launch.block.join(' x '), ...(launch.graph ? { graph_key: launch.graph } : {}), warps: launch.warps.size,
        sms: sms.size,
      markers: launch.markers, ranges: launch.ranges,
    });
  }

  // Stack ranges nest by (start, end); what does not nest goes to a further track, as does a token that overlaps
  // another of its name.
  replayWarp(warp, track) {
    const builder = this.builder;
    const byStart = (a, b) => a.start - b.start || b.end - a.end;
    this.begin(track, warp.start, 'warp lifetime', KIND.lifetime);
    const further = [];
    const nest = (ranges, on, limit) => {
      const open = [];
      for (const range of ranges) {
        while (open.length > 0 && (open.at(-1).end < range.start ||
               (open.at(-1).end === range.start
                 && (range.end > range.start || open.at(-1).start === range.start)))) this.end(on, open.pop());
        if (range.start < limit.start || range.end > (open.length > 0 ? open.at(-1).end : limit.end)) {
          further.push(range);
          continue;
        }
        this.beginRange(on, range, KIND.range);
        open.push(range);
      }
      while (open.length > 0) this.end(on, open.pop());
    };
    let rest = warp.ranges.filter((r) => !r.token).sort(byStart);
    nest(rest, track, warp);
    for (let n = 2; further.length > 0; n++) {
      rest = further.splice(0);
      nest(rest, this.track(track.uuid, `ranges ${n}`, n), { start: -Infinity, end: Infinity });
    }
    builder.end(track, warp.end);
    this.replayTokens(warp, track, byStart);
    if (warp.markers.length === 0) return;
    const markers = this.track(track.uuid, 'markers', 1);
    for (const m of warp.markers.sort((a, b) => a.time - b.time)) {
      const row = builder.instant(markers, m.time, builder.classOf(builder.string(this.name(m.name)), KIND.marker));
      this.payload(row, m.payload);
    }
  }

  replayTokens(warp, track, byStart) {
    const free = new Map(); // name -> [{track, end}]
    for (const range of warp.ranges.filter((r) => r.token).sort(byStart)) {
      if (!free.has(range.name)) free.set(range.name, []);
      const tracks = free.get(range.name);
      let place = tracks.find((t) => t.end <= range.start);
      if (place === undefined) {
        place = { track: this.track(track.uuid, `token ${this.name(range.name)}`, 1000 + range.name), end: 0 };
        tracks.push(place);
      }
      this.beginRange(place.track, range, KIND.token);
      this.end(place.track, range);
      place.end = range.end;
    }
  }

  name(index) {
    const name = this.strings[index];
    if (name === undefined) throw new FormatError(`name ${index} is not in the stringTable`);
    return name;
  }

  begin(track, time, name, kind) {
    return this.builder.begin(track, time, this.builder.classOf(this.builder.string(name), kind));
  }

  beginRange(track, range, kind) {
    this.payload(this.begin(track, range.start, this.name(range.name), kind), range.payload);
  }

  end(track, range) {
    const store = this.builder.store, row = this.builder.end(track, range.end);
    if (row < 0) return;
    if (range.unclosed) store.flags[row] |= FLAG.unclosed;
    if (range.endPayload === null) return;
    store.endPayload.set(row, range.endPayload);
    store.flags[row] |= FLAG.endPayload;
  }

  payload(row, payload) {
    if (row < 0 || payload === null) return;
    const store = this.builder.store;
    [store.payloadType[row], store.payload[2 * row], store.payload[2 * row + 1]] = payload;
  }
}

const small = (big) => (big <= 9007199254740991n ? Number(big) : big);

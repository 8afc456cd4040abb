// SPDX-License-Identifier: Apache-2.0
// pftrace.js: reads a Perfetto trace of IKET's layout (doc/pftrace.md) as it arrives, packet by packet.
//
//     0A length body | 0A length body | ...      a body is (tag, value)*, a tag is (field << 3 | wire type)
//
// Bytes come in pieces of any size; what is left of a packet at the end of a piece waits for the next one. A varint is
// read as a double while it fits one exactly; the full 64 bits are read where they may be needed (T0, payloads).
'use strict';

class FormatError extends Error {}

const CATEGORY_KIND = {
  launch: KIND.launch, lifetime: KIND.lifetime, range: KIND.range, marker: KIND.marker, token: KIND.token,
    diagnostic: KIND.diagnostic,
};

// Annotations that are kept in columns.
const ANNOTATION_USE = { payload: 'payload', end_payload: 'end', unclosed: 'unclosed', recorded_at: 'recorded' };

class PftraceReader {
  constructor(builder) {
    this.builder = builder;
    this.rest = new Uint8Array(0);
    this.fileOffset = 0; // of this.bytes[0]
    this.bytes = this.rest;
    this.at = 0;
    this.low = 0;
    this.high = 0;
    this.t0 = null;
    this.time = 0;
    this.names = [];
    this.categories = [];
    this.annotations = [];
    this.annotationUse = [];
    this.classMemo = []; // by category iid, by name iid
    this.event = { type: 0, track: 0, name: 0, category: 0, payloadType: 0, low: 0, high: 0, endType: 0, endLow: 0,
      endHigh: 0,
      unclosed: false, recordedAt: null, extra: null, text: null, flows: [], ends: [] };
    this.packets = 0;
    this.utf8 = new TextDecoder();
    this.word = new DataView(new ArrayBuffer(8));
  }

  fail(what) {
    throw new FormatError(`byte ${(this.fileOffset + this.at).toLocaleString('en')}: ${what}`);
  }

  // Reads every whole packet of the pieces so far.
  push(piece) {
    let bytes = piece;
    if (this.rest.length > 0) {
      bytes = new Uint8Array(this.rest.length + piece.length);
      bytes.set(this.rest);
      bytes.set(piece, this.rest.length);
    }
    this.bytes = bytes;
    const end = bytes.length;
    let at = 0;
    while (at < end) {
      this.at = at;
      if (bytes[at] !== 0x0A) this.fail('this is no Perfetto trace of IKET (a packet should begin here)');
      let length = 0, shift = 1, next = at + 1, whole = false;
      while (next < end && next < at + 6) {
        const byte = bytes[next++];
        length += (byte & 127) * shift;
        shift *= 128;
        if (byte < 128) {
          whole = true;
          break;
        }
      }
      if (!whole && next >= at + 6) this.fail('a packet says that it is over 32 GB long');
      if (!whole || next + length > end) break;
      this.at = next;
      this.packet(next + length);
      at = next + length;
    }
    this.rest = bytes.slice(at);
    this.fileOffset += at;
  }

  finish() {
    if (this.rest.length > 0) {
      const left = this.rest.length.toLocaleString('en');
      this.builder.notes.push(`The file ends in the middle of a packet: ${left} bytes at its end were left out.`);
    }
    if (this.t0 === null) throw new FormatError(
      'the file holds no clock snapshot: it is not a trace that iket-decode wrote');
  }

  // A varint as a double; exact up to 2^53.
  varint() {
    const bytes = this.bytes;
    let at = this.at, byte = bytes[at++], value = byte & 127;
    if (byte > 127) {
      byte = bytes[at++];
      value |= (byte & 127) << 7;
      if (byte > 127) {
        byte = bytes[at++];
        value |= (byte & 127) << 14;
        if (byte > 127) {
          let scale = 2097152;
          do {
            byte = bytes[at++];
            value += (byte & 127) * scale;
            scale *= 128;
          } while (byte > 127 && scale < 1e20);
        }
      }
    }
    if (!(byte < 128)) this.fail('a number is cut off or longer than ten bytes');
    this.at = at;
    return value;
  }

  // A varint of up to 64 bits into this.low and this.high.
  varint64() {
    const bytes = this.bytes;
    let low = 0, high = 0, shift = 0, byte = 0, at = this.at;
    do {
      byte = bytes[at++];
      const part = byte & 127;
      if (shift < 28) low |= part << shift;
      else if (shift === 28) {
        low |= part << 28;
        high |= part >> 4;
      } else if (shift < 64) high |= part << (shift - 32);
      shift += 7;
    } while (byte > 127 && shift < 70);
    if (!(byte < 128)) this.fail('a number is cut off or longer than ten bytes');
    this.at = at;
    this.low = low >>> 0;
    this.high = high >>> 0;
  }

  bigint() {
    this.varint64();
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  // The end of a length-delimited field that begins here.
  fieldEnd(limit) {
    const length = this.varint(), end = this.at + length;
    if (end > limit) this.fail('a field reaches past the end of its message');
    return end;
  }

  text(limit) {
    const end = this.fieldEnd(limit), text = this.utf8.decode(this.bytes.subarray(this.at, end));
    this.at = end;
    return text;
  }

  // A fixed 64-bit number as a double: the number of an arrow is small.
  fixed64(limit) {
    if (this.at + 8 > limit) this.fail('a field reaches past the end of its message');
    let value = 0;
    for (let i = 7; i >= 0; i--) value = value * 256 + this.bytes[this.at + i];
    this.at += 8;
    return value;
  }

  skip(wire, limit) {
    if (wire === 0) this.varint64();
    else if (wire === 1) this.at += 8;
    else if (wire === 2) this.at = this.fieldEnd(limit);
    else if (wire === 5) this.at += 4;
    else this.fail(`wire type ${wire} is not one of protobuf`);
    if (this.at > limit) this.fail('a field reaches past the end of its message');
  }

  packet(end) {
    let delta = -1, eventAt = -1, eventEnd = 0, clock = 0;
    this.packets++;
    while (this.at < end) {
      const tag = this.varint();
      switch (tag) {
        case 0x40: delta = this.varint(); break;             // timestamp
        case 0x5A: eventEnd = this.fieldEnd(end); eventAt = this.at; this.at = eventEnd; break; // track_event
        case 0x32: this.clockSnapshot(this.fieldEnd(end)); break;
        case 0x62: this.internedData(this.fieldEnd(end)); break;
        case 0x1E2: this.trackDescriptor(this.fieldEnd(end)); break;
        case 0x1D0: clock = this.varint(); break;            // timestamp_clock_id
        case 0x50: case 0x68: this.varint(); break;          // the sequence and its flags: there is one
        default: this.skip(tag & 7, end);
      }
    }
    if (this.at !== end) this.fail('a packet ends in the middle of a field');
    if (delta >= 0 && (clock === 0 || clock === 64)) this.time += delta;
    if (eventAt >= 0) {
      this.at = eventAt;
      this.trackEvent(eventEnd);
      this.at = end;
    }
  }

  clockSnapshot(end) {
    while (this.at < end) {
      const tag = this.varint();
      if (tag !== 0x0A) {
        this.skip(tag & 7, end);
        continue;
      }
      const clockEnd = this.fieldEnd(end);
      let id = 0, time = 0n;
      while (this.at < clockEnd) {
        const field = this.varint();
        if (field === 0x08) id = this.varint();
        else if (field === 0x10) time = this.bigint();
        else this.skip(field & 7, clockEnd);
      }
      if (id !== 64) continue;
      if (this.t0 === null) this.t0 = time;
      this.time = Number(time - this.t0);
    }
  }

  internedData(end) {
    while (this.at < end) {
      const tag = this.varint();
      const table = tag === 0x0A ? this.categories : tag === 0x12 ? this.names : tag === 0x1A ? this.annotations : null;
      if (table === null) {
        this.skip(tag & 7, end);
        continue;
      }
      const entryEnd = this.fieldEnd(end);
      let iid = 0, text = '';
      while (this.at < entryEnd) {
        const field = this.varint();
        if (field === 0x08) iid = this.varint();
        else if (field === 0x12) text = this.text(entryEnd);
        else this.skip(field & 7, entryEnd);
      }
      table[iid] = text;
      this.classMemo = [];
      if (table === this.annotations) this.annotationUse[iid] = ANNOTATION_USE[text] ?? null;
    }
  }

  trackDescriptor(end) {
    let uuid = 0, parent = 0, name = '', rank = 0, process = null;
    while (this.at < end) {
      const tag = this.varint();
      switch (tag) {
        case 0x08: uuid = this.varint(); break;
        case 0x12: case 0x52: name = this.text(end); break;
        case 0x28: parent = this.varint(); break;
        case 0x60: rank = this.varint(); break;
        case 0x1A: process = this.processDescriptor(this.fieldEnd(end)); break;
        default: this.skip(tag & 7, end);
      }
    }
    if (uuid === 0 || uuid === parent) this.fail('a track has no number of its own');
    if (this.builder.trackByUuid.has(uuid)) return;
    const track = this.builder.track(uuid, parent, process === null ? name : process.name, rank);
    if (process !== null) track.pid = process.pid;
  }

  processDescriptor(end) {
    const process = { pid: 0, name: '' };
    while (this.at < end) {
      const tag = this.varint();
      if (tag === 0x08) process.pid = this.varint();
      else if (tag === 0x32) process.name = this.text(end);
      else this.skip(tag & 7, end);
    }
    return process;
  }

  trackEvent(end) {
    const event = this.event;
    event.type = event.track = event.name = event.category = event.payloadType = event.endType = 0;
    event.unclosed = false;
    event.recordedAt = event.extra = event.text = null;
    event.flows.length = event.ends.length = 0;
    while (this.at < end) {
      const tag = this.varint();
      switch (tag) {
        case 0x48: event.type = this.varint(); break;
        case 0x58: event.track = this.varint(); break;
        case 0x50: event.name = this.varint(); break;
        case 0x18: event.category = this.varint(); break;
        case 0x1A: { const packed = this.fieldEnd(end); event.category = this.varint(); this.at = packed; break; }
        case 0x22: this.annotation(this.fieldEnd(end)); break;
        case 0x179: event.flows.push(this.fixed64(end)); break; // arrows that leave
        case 0x181: event.ends.push(this.fixed64(end)); break;  // and that reach this event
        case 0xBA: event.text = this.text(end); break; // a name that occurs once is not interned
        default: this.skip(tag & 7, end);
      }
    }
    this.record();
  }

  // One debug annotation. `payload` and the like are kept in columns, everything else by name.
  annotation(end) {
    const event = this.event;
    let iid = 0, name = null, type = 0, low = 0, high = 0, text = null;
    while (this.at < end) {
      const tag = this.varint();
      switch (tag) {
        case 0x08: iid = this.varint(); break;
        case 0x10: case 0x18: case 0x20: case 0x38:
          this.varint64();
          low = this.low;
          high = this.high;
          type = tag === 0x20 ? PAYLOAD.int : tag === 0x38 ? PAYLOAD.pointer : PAYLOAD.uint;
          break;
        case 0x29: {
          if (this.at + 8 > end) this.fail('a field reaches past the end of its message');
          for (let i = 0; i < 8; i++) this.word.setUint8(i, this.bytes[this.at + i]);
          this.at += 8;
          low = this.word.getUint32(0, true);
          high = this.word.getUint32(4, true);
          type = PAYLOAD.double;
          break;
        }
        case 0x32: text = this.text(end); type = PAYLOAD.text; break;
        case 0x52: name = this.text(end); break;
        default: this.skip(tag & 7, end);
      }
    }
    const use = name === null ? this.annotationUse[iid] : ANNOTATION_USE[name];
    if (use === 'payload') {
      event.payloadType = type;
      event.low = low;
      event.high = high;
    } else if (use === 'end') {
      event.endType = type;
      event.endLow = low;
      event.endHigh = high;
    } else if (use === 'unclosed') event.unclosed = low !== 0;
    else if (use === 'recorded') event.recordedAt = (BigInt(high) << 32n) | BigInt(low);
    else (event.extra ??= {})[name ?? this.annotations[iid]] = type === PAYLOAD.text ? text
      : plainValue(type, low, high);
  }

  // The class of (category, name), looked up once.
  classOfEvent(category, name) {
    const memo = (this.classMemo[category] ??= []);
    let cls = memo[name];
    if (cls === undefined) {
      const text = this.names[name];
      if (text === undefined) this.fail(`event name ${name} was never declared`);
      cls = memo[name] = this.builder.classOf(this.builder.string(text), this.kindOf(category));
    }
    return cls;
  }

  kindOf(category) { return CATEGORY_KIND[this.categories[category]] ?? KIND.other; }

  record() {
    const event = this.event, builder = this.builder, store = builder.store;
    if (event.type < 1 || event.type > 3) return;
    const track = builder.trackOf(event.track);
    if (track === undefined) {
      builder.unknownTracks++;
      return;
    }
    if (event.type === 2) {
      const row = builder.end(track, this.time);
      if (row < 0) return;
      if (event.endType) {
        store.endPayload.set(row, [event.endType, event.endLow, event.endHigh]);
        store.flags[row] |= FLAG.endPayload;
      }
      if (event.unclosed) store.flags[row] |= FLAG.unclosed;
      if (event.recordedAt !== null) this.recorded(row, 1);
      return;
    }
    const cls = event.text === null ? this.classOfEvent(event.category, event.name)
      : builder.classOf(builder.string(event.text), this.kindOf(event.category));
    const row = event.type === 1 ? builder.begin(track, this.time, cls) : builder.instant(track, this.time, cls);
    if (row < 0) return;
    if (event.payloadType) {
      store.payloadType[row] = event.payloadType;
      store.payload[2 * row] = event.low;
      store.payload[2 * row + 1] = event.high;
    }
    for (const id of event.flows) store.arrowFrom.set(id, row);
    for (const id of event.ends) store.arrowTo.push([id, row]);
    if (event.recordedAt !== null) this.recorded(row, 0);
    if (event.extra !== null) store.extra.set(row, event.extra);
  }

  recorded(row, which) {
    const both = this.builder.store.recordedAt.get(row) ?? [null, null];
    both[which] = this.event.recordedAt;
    this.builder.store.recordedAt.set(row, both);
    this.builder.store.flags[row] |= FLAG.recordedAt;
  }
}

// An annotation's value as a number where that is exact, else as a BigInt.
function plainValue(type, low, high) {
  const bits = (BigInt(high) << 32n) | BigInt(low);
  if (type === PAYLOAD.double) return new Float64Array(new BigUint64Array([bits]).buffer)[0];
  const value = type === PAYLOAD.int ? BigInt.asIntN(64, bits) : bits;
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

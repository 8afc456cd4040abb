// SPDX-License-Identifier: Apache-2.0
// json.js: a pull scanner of JSON bytes whose integers are exact: two doubles, high * 10^9 + low, since a time near
// 1.8e18 does not fit one. (JSON.parse would round, and needs ten times the text in memory.)
'use strict';

class JsonScanner {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.utf8 = new TextDecoder();
    this.high = 0;
    this.low = 0;
  }

  fail(what) {
    throw new FormatError(`byte ${this.at.toLocaleString('en')}: ${what}`);
  }

  peek() {
    const bytes = this.bytes;
    let at = this.at, byte = bytes[at];
    while (byte === 32 || byte === 10 || byte === 13 || byte === 9) byte = bytes[++at];
    this.at = at;
    return byte;
  }

  expect(byte) {
    if (this.peek() !== byte) this.fail(`'${String.fromCharCode(byte)}' was expected`);
    this.at++;
  }

  // Calls read(key) for every member; read must consume the value.
  object(read) {
    this.expect(123);
    if (this.peek() === 125) {
      this.at++;
      return;
    }
    for (;;) {
      const key = this.string();
      this.expect(58);
      read(key);
      const byte = this.peek();
      this.at++;
      if (byte === 125) return;
      if (byte !== 44) this.fail("',' or '}' was expected");
    }
  }

  array(read) {
    this.expect(91);
    if (this.peek() === 93) {
      this.at++;
      return;
    }
    for (;;) {
      read();
      const byte = this.peek();
      this.at++;
      if (byte === 93) return;
      if (byte !== 44) this.fail("',' or ']' was expected");
    }
  }

  string() {
    this.expect(34);
    const bytes = this.bytes, from = this.at;
    let at = from, plain = true;
    while (bytes[at] !== 34) {
      if (at >= bytes.length) this.fail('a string does not end');
      if (bytes[at] === 92) {
        plain = false;
        at++;
      }
      at++;
    }
    this.at = at + 1;
    if (plain && at - from < 40) { // keys: no decoder call
      let text = '', ascii = true;
      for (let i = from; i < at; i++) {
        if (bytes[i] > 126) { ascii = false; break; }
        text += String.fromCharCode(bytes[i]);
      }
      if (ascii) return text;
    }
    const text = this.utf8.decode(bytes.subarray(from, at));
    if (plain) return text;
    try {
      return JSON.parse(`"${text}"`);
    } catch {
      return this.fail('a string has a bad escape');
    }
  }

  // An integer into this.high and this.low, in units of 10^9 and 1. Returns its double.
  integer() {
    this.peek();
    const bytes = this.bytes;
    let at = this.at, negative = false;
    if (bytes[at] === 45) {
      negative = true;
      at++;
    }
    const from = at;
    while (bytes[at] >= 48 && bytes[at] <= 57) at++;
    if (at === from || at - from > 20) this.fail('a whole number was expected');
    const cut = Math.max(from, at - 9);
    let high = 0, low = 0;
    for (let i = from; i < cut; i++) high = high * 10 + bytes[i] - 48;
    for (let i = cut; i < at; i++) low = low * 10 + bytes[i] - 48;
    this.at = at;
    if (bytes[at] === 46 || bytes[at] === 101 || bytes[at] === 69) this.fail('a whole number was expected');
    this.high = negative ? -high : high;
    this.low = negative ? -low : low;
    return this.high * 1e9 + this.low;
  }

  skip() {
    const byte = this.peek();
    if (byte === 123) this.object(() => this.skip());
    else if (byte === 91) this.array(() => this.skip());
    else if (byte === 34) this.string();
    else {
      const from = this.at;
      while (this.at < this.bytes.length
        && !'{}[],:" \n\r\t'.includes(String.fromCharCode(this.bytes[this.at]))) this.at++;
      if (this.at === from) this.fail('a value was expected');
      return this.utf8.decode(this.bytes.subarray(from, this.at));
    }
    return null;
  }

  bigint() {
    this.integer();
    return BigInt(this.high) * 1000000000n + BigInt(this.low);
  }
}

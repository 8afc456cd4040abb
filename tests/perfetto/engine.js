// SPDX-License-Identifier: Apache-2.0
// engine.js ENGINE TRACE: Perfetto's own trace processor. ENGINE is a folder with engine_bundle.js and trace_processor.wasm,
// run here in Node, or a native trace_processor_shell, asked over HTTP on loopback.
//
// Loads TRACE, reads a JSON list of SQL queries on stdin, prints a JSON list of {columns, rows} or {error}, 64-bit
// integers in full. The bundle takes itself for a web worker that was handed a port; what goes through the port are
// messages of its protobuf interface, written and read by hand here:
//
//     stream {msg 1 {seq 1, request 2, append_trace_data 101, query_args 103 {sql 1}, append_result 201, query_result 203}}
//     query_result {column names 1, error 2, batch 3 {cell types 1, varints 2, doubles 3, blobs 4, strings 5, is_last 6}}
"use strict";
const child_process = require("child_process");
const fs = require("fs");
const net = require("net");
const path = require("path");
const vm = require("vm");

const APPEND = 1n, FINALIZE = 2n, QUERY = 3n;
const CELL = { NULL: 1, VARINT: 2, DOUBLE: 3, STRING: 4 };
const PIECE = 16 << 20;

function varint(value) {
    const bytes = [];
    for (let rest = BigInt(value); ; rest >>= 7n) {
        if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
        bytes.push(Number(rest & 127n) | 128);
    }
}

const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

// Calls each(field, value) for every field: a BigInt, or the bytes of it.
function parse(buffer, each) {
    let at = 0;
    const next = () => {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            const byte = buffer[at++];
            value |= BigInt(byte & 127) << shift;
            if (byte < 128) return value;
        }
    };
    while (at < buffer.length) {
        const key = Number(next());
        if (key % 8 === 0) {
            each(key >> 3, next());
        } else {
            const size = key % 8 === 2 ? Number(next()) : key % 8 === 1 ? 8 : 4;
            each(key >> 3, buffer.subarray(at, at + size));
            at += size;
        }
    }
}

function unpack(buffer) {
    const values = [];
    let value = 0n, shift = 0n;
    for (const byte of buffer) {
        value |= BigInt(byte & 127) << shift;
        shift += 7n;
        if (byte < 128) {
            values.push(value);
            value = shift = 0n;
        }
    }
    return values;
}

// The cells of one batch, row after row.
function cells(batch) {
    let types = [], varints = [], doubles = [], strings = [];
    parse(batch, (field, value) => {
        if (field === 1) types = types.concat(unpack(value));
        if (field === 2) varints = varints.concat(unpack(value));
        if (field === 3) for (let i = 0; i < value.length; i += 8) doubles.push(value.readDoubleLE(i));
        if (field === 5) strings = value.toString("utf8").split("\0");
    });
    return types.map((type) => {
        if (type === BigInt(CELL.VARINT)) return BigInt.asIntN(64, varints.shift());
        if (type === BigInt(CELL.DOUBLE)) return doubles.shift();
        return type === BigInt(CELL.STRING) ? strings.shift() : null;
    });
}

// Starts the engine; returns call(method, fields, done): done(field, value) is called for the replies' fields till it returns true.
function start(folder) {
    const quiet = { log() {}, warn() {}, error: console.error };
    class LocalRequest { // what a worker would fetch from beside its script
        open(method, name) { this.name = path.basename(String(name)); }
        send() { this.response = fs.readFileSync(path.join(folder, this.name)); }
    }
    const self = { location: { href: "http://localhost/engine_bundle.js" } };
    const scope = { self, location: self.location, XMLHttpRequest: LocalRequest, WorkerGlobalScope: function () {}, console: quiet, process: undefined, require: undefined };
    const names = Object.keys(scope);
    vm.runInThisContext(`(function(${names.join()}) {${fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8")}\n})`)(...names.map((n) => scope[n]));
    let sequence = 0n, waiting = null;
    const port = {
        postMessage(message) {
            parse(Buffer.from(message), (_, reply) => parse(reply, (field, value) => {
                if (field === 5) throw new Error(`trace processor: ${value}`);
                if (waiting !== null && waiting.done(field, value)) {
                    const { resolve } = waiting;
                    waiting = null;
                    resolve();
                }
            }));
        },
    };
    self.onmessage({ data: port });
    const send = (message) => port.onmessage({ data: new Uint8Array(bytes(1, message)) });
    return async (method, fields, done) => {
        const answered = new Promise((resolve) => { waiting = { resolve, done }; });
        const message = Buffer.concat([number(1, ++sequence), number(2, method), fields]);
        send(message);
        await answered;
    };
}

// Collects a query_result that comes in one or more pieces.
class Answer {
    constructor() {
        this.columns = [];
        this.rows = [];
        this.row = [];
        this.error = null;
    }

    // Takes a piece; true when it was the last.
    take(result) {
        let last = false;
        parse(result, (part, value) => {
            if (part === 1) this.columns.push(value.toString("utf8"));
            if (part === 2 && value.length > 0) this.error = value.toString("utf8");
            if (part !== 3) return;
            for (const cell of cells(value)) {
                this.row.push(cell);
                if (this.row.length === this.columns.length) {
                    this.rows.push(this.row);
                    this.row = [];
                }
            }
            parse(value, (inner, flag) => { if (inner === 6 && flag === 1n) last = true; });
        });
        return last || this.error !== null;
    }

    value() { return this.error === null ? { columns: this.columns, rows: this.rows } : { error: this.error }; }
}

const query_args = (sql) => bytes(1, Buffer.from(sql));

// Both give a function from SQL to its answer.

async function in_node(folder, trace) {
    const call = start(folder);
    await new Promise((resolve) => setImmediate(resolve)); // the module is compiled at once, but made ready in a promise
    let failure = null;
    for (let at = 0; at < trace.length; at += PIECE) {
        await call(APPEND, bytes(101, trace.subarray(at, at + PIECE)), (field, value) => {
            if (field !== 201) return false;
            parse(value, (part, text) => { if (part === 2) failure = text.toString("utf8"); });
            return true;
        });
    }
    if (failure) throw new Error(failure);
    await call(FINALIZE, Buffer.alloc(0), (field) => field === 2 || field > 200);
    return async (sql) => {
        const answer = new Answer();
        await call(QUERY, bytes(103, query_args(sql)), (field, result) => field === 203 && answer.take(result));
        return answer.value();
    };
}

async function native(binary, file) {
    const port = await new Promise((resolve) => {
        const server = net.createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
    const child = child_process.spawn(binary, ["-D", "--http-port", String(port), file], { stdio: "ignore" });
    process.on("exit", () => child.kill());
    const post = (path, body) => fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body });
    for (let tries = 0; ; tries++) { // until the trace is loaded
        try {
            await post("/status", Buffer.alloc(0));
            break;
        } catch (error) {
            if (tries > 600 || child.exitCode !== null) throw new Error(`${binary} does not answer: ${error}`);
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    }
    return async (sql) => {
        const answer = new Answer();
        answer.take(Buffer.from(await (await post("/query", query_args(sql))).arrayBuffer()));
        return answer.value();
    };
}

function json(value) {
    if (typeof value === "bigint") return value.toString();
    if (typeof value === "number") return Number.isFinite(value) ? (Number.isInteger(value) ? value.toFixed(1) : String(value)) : JSON.stringify(String(value));
    if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
    if (value !== null && typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${json(v)}`).join(",")}}`;
    return JSON.stringify(value);
}

async function main() {
    const [engine, file] = process.argv.slice(2);
    const query = fs.statSync(engine).isDirectory() ? await in_node(engine, fs.readFileSync(file)) : await native(engine, file);
    const answers = [];
    for (const sql of JSON.parse(fs.readFileSync(0, "utf8"))) answers.push(await query(sql));
    await new Promise((resolve) => process.stdout.write(json(answers) + "\n", resolve));
}

main().then(() => process.exit(0), (error) => {
    console.error(String(error.stack || error));
    process.exit(1);
});

"use strict";
// The data of the report, with its parts by number.

const report = JSON.parse(document.getElementById("data").textContent);

/** Of the data that this page shows; those of another version may be made by another library. */
const known_schema = 1;
if (report.schema !== known_schema) {
  const text = `This page shows data of schema ${known_schema}; these have ` +
    (report.schema === undefined ? "none" : `schema ${report.schema}`) +
    ". Make the page with the version of Scanloom that made the data.";
  document.querySelector("main").textContent = text;
  throw new Error(text);
}

const by_id = (list) => new Map(list.map((each) => [each.id, each]));
const nodes = by_id(report.nodes);
const values = by_id(report.values);
const regions = by_id(report.regions);
const top_region = report.regions[0];

/** The region that each node is in. */
const region_of = new Map();
/** The node that makes each value; absent for arguments of regions. */
const producer_of = new Map();
/** The nodes that read each value. */
const readers_of = new Map();
for (const region of report.regions)
  for (const id of region.nodes) {
    region_of.set(id, region);
    for (const value of nodes.get(id).out) producer_of.set(value, id);
    for (const value of nodes.get(id).in) {
      if (!readers_of.has(value)) readers_of.set(value, new Set());
      readers_of.get(value).add(id);
    }
  }
const loop_of = new Map(report.loops.map((loop) => [loop.node, loop]));

const is_constant = (node) => node.op === "constant";

/** How a node is executed: {kind, text, with}; null if the sizes are not known. */
function execution_of(id) {
  return report.executions === null ? null : (report.executions[id] ?? null);
}

const kind_names = {
  compiled: "machine code", kernel: "kernel", fused: "computed with another node",
  dynamic: "sizes depend on data", plain: "plain loop, no kernel", object: "sequence or text",
  loop: "stepped loop", branch: "branch", view: "view", constant: "constant", none: "nothing to run",
};
const kind_keys = {
  compiled: "--compiled", kernel: "--kernel", fused: "--fused", dynamic: "--dynamic",
  plain: "--plain", object: "--object", loop: "--loop", branch: "--loop",
};
const key_of_kind = (kind) => `var(${kind_keys[kind] ?? "--quiet"})`;

/** "12.3 kB" for 12,345 bytes. */
function bytes_text(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let number = bytes;
  for (; number >= 999.5 && unit + 1 < units.length; ++unit) number /= 1000;
  return `${Number(number.toPrecision(3))} ${units[unit]}`;
}

function time_text(seconds) {
  const units = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]];
  const [unit, size] = units.find((each) => seconds >= 0.9995 * each[1]) ?? units[3];
  return `${Number((seconds / size).toPrecision(3))} ${unit}`;
}

const count_text = (count) => count.toLocaleString("en-US");
const counted = (count, one) => `${count_text(count)} ${one}${count === 1 ? "" : "s"}`;
const percent_text = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** The beginning and the end of a long text. */
function shortened(text, limit) {
  if (text.length <= limit) return text;
  const half = Math.floor((limit - 1) / 2);
  return `${text.slice(0, limit - half - 1)}\u2026${text.slice(text.length - half)}`;
}

/** The operator, or its kind: "max" for a reduce of that kind. */
const operator_of = (node) => (node.kind ? `${node.op} ${node.kind}` : node.op);

/** The user's first name without the words around it: "gru" of "node 'gru' (Scan-11)". */
function short_name(node) {
  const found = /'(.*?)'/.exec(node.name);
  return found ? found[1] : node.name;
}

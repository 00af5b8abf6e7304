// Sizes and positions: netron's layout for each open box by itself, from the innermost outwards.
// What is folded costs nothing.

const line_height = 15;
const box_padding = 14;
const head_height = 24;

/** The lines of a folded box: {text, class}. */
function lines_of(item) {
  const lines = own_lines(item);
  if (item.reads) lines.push({ text: shortened(`reads ${item.reads.join(", ")}`, 44), class: "soft" });
  if (item.read_by) lines.push({ text: `read by ${count_text(item.read_by)} boxes`, class: "soft" });
  return lines;
}

function own_lines(item) {
  if (item.kind === "port")
    return [{ text: shortened(item.label, 36), class: "head" },
      { text: shortened(item.detail, 40), class: "soft" }];
  if (item.kind === "section") {
    const last = item.first + item.ids.length;
    return [{ text: `nodes ${item.first + 1} to ${last}`, class: "head" },
      { text: shortened(operators_text(item.ids), 44), class: "soft" }];
  }
  const execution = execution_of(item.node.id);
  const lines = [{ text: operator_of(item.node), class: "head" },
    { text: shortened(short_name(item.node), 34), class: "" }];
  const loop = loop_of.get(item.node.id);
  if (loop && loop.steps >= 0) lines[0].text += `: ${counted(loop.steps, "step")}`;
  if (execution) lines.push({ text: shortened(execution_text(execution), 40), class: "soft" });
  for (const port of item.node.ports ?? [])
    if (port.kind !== "captured") lines.push({ text: shortened(folded_port(port), 46), class: "soft" });
  const captured = (item.node.ports ?? []).filter((port) => port.kind === "captured").length;
  if (captured > 0) lines.push({ text: counted(captured, "captured value"), class: "soft" });
  return lines;
}

function folded_port(port) {
  const arrow = { carried: "\u21bb", stacked: "\u2193" }[port.kind] ?? "\u2192";
  return `${arrow} ${port_text(port)}${port.how ? ` ${port.how}` : ""}`;
}

function execution_text(execution) {
  if (execution.kind === "kernel") return execution.text.split(";")[0];
  return kind_names[execution.kind] ?? execution.text;
}

/** "add x3, contract x2" */
function operators_text(ids) {
  const counts = new Map();
  for (const id of ids) {
    const name = nodes.get(id).op;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])
    .map(([name, count]) => (count > 1 ? `${name} \u00d7${count}` : name)).join(", ");
}

function size_folded(item) {
  item.lines = lines_of(item);
  const widest = Math.max(...item.lines.map((line) => text_width(line.text)));
  item.width = Math.max(70, widest + 2 * box_padding);
  item.height = item.lines.length * line_height + 12;
}

function size_open(item) {
  const inner = item.kind === "section" ? [contents_of_section(item)] :
    item.regions.map((id) => contents_of_region(regions.get(id)));
  item.lines = lines_of(item).slice(0, 1);
  if (item.node) item.lines[0].text += `  ${shortened(short_name(item.node), 40)}`;
  let x = box_padding;
  let height = 0;
  item.inner = inner;
  inner.forEach((contents, i) => {
    lay_out(contents);
    contents.x = x;
    contents.y = head_height + 8;
    const label = item.regions ? regions.get(item.regions[i]).label : "";
    contents.label = inner.length > 1 ? label : "";
    if (contents.label) contents.y += line_height;
    x += contents.width + box_padding;
    height = Math.max(height, contents.y + contents.height);
  });
  item.width = Math.max(x, text_width(item.lines[0].text) + 4 * box_padding);
  item.height = height + box_padding;
}

/** Places the items of {items, edges} around their centres, and gives the edges their points. */
function lay_out(contents) {
  for (const item of contents.items) {
    if (item.is_open) size_open(item);
    else size_folded(item);
  }
  const boxes = contents.items.map((item) =>
    ({ v: item.key, width: item.width, height: item.height, parent: null }));
  const edges = contents.edges.map((edge) => ({ v: edge.from, w: edge.to, minlen: 1, weight: 1,
    width: 0, height: 0, labeloffset: 10, labelpos: "r" }));
  // Without an edge there is no order from top to bottom: the boxes form one row.
  if (boxes.length > 0) layout_graph(boxes, edges, { nodesep: 18, ranksep: 28, edgesep: 8 }, {});
  const by_key = new Map(contents.items.map((item) => [item.key, item]));
  let right = 1;
  let bottom = 1;
  for (const box of boxes) {
    const item = by_key.get(box.v);
    item.x = box.x - item.width / 2;
    item.y = box.y - item.height / 2;
    right = Math.max(right, item.x + item.width);
    bottom = Math.max(bottom, item.y + item.height);
  }
  edges.forEach((edge, i) => {
    contents.edges[i].points = edge.points;
    for (const point of edge.points) right = Math.max(right, point.x);
  });
  contents.width = right;
  contents.height = bottom;
}

// Draws the graph, opens and folds boxes, and moves between them by keyboard.

const graph = { chosen: null, focused: null, boxes: new Map(), edges: [] };

const edge_line = d3.line().x((point) => point.x).y((point) => point.y).curve(d3.curveBasis);

function label_of(item) {
  const words = item.lines.map((line) => line.text.replace(/[\u2192\u21bb\u2193]/g, "port"));
  if (is_container(item)) words.push(item.is_open ? "open" : "folded");
  return words.join(", ");
}

const is_container = (item) =>
  item.kind === "section" || (item.kind === "node" && item.regions.length > 0);

function draw_item(item) {
  const execution = item.kind === "node" ? execution_of(item.node.id) : null;
  const container = is_container(item);
  const group = svg("g", {
    class: `item ${item.kind}${container ? " container" : ""}`, role: "button", tabindex: -1,
    transform: `translate(${item.x},${item.y})`, key: key_of_kind(execution?.kind),
    "aria-expanded": container ? String(Boolean(item.is_open)) : null,
    onclick: (event) => { event.stopPropagation(); activate(item); },
    onfocus: () => focus_item(item),
  }, svg("rect", { width: item.width, height: item.height, rx: item.kind === "port" ? 9 : 4 }));
  if (item.kind === "node")
    group.append(svg("rect", { class: "stripe", width: 5, height: item.height, rx: 2 }));
  const marker = container ? `${item.is_open ? "\u25be" : "\u25b8"} ` : "";
  item.lines.forEach((line, i) => group.append(svg("text",
    { class: line.class, x: box_padding, y: 17 + i * line_height }, (i === 0 ? marker : "") + line.text)));
  for (const contents of item.is_open ? item.inner : []) {
    const inner = svg("g", { transform: `translate(${contents.x},${contents.y})` });
    if (contents.label) inner.append(svg("text", { class: "soft", y: -6 }, contents.label));
    draw_contents(contents, inner);
    group.append(inner);
  }
  group.setAttribute("aria-label", label_of(item));
  item.element = group;
  graph.boxes.set(item.key, item);
  return group;
}

function draw_contents(contents, into) {
  for (const edge of contents.edges) {
    const names = edge.values.map((value) => values.get(value)).filter(Boolean)
      .map((value) => `${value.name || `%${value.id}`} ${value.type}`);
    edge.element = svg("path", { class: "edge", d: edge_line(edge.points),
      "marker-end": "url(#arrow)" }, svg("title", {}, names.join("\n")));
    into.append(edge.element);
    graph.edges.push(edge);
  }
  const items = contents.items.map(draw_item);
  into.append(...items);
}

function redraw() {
  graph.boxes.clear();
  graph.edges = [];
  const contents = contents_of_region(top_region);
  lay_out(contents);
  graph.contents = contents;
  graph.layer.replaceChildren();
  draw_contents(contents, graph.layer);
  mark_chosen();
  const first = graph.boxes.get(graph.focused) ?? contents.items[0];
  if (first) focus_item(first);
}

function focus_item(item) {
  graph.boxes.get(graph.focused)?.element.setAttribute("tabindex", -1);
  graph.focused = item.key;
  item.element.setAttribute("tabindex", 0);
}

function mark_chosen() {
  for (const item of graph.boxes.values())
    item.element.classList.toggle("chosen", item.key === graph.chosen);
  for (const edge of graph.edges)
    edge.element.classList.toggle("near", edge.from === graph.chosen || edge.to === graph.chosen);
}

/** Shows what a box is, and opens or folds it if it has something inside. */
function activate(item) {
  graph.chosen = item.key;
  show_details(item);
  if (!is_container(item)) {
    mark_chosen();
    return;
  }
  if (open_boxes.has(item.key)) open_boxes.delete(item.key);
  else open_boxes.add(item.key);
  const before = item.element.getBoundingClientRect();
  redraw();
  const now = graph.boxes.get(item.key);
  const after = now.element.getBoundingClientRect();
  move_by(before.left - after.left, before.top - after.top);
  now.element.focus({ preventScroll: true });
}

function move_by(right, down) {
  const at = d3.zoomTransform(graph.svg);
  d3.select(graph.svg).call(graph.zoom.transform,
    d3.zoomIdentity.translate(at.x + right, at.y + down).scale(at.k));
}

const stage_margin = 15;
/** Text of 12 pixels is readable at this scale; on a phone, which is held closer, only at its size. */
const readable_scale = (stage_width) => (stage_width < 600 ? 1 : 0.8);

/** The middle, from left to right, of the uppermost box that is nearest to the graph's own middle. */
function middle_of_top({ items, width }) {
  const top = d3.min(items, (item) => item.y);
  const middles = items.filter((item) => item.y < top + line_height)
    .map((item) => item.x + item.width / 2);
  const distance = (x) => Math.abs(x - width / 2);
  return middles.sort((a, b) => distance(a) - distance(b))[0] ?? width / 2;
}

/** The whole graph if it stays readable, otherwise its upper end. */
function fit() {
  const box = graph.svg.getBoundingClientRect();
  const { width, height } = graph.contents;
  const space = box.width - 2 * stage_margin;
  const whole = Math.min(space / width, (box.height - 2 * stage_margin) / height, 1.2);
  const scale = Math.max(whole, readable_scale(box.width));
  const centred = box.width / 2 - scale * (width * scale <= space ? width / 2 : middle_of_top(graph.contents));
  // Wider than the stage, it fills the stage: no gap on either side.
  const left = width * scale <= space ? centred :
    Math.min(stage_margin, Math.max(centred, box.width - stage_margin - width * scale));
  d3.select(graph.svg).call(graph.zoom.transform, d3.zoomIdentity.translate(left, stage_margin).scale(scale));
}

function center_on(item) {
  const stage = graph.svg.getBoundingClientRect();
  const box = item.element.getBoundingClientRect();
  move_by(stage.left + stage.width / 2 - (box.left + box.width / 2),
    stage.top + Math.min(stage.height / 2, 120) - box.top);
}

/** Opens what is around a node, brings it into view and describes it. */
function show_node(id) {
  reveal(id);
  graph.chosen = `n${id}`;
  redraw();
  const item = graph.boxes.get(graph.chosen);
  if (!item) return;
  document.getElementById("graph").scrollIntoView();
  center_on(item);
  show_details(item);
  item.element.focus({ preventScroll: true });
}

/** The nearest box in a direction, of those that are drawn. */
function neighbour(item, key) {
  const from = item.element.getBoundingClientRect();
  const centre = (box) => [box.left + box.width / 2, box.top + Math.min(box.height / 2, 15)];
  const [x, y] = centre(from);
  let best = null;
  let best_cost = Infinity;
  for (const other of graph.boxes.values()) {
    if (other === item) continue;
    const [ox, oy] = centre(other.element.getBoundingClientRect());
    const [ahead, aside] = { ArrowDown: [oy - y, ox - x], ArrowUp: [y - oy, ox - x],
      ArrowRight: [ox - x, oy - y], ArrowLeft: [x - ox, oy - y] }[key];
    const cost = ahead + 2.5 * Math.abs(aside);
    if (ahead > 3 && cost < best_cost) [best, best_cost] = [other, cost];
  }
  return best;
}

function on_key(event) {
  const item = graph.boxes.get(graph.focused);
  if (!item) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    activate(item);
  } else if (event.key.startsWith("Arrow")) {
    event.preventDefault();
    const next = neighbour(item, event.key);
    if (!next) return;
    next.element.focus({ preventScroll: true });
    const stage = graph.svg.getBoundingClientRect();
    const box = next.element.getBoundingClientRect();
    if (box.left < stage.left || box.right > stage.right || box.top < stage.top ||
        box.bottom > stage.bottom) center_on(next);
  }
}

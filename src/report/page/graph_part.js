// The part of the page with the graph: its tools, the picture, and the description of what is
// chosen.

function row_of(term, ...content) {
  return [html("dt", {}, term), html("dd", {}, ...content)];
}

function value_text(id) {
  const value = values.get(id);
  if (!value) return "none";
  const size = value.bytes === undefined ? "" : `, ${bytes_text(value.bytes)}`;
  return `${value.name ? `${value.name}: ` : ""}${value.type}${size}`;
}

function operand_rows(node) {
  const rows = [];
  node.in.forEach((id, i) => {
    if (id < 0) return;
    const made_by = producer_of.get(id);
    const from = made_by === undefined ? [] : is_constant(nodes.get(made_by)) ? [", a constant"] :
      [" ", node_link(made_by, `from ${short_name(nodes.get(made_by))}`)];
    rows.push(...row_of(`operand ${i}`, value_text(id), from));
  });
  node.out.forEach((id, i) => {
    const readers = [...(readers_of.get(id) ?? [])].slice(0, 8);
    rows.push(...row_of(`result ${i}`, `${value_text(id)} `,
      readers.flatMap((reader) => [node_link(reader, `to ${short_name(nodes.get(reader))}`), " "])));
  });
  return rows;
}

function time_rows(node) {
  const rows = (report.run?.rows ?? []).filter((row) => row.nodes.includes(node.id));
  if (rows.length === 0) return [];
  return row_of("time in the run", rows.map((row) => html("div", {},
    `${time_text(row.seconds)} in ${counted(row.calls, "call")} (${row.kernel})`)));
}

function node_details(node) {
  const execution = execution_of(node.id);
  const loop = loop_of.get(node.id);
  return [html("h3", {}, node.name), html("dl", {},
    row_of("operator", operator_of(node)),
    execution ? row_of("execution", html("span", { class: "tag", key: key_of_kind(execution.kind) },
      kind_names[execution.kind] ?? execution.kind), ` ${execution.text} `,
      execution.with === undefined ? "" : node_link(execution.with)) : null,
    loop ? row_of("strategy", link_to(`loop-${node.id}`, "what would help it")) : null,
    time_rows(node), operand_rows(node),
    (node.attributes ?? []).flatMap(([name, text]) => row_of(name, text)))];
}

function show_details(item) {
  const content = item.kind === "node" ? node_details(item.node) :
    item.kind === "section" ? [html("h3", {}, item.lines[0].text),
      html("ul", {}, item.ids.map((id) =>
        html("li", {}, node_link(id), ` ${operator_of(nodes.get(id))}`)))] :
      [html("h3", {}, item.label), html("p", {}, item.values ?
        item.values.map((id) => html("div", {}, value_text(id))) : value_text(item.value))];
  graph.details.replaceChildren(...content.flat());
}

/** Nodes whose name, operator or results have the text in them. */
function matches(text) {
  const wanted = text.toLowerCase();
  const has = (each) => (each ?? "").toLowerCase().includes(wanted);
  return report.nodes.filter((node) => has(node.name) || has(operator_of(node)) ||
    node.out.some((id) => has(values.get(id)?.name)));
}

function search(text) {
  if (text.trim() === "") return;
  const found = matches(text.trim());
  graph.details.replaceChildren(html("h3", {}, `${counted(found.length, "node")} with "${text.trim()}"`),
    html("ul", {}, found.slice(0, 200).map((node) =>
      html("li", {}, node_link(node.id), ` ${operator_of(node)}`))),
    found.length > 200 ? html("p", {}, `and ${count_text(found.length - 200)} more`) : "");
}

function set_all_open(is_open) {
  open_boxes.clear();
  if (is_open) {
    // Opening sections as well would draw every node of a large model.
    for (const region of report.regions)
      if (region.owner !== undefined && shown_nodes(region).length <= max_nodes_at_once)
        open_boxes.add(`n${region.owner}`);
  }
  redraw();
  fit();
}

function graph_tools() {
  const box = html("input", { type: "search", placeholder: "name or operator",
    "aria-label": "Find nodes", onkeydown: (event) => {
      if (event.key === "Enter") search(box.value);
    } });
  const zoom_by = (factor) => d3.select(graph.svg).call(graph.zoom.scaleBy, factor);
  const button = (text, action, label) =>
    html("button", { type: "button", onclick: action, "aria-label": label ?? null }, text);
  return html("div", { class: "tools" }, box, button("Find", () => search(box.value)),
    button("+", () => zoom_by(1.3), "Larger"), button("\u2212", () => zoom_by(1 / 1.3), "Smaller"),
    button("Fit", fit), button("Open loops and branches", () => set_all_open(true)),
    button("Fold all", () => set_all_open(false)),
    html("label", {}, html("input", { type: "checkbox", onchange: (event) => {
      shows_constants = event.target.checked;
      redraw();
      fit();
    } }), "constants"));
}

function legend() {
  const used = new Set(Object.values(report.executions ?? {}).map((execution) => execution.kind));
  return html("ul", { class: "legend" }, Object.keys(kind_keys).filter((kind) => used.has(kind))
    .map((kind) => html("li", { key: key_of_kind(kind) }, kind_names[kind])));
}

function add_graph() {
  graph.layer = svg("g", {});
  graph.svg = svg("svg", { role: "group", "aria-label": "Graph of the model", onkeydown: on_key },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4,
      markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { class: "arrow", d: "M0,0L8,4L0,8z" }))), graph.layer);
  graph.details = html("div", { class: "aside", role: "region", "aria-live": "polite",
    "aria-label": "What is chosen", tabindex: 0 },
  html("p", { class: "soft" }, "Choose a box to see its types, its sizes and how it is executed. Loops " +
    "and branches open when they are chosen. Drag to move, Ctrl and the wheel to zoom; by keyboard, " +
    "the arrows move from box to box and Enter chooses."));
  graph.zoom = d3.zoom().scaleExtent([0.02, 4])
    .filter(() => !d3.event.button && (d3.event.type !== "wheel" || d3.event.ctrlKey || d3.event.metaKey))
    .on("zoom", () => graph.layer.setAttribute("transform", d3.event.transform));
  const hidden = report.nodes.filter(is_constant).length;
  add_part("graph", "Graph", html("p", { class: "soft" },
    `The program after passes: ${counted(report.nodes.length - hidden, "node")}` +
    `${hidden > 0 ? ` and ${counted(hidden, "constant")}` : ""}.`), graph_tools(),
  html("div", { class: "split" }, html("div", { class: "stage" }, graph.svg), graph.details), legend());
  d3.select(graph.svg).call(graph.zoom).on("dblclick.zoom", null);
  redraw();
  fit();
}

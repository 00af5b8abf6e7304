// The boxes of a region, which are its arguments, its nodes (many as sections) and its results, and
// the edges between them.

const max_nodes_at_once = 90;
const max_captured_ports = 5;
/** A value that more boxes than this read, such as a table of weights, is named in them instead of
    drawn as edges. */
const max_edges_from = 12;

/** Keys of boxes that are open: "n7" for the regions of node 7, "s3:40" for a section. */
const open_boxes = new Set();
let shows_constants = false;

const is_shown = (id) => shows_constants || !is_constant(nodes.get(id));
const shown_nodes = (region) => region.nodes.filter(is_shown);

function port_item(region, label, value, kind) {
  const type = values.get(value)?.type ?? "";
  return { key: `${kind}${region.id}:${value}:${label}`, kind: "port", label, detail: type, value };
}

/** The name of an argument or result of a region, by the loop's ports. */
function ports_of_region(region) {
  const owner = region.owner === undefined ? null : nodes.get(region.owner);
  if (owner === null) {
    return {
      args: region.args.map((value, i) =>
        port_item(region, `input ${report.inputs[i]?.name ?? values.get(value).name}`, value, "a")),
      yields: region.yields.map((value, i) =>
        port_item(region, `output ${report.outputs[i]?.name ?? "state"}`, value, `y${i}`)),
    };
  }
  if (!owner.ports)
    return {
      args: region.args.map((value) =>
        port_item(region, `given ${values.get(value).name || `%${value}`}`, value, "a")),
      yields: region.yields.map((value, i) => port_item(region, `result ${i}`, value, `y${i}`)),
    };
  const inside = owner.ports.filter((port) => port.inside !== undefined);
  const captured = inside.filter((port) => port.kind === "captured");
  const folds = captured.length > max_captured_ports;
  const args = inside.filter((port) => !folds || port.kind !== "captured").map((port) =>
    port_item(region, port_text(port), port.inside, "a"));
  if (folds)
    args.push({ key: `c${region.id}`, kind: "port", label: counted(captured.length, "captured value"),
      detail: "the same in every step", values: captured.map((port) => port.inside) });
  const yields = owner.ports.filter((port) => port.next !== undefined).map((port, i) =>
    port_item(region, port.kind === "carried" ? `next ${port.name}` : port_text(port), port.next,
      `y${i}`));
  return { args, yields };
}

const port_text = (port) =>
  `${port.kind}${port.name.startsWith(port.kind) ? port.name.slice(port.kind.length) :
    port.kind === "trip count" || port.kind === "condition" || port.kind === "keep going" ? "" :
      ` ${port.name}`}`;

function node_item(id) {
  const node = nodes.get(id);
  const key = `n${id}`;
  return { key, kind: "node", node, regions: node.regions ?? [], is_open: open_boxes.has(key) };
}

/** Consecutive nodes as boxes of about equal size, so that no layout is ever large. */
function section_items(owner_key, ids) {
  const size = Math.max(30, Math.ceil(Math.sqrt(ids.length)));
  const items = [];
  for (let first = 0; first < ids.length; first += size) {
    const key = `s${owner_key}:${first}`;
    items.push({ key, kind: "section", ids: ids.slice(first, first + size), first,
      is_open: open_boxes.has(key) });
  }
  return items;
}

function add_edge(edges, from, to, value) {
  if (from === undefined || to === undefined || from === to) return;
  const key = `${from}>${to}`;
  if (!edges.has(key)) edges.set(key, { from, to, values: [] });
  edges.get(key).values.push(value);
}

/** Boxes of nodes with the edges between them; `sources`: by value, the box that it comes from. */
function linked(items, sources) {
  const edges = new Map();
  const members = (item) => (item.kind === "section" ? item.ids : [item.node.id]);
  for (const item of items)
    for (const id of members(item)) for (const value of nodes.get(id).out) sources.set(value, item.key);
  for (const item of items)
    for (const id of members(item))
      for (const value of nodes.get(id).in) add_edge(edges, sources.get(value), item.key, value);
  return edges;
}

function name_of_source(item) {
  if (item.kind === "node") return short_name(item.node);
  return item.kind === "section" ? `nodes ${item.first + 1} to ${item.first + item.ids.length}` :
    item.label.replace(/^input /, "");
}

/** Leaves out the edges from boxes that many others read; those name them instead. */
function without_wide(items, edges) {
  const counts = new Map();
  for (const edge of edges) counts.set(edge.from, (counts.get(edge.from) ?? 0) + 1);
  const by_key = new Map(items.map((item) => [item.key, item]));
  return edges.filter((edge) => {
    if (counts.get(edge.from) <= max_edges_from) return true;
    const target = by_key.get(edge.to);
    const source = by_key.get(edge.from);
    target.reads = [...(target.reads ?? []), name_of_source(source)];
    source.read_by = counts.get(edge.from);
    return false;
  });
}

function contents_of_section(section) {
  const items = section.ids.map(node_item);
  return { items, edges: without_wide(items, [...linked(items, new Map()).values()]) };
}

function contents_of_region(region) {
  const { args, yields } = ports_of_region(region);
  const ids = shown_nodes(region);
  const items = ids.length > max_nodes_at_once ? section_items(region.id, ids) : ids.map(node_item);
  const sources = new Map();
  for (const arg of args) for (const value of arg.values ?? [arg.value]) sources.set(value, arg.key);
  const edges = linked(items, sources);
  for (const port of yields) add_edge(edges, sources.get(port.value), port.key, port.value);
  const used = new Set([...edges.values()].flatMap((edge) => [edge.from, edge.to]));
  const seen = (port) => used.has(port.key) || region === top_region;
  const all = [...args.filter(seen), ...items, ...yields];
  return { items: all, edges: without_wide(all, [...edges.values()]) };
}

/** Opens every box around a node. */
function reveal(id) {
  for (let node = id; node !== undefined;) {
    const region = region_of.get(node);
    if (!region) return;
    if (is_constant(nodes.get(node))) shows_constants = true;
    const ids = shown_nodes(region);
    if (ids.length > max_nodes_at_once) {
      const section = section_items(region.id, ids).find((each) => each.ids.includes(node));
      open_boxes.add(section.key);
    }
    if (region.owner !== undefined) open_boxes.add(`n${region.owner}`);
    node = region.owner;
  }
}

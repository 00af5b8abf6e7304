// Where the time of a run went: a flame chart over nodes and the steps of loops, and the longest
// rows as a table.

const flame_row = 24;
/** Neighbours narrower than `min_bar` pixels become one block, of about `min_block` at least. */
const min_bar = 3;
const min_block = 14;

/** The rows of the profile as a tree, in which the body of a loop is below it. `self` is the time of
    a row without that of the rows below it. */
function flame_tree() {
  const root = { name: "run", seconds: report.run.seconds, calls: 1, nodes: [], children: [] };
  const open = [root];
  for (const row of report.run.rows) {
    if (row.kernel === "estimate") continue; // of reading the clock: a part of the other rows
    const depth = Math.min(row.depth, open.length - 1);
    const each = { ...row, children: [] };
    open[depth].children.push(each);
    open.length = depth + 1;
    open.push(each);
  }
  const set_self = (each) => {
    for (const child of each.children) set_self(child);
    const below = d3.sum(each.children, (child) => child.total);
    each.total = Math.max(each.seconds, below);
    each.self = each.total - below;
  };
  set_self(root);
  return root;
}

function kind_of_row(row) {
  if (row.kernel?.startsWith("compiled") || row.kernel === "machine code") return "compiled";
  if (row.kernel === "stepped") return "loop";
  if (row.kernel?.endsWith("reference")) return "plain";
  if (row.kernel === "dynamic" || row.kernel === "object") return row.kernel;
  return row.name === "run" ? "none" : "kernel";
}

function title_of_row(row) {
  const each = row.calls > 1 ? `, ${counted(row.calls, "call")} of ${time_text(row.seconds / row.calls)}` : "";
  const loop = row.nodes.map((id) => loop_of.get(id)).find(Boolean);
  const steps = loop?.steps > 0 && row.calls === 1 ?
    `, ${counted(loop.steps, "step")} of ${time_text(row.seconds / loop.steps)}` : "";
  const share = row.total / report.run.seconds;
  return `${row.name}${row.kernel ? ` (${row.kernel})` : ""}: ${time_text(row.total)}, ` +
    `${percent_text(share)}${each}${steps}`;
}

/** The bars of a depth from left to right, narrow neighbours as blocks: {rows, x0, x1, depth}. */
function merged_bars(bars, x) {
  const width = (each) => x(each.x1) - x(each.x0);
  const drawn = [];
  let block = null;
  for (const bar of bars) {
    const is_narrow = width(bar) < min_bar;
    const follows = block !== null && width(block) < min_block && x(bar.x0) - x(block.x1) < min_bar;
    if (is_narrow && follows) {
      block.rows.push(bar.data);
      block.x1 = bar.x1;
      continue;
    }
    const next = { rows: [bar.data], x0: bar.x0, x1: bar.x1, depth: bar.depth };
    drawn.push(next);
    block = is_narrow ? next : null;
  }
  return drawn;
}

function title_of_bar(bar) {
  if (bar.rows.length === 1) return title_of_row(bar.rows[0]);
  const seconds = d3.sum(bar.rows, (row) => row.total);
  return `${counted(bar.rows.length, "row")}, ${time_text(seconds)}, ` +
    `${percent_text(seconds / report.run.seconds)}: ${bar.rows[0].name} to ` +
    `${bar.rows[bar.rows.length - 1].name}`;
}

/** The most frequent kind of a block, so that its colour says what it is made of. */
function kind_of_bar(bar) {
  const counts = d3.nest().key(kind_of_row).rollup((rows) => rows.length).entries(bar.rows);
  return counts.reduce((most, each) => (each.value > most.value ? each : most)).key;
}

function draw_bar(flame, bar, left, space) {
  const title = title_of_bar(bar);
  const text = space > 40 ? shortened(title, Math.floor(space / 6.2)) : "";
  const choose = () => choose_bar(flame, bar);
  return svg("g", { class: "bar", role: "button", tabindex: 0, "aria-label": title,
    key: key_of_kind(kind_of_bar(bar)), transform: `translate(${left},${bar.depth * flame_row})`,
    onclick: choose,
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
      flame.chart.querySelector(".bar")?.focus();
    } },
  svg("title", {}, title), svg("rect", { width: Math.max(space, 1), height: flame_row - 1 }),
  text ? svg("text", { x: 5, y: 16 }, text) : null);
}

function draw_flame(flame) {
  const width = chart_width();
  const root = d3.hierarchy(flame.tree).sum((row) => row.self);
  d3.partition()(root);
  const focus = flame.focus ?? { rows: [flame.tree], x0: 0, x1: 1, depth: 0 };
  const x = d3.scaleLinear([focus.x0, focus.x1], [0, width]);
  const seen = root.descendants().filter((each) => each.x1 > focus.x0 && each.x0 < focus.x1);
  const depths = d3.range(root.height + 1).map((depth) =>
    merged_bars(seen.filter((each) => each.depth === depth).sort((a, b) => a.x0 - b.x0), x));
  flame.chart.setAttribute("viewBox", `0 0 ${width} ${(root.height + 1) * flame_row}`);
  flame.chart.replaceChildren(...depths.flat().map((bar) => {
    const left = Math.max(0, x(bar.x0));
    return draw_bar(flame, bar, left, Math.min(width, x(bar.x1)) - left);
  }));
  const outside = flame.focus === null && flame.tree.self > 0.005 * flame.tree.total ?
    ` ${percent_text(flame.tree.self / flame.tree.total)} is outside of nodes: inputs, results, memory, and reading the clock.` : "";
  flame.note.replaceChildren(html("span", {}, `${title_of_bar(focus)}. `),
    ...(focus.rows.length === 1 ? (focus.rows[0].nodes ?? []).slice(0, 1) : [])
      .map((id) => node_link(id, "show in the graph")), outside);
}

/** Enlarges a bar; the whole run if it is large already. */
function choose_bar(flame, bar) {
  const is_same = flame.focus?.rows[0] === bar.rows[0] && flame.focus.rows.length === bar.rows.length;
  // A bar of no time cannot be enlarged.
  flame.focus = is_same || bar.rows[0] === flame.tree || bar.x1 <= bar.x0 ? null : bar;
  draw_flame(flame);
}

function longest_rows() {
  const rows = [...report.run.rows].sort((a, b) => b.seconds - a.seconds).slice(0, 15);
  return table("The longest rows; the time of a loop has that of its body in it",
    ["node", "how", { name: "time", number: true }, { name: "share", number: true },
      { name: "calls", number: true }, { name: "each", number: true }],
    rows.map((row) => [row.nodes.length > 0 ? node_link(row.nodes[0], row.name) : row.name, row.kernel,
      time_text(row.seconds), percent_text(row.seconds / report.run.seconds),
      count_text(row.calls), time_text(row.seconds / Math.max(row.calls, 1))]));
}

function add_time() {
  if (report.run === null || report.run.rows.length === 0) {
    add_part("time", "Time", html("p", {}, report.run === null ?
      "Nothing ran: give the report inputs to see where the time goes." :
      report.nodes.some((node) => !is_constant(node)) ? "This run was not timed node by node." :
        "There are no nodes whose time could be taken."));
    return;
  }
  const chart = svg("svg", { class: "chart", role: "group", "aria-label": "Flame chart of the run" });
  const note = html("p", { class: "soft", "aria-live": "polite" });
  const flame = { tree: flame_tree(), focus: null, chart, note };
  add_part("time", "Time", html("p", { class: "soft" },
    "One run, timed node by node, which itself takes some time. The bars below a loop share its " +
    "time as its steps did. Rows too narrow to see are drawn together. Choose a bar to enlarge it."),
  chart, note, longest_rows());
  draw_to_width(() => draw_flame(flame));
}

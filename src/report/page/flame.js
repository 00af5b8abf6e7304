// Where the time of a run went: a flame chart over nodes and the steps of loops, and the longest
// rows as a table.

const flame_row = 24;
const min_bar = 0.7; // in pixels; smaller bars are left out of the picture

/** The rows of the profile as a tree: the body of a loop below it. `self`: without what is below. */
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

function way_of_row(row) {
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

function draw_flame(chart, note, tree, focus) {
  const width = 1200;
  const root = d3.hierarchy(tree).sum((row) => row.self);
  const height = (root.height + 1) * flame_row;
  d3.partition().size([1, height])(root);
  const shown = root.descendants().find((each) => each.data === focus) ?? root;
  const x = d3.scaleLinear([shown.x0, shown.x1], [0, width]);
  const bars = root.descendants().filter((each) => each.x1 > shown.x0 && each.x0 < shown.x1);
  const visible = bars.filter((each) => x(each.x1) - x(each.x0) >= min_bar);
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.replaceChildren(...visible.map((each) => {
    const left = Math.max(0, x(each.x0));
    const space = Math.min(width, x(each.x1)) - left;
    const title = title_of_row(each.data);
    const text = space > 40 ? shortened(title, Math.floor(space / 6.2)) : "";
    return svg("g", { class: "bar", role: "button", tabindex: 0, "aria-label": title,
      key: key_of_way(way_of_row(each.data)), transform: `translate(${left},${each.y0})`,
      onclick: () => choose_bar(chart, note, tree, each.data),
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose_bar(chart, note, tree, each.data);
        chart.querySelector(".bar")?.focus();
      } },
    svg("title", {}, title), svg("rect", { width: Math.max(space, 0.5), height: flame_row - 1 }),
    text ? svg("text", { x: 5, y: 16 }, text) : null);
  }));
  const left_out = bars.length - visible.length;
  const outside = shown.data === tree && tree.self > 0.005 * tree.total ?
    ` ${percent_text(tree.self / tree.total)} is outside of nodes: inputs, results, memory, and reading the clock.` : "";
  note.replaceChildren(html("span", {}, `${title_of_row(shown.data)}. `),
    ...(shown.data.nodes ?? []).slice(0, 1).map((id) => node_link(id, "show in the graph")),
    outside, left_out > 0 ? ` ${counted(left_out, "bar")} too narrow to see.` : "");
}

/** Enlarges a bar; the whole run if it is large already. */
function choose_bar(chart, note, tree, row) {
  const next = chart.focus_row === row ? tree : row;
  chart.focus_row = next;
  draw_flame(chart, note, tree, next);
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
      "This run was not timed node by node."));
    return;
  }
  const tree = flame_tree();
  const chart = svg("svg", { class: "chart", role: "group", "aria-label": "Flame chart of the run" });
  const note = html("p", { class: "soft", "aria-live": "polite" });
  const section = add_part("time", "Time", html("p", { class: "soft" },
    "One run, timed node by node, which itself takes some time. The bars below a loop share its " +
    "time as its steps did. Choose a bar to enlarge it."), chart, note, longest_rows());
  draw_flame(chart, note, tree, tree);
  section.dataset.bars = report.run.rows.length;
}

// Each loop: its share of the run, its distance to the roofline, its strategy, what stands in the
// way, and what would help.

function seconds_of(loop) {
  const rows = (report.run?.rows ?? []).filter((row) => row.nodes[0] === loop.node);
  return d3.sum(rows, (row) => row.seconds);
}

function share_cell(loop) {
  if (!report.run || report.run.seconds <= 0) return "";
  const share = Math.min(1, seconds_of(loop) / report.run.seconds);
  return html("span", {}, html("meter", { min: 0, max: 1, value: share, "aria-hidden": "true" }), ` ${percent_text(share)}`);
}

function loop_rows() {
  return report.loops.map((loop) => {
    const measured = loop.measured;
    const least = loop.work.least_seconds;
    return [link_to(`loop-${loop.node}`, loop.name), share_cell(loop),
      loop.steps < 0 ? "" : count_text(loop.steps),
      measured ? time_text(measured.seconds_per_step) : "",
      least ? time_text(least) : "",
      measured && least ? `${Number((measured.seconds_per_step / least).toPrecision(2))} times` : "",
      html("span", { class: "tag", key: key_of_kind(loop.is_code ? "compiled" : "loop") },
        loop.is_code ? "machine code" : "stepped")];
  });
}

function obstacle_item(obstacle) {
  return html("li", {}, `${obstacle.text} `,
    obstacle.node === undefined ? "" : node_link(obstacle.node, "show it"));
}

function state_rows(loop) {
  const carried = (nodes.get(loop.node)?.ports ?? []).filter((port) => port.kind === "carried");
  return carried.map((port, i) => [port.name, values.get(port.inside)?.type ?? "", loop.states[i] ?? ""]);
}

function loop_card(loop) {
  const work = loop.work;
  const states = state_rows(loop);
  return html("article", { class: "loop", id: `loop-${loop.node}`, "aria-label": loop.name },
    html("h3", {}, node_link(loop.node, loop.name)), html("p", {}, loop.strategy),
    html("p", { class: "soft" }, `${work.is_all ? "" : "At least "}${bytes_text(work.bytes)} and ` +
      `${count_text(Math.round(work.operations))} operations per step, ${bytes_text(work.state_bytes)} of state` +
      (loop.measured ? `; measured over ${counted(loop.measured.steps, "step")}` : "") +
      (loop.measured?.threads > 1 ? `, on ${loop.measured.threads} threads` : "") + "."),
    loop.obstacles.length > 0 ? [html("b", {}, "What stands in the way"),
      html("ul", {}, loop.obstacles.map(obstacle_item))] : null,
    loop.advice.length > 0 ? [html("b", {}, "What would help"),
      html("ul", {}, [...new Set(loop.advice)].map((text) => html("li", {}, text)))] : null,
    states.length > 0 ? table("States", ["state", "type", "kept"], states) : null);
}

function add_loops() {
  const all = report.nodes.filter((node) => node.op === "loop");
  if (report.loops.length === 0) {
    add_part("loops", "Loops", html("p", {}, all.length === 0 ? "No loops are left after passes." :
      `${counted(all.length, "loop")}; strategies are chosen when the sizes of the inputs are known.`));
    return;
  }
  add_part("loops", "Loops", table(null, ["loop", "share of the run", { name: "steps", number: true },
    { name: "per step", number: true }, { name: "roofline", number: true },
    { name: "distance", number: true }, "runs as"], loop_rows()), roofline(),
  report.loops.map(loop_card));
}

// The memory of a run: the arena over time, its peak, and what holds it.

const max_drawn_buffers = 1500;

/** Bytes alive at each moment, and the moment with the most. */
function live_bytes(memory) {
  const changes = new Float64Array(memory.moments + 1);
  for (const buffer of memory.buffers) {
    changes[buffer.born] += buffer.bytes;
    changes[buffer.dies + 1] -= buffer.bytes;
  }
  let now = 0;
  let peak = 0;
  const live = Array.from({ length: memory.moments }, (_, moment) => {
    now += changes[moment];
    if (now > live_peak.bytes) [live_peak.bytes, peak] = [now, moment];
    return now;
  });
  live_peak.moment = peak;
  return live;
}
const live_peak = { bytes: 0, moment: 0 };

function buffer_title(buffer) {
  const held = buffer.node === undefined ? "a value" : nodes.get(buffer.node)?.name ?? "a value";
  return `${held}: ${bytes_text(buffer.bytes)}`;
}

function draw_arena(memory, live) {
  const size = { width: 1200, height: 320, left: 70, right: 10, top: 14, bottom: 34 };
  const x = d3.scaleLinear([0, memory.moments], [size.left, size.width - size.right]);
  const y = d3.scaleLinear([0, Math.max(memory.arena, 1)], [size.height - size.bottom, size.top]);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${size.width} ${size.height}`, role: "img",
    "aria-label": `The arena over a run: peak ${bytes_text(live_peak.bytes)}` });
  for (const loop of memory.loops)
    chart.append(svg("rect", { class: "band", x: x(loop.first), y: size.top,
      width: Math.max(2, x(loop.last + 1) - x(loop.first)), height: size.height - size.bottom - size.top },
    svg("title", {}, nodes.get(loop.node)?.name ?? "loop")));
  const largest = [...memory.buffers].sort((a, b) => b.bytes - a.bytes).slice(0, max_drawn_buffers);
  const colour = d3.scaleOrdinal(["--kernel", "--compiled", "--object", "--fused", "--dynamic"]);
  largest.forEach((buffer, i) => chart.append(svg("rect", { class: "buffer",
    key: `var(${colour(buffer.node ?? -1 - i)})`, x: x(buffer.born), y: y(buffer.offset + buffer.bytes),
    width: Math.max(1, x(buffer.dies + 1) - x(buffer.born)), height: Math.max(1, y(buffer.offset) -
      y(buffer.offset + buffer.bytes)) }, svg("title", {}, buffer_title(buffer)))));
  const line = d3.line().x((_, i) => x(i + 0.5)).y((bytes) => y(bytes)).curve(d3.curveStep);
  chart.append(svg("path", { class: "live", d: line(live) }),
    svg("line", { class: "mark", x1: x(live_peak.moment + 0.5), x2: x(live_peak.moment + 0.5),
      y1: size.top, y2: size.height - size.bottom }));
  const axis_x = svg("g", { transform: `translate(0,${size.height - size.bottom})` });
  const axis_y = svg("g", { transform: `translate(${size.left},0)` });
  d3.select(axis_x).call(d3.axisBottom(x).ticks(10, "d"));
  d3.select(axis_y).call(d3.axisLeft(y).ticks(5).tickFormat(bytes_text));
  chart.append(axis_x, axis_y, svg("text", { class: "soft", x: size.width - size.right,
    y: size.height - 3, "text-anchor": "end" }, "moments: about one per call"));
  return chart;
}

function holders_at_peak(memory) {
  const held = memory.buffers.filter((buffer) =>
    buffer.born <= live_peak.moment && live_peak.moment <= buffer.dies);
  const rows = held.sort((a, b) => b.bytes - a.bytes).slice(0, 15);
  return table(`What holds the peak of ${bytes_text(live_peak.bytes)}: the largest ${rows.length} of ` +
    `${counted(held.length, "buffer")}`,
  ["held for", { name: "bytes", number: true }, { name: "share", number: true },
    { name: "from", number: true }, { name: "to", number: true }],
  rows.map((buffer) => [buffer.node === undefined ? "a value" : node_link(buffer.node),
    bytes_text(buffer.bytes), percent_text(buffer.bytes / live_peak.bytes), count_text(buffer.born),
    count_text(buffer.dies)]));
}

function add_memory() {
  const memory = report.memory;
  if (memory === null) {
    add_part("memory", "Memory", html("p", {}, "Known when the sizes of the inputs are known."));
    return;
  }
  const live = live_bytes(memory);
  const rows = [["values of the run (the arena)", bytes_text(memory.arena)],
    ["results", bytes_text(memory.results)], ["temporary memory of kernels", bytes_text(memory.scratch)]];
  if (memory.depends_on_data)
    rows.push(["values whose sizes depend on data, in the last run",
      memory.data < 0 ? "not known: nothing ran" : bytes_text(memory.data)]);
  add_part("memory", "Memory", table("Bytes of one run", ["for", { name: "bytes", number: true }], rows),
    live_peak.bytes > 0 ? [html("p", { class: "soft" }, "Each rectangle is a value: when it is alive, and " +
      "where in the arena it is. The line is what is alive at each moment, the dashed line its peak; " +
      "shaded moments belong to loops."), draw_arena(memory, live), holders_at_peak(memory)] :
      html("p", { class: "soft" }, "The arena is empty: all values are inputs, results or constants."));
}

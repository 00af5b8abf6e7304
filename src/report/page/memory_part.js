// The memory of a run: the arena over time, its peak, and what holds it.

/** Values that are drawn narrower than `min_buffer` pixels join others of about their place, in
    blocks of about `buffer_block` pixels in width and `buffer_lane` in height. */
const min_buffer = 3;
const buffer_block = 6;
const buffer_lane = 4;

/** The arena over the run: {live, peak}, the bytes alive at each moment, and {bytes, moment} of the
    most. */
function arena_of(memory) {
  const changes = new Float64Array(memory.moments + 1);
  for (const buffer of memory.buffers) {
    changes[buffer.born] += buffer.bytes;
    changes[buffer.dies + 1] -= buffer.bytes;
  }
  let now = 0;
  const peak = { bytes: 0, moment: 0 };
  const live = Array.from({ length: memory.moments }, (_, moment) => {
    now += changes[moment];
    if (now > peak.bytes) [peak.bytes, peak.moment] = [now, moment];
    return now;
  });
  return { live, peak };
}

/** ": state 'h'", which of the values of its node it is; empty if that is not known. */
const which_value = (buffer) => (buffer.what ? `: ${buffer.what}` : "");

function holder_of(buffer) {
  return (nodes.get(buffer.node)?.name ?? "a value") + which_value(buffer);
}

/** The blocks to draw: {buffers, left, right, top, bottom}, in pixels; narrow buffers share one. */
function merged_buffers(buffers, x, y) {
  const drawn = [];
  const open = new Map(); // by lane: the block that narrow buffers still join
  for (const buffer of [...buffers].sort((a, b) => a.born - b.born)) {
    const left = x(buffer.born), right = x(buffer.dies + 1);
    const top = y(buffer.offset + buffer.bytes), bottom = y(buffer.offset);
    const next = { buffers: [buffer], left, right, top, bottom };
    if (right - left >= min_buffer) {
      drawn.push(next);
      continue;
    }
    const lane = `${Math.round(top / buffer_lane)},${Math.round(bottom / buffer_lane)}`;
    const block = open.get(lane);
    if (block && block.right - block.left < buffer_block && left - block.right < min_buffer) {
      block.buffers.push(buffer);
      block.right = Math.max(block.right, right);
      block.top = Math.min(block.top, top);
      block.bottom = Math.max(block.bottom, bottom);
    } else {
      drawn.push(next);
      open.set(lane, next);
    }
  }
  return drawn;
}

function title_of_block({ buffers }) {
  const [first] = buffers;
  if (buffers.length === 1) return `${holder_of(first)}: ${bytes_text(first.bytes)}`;
  const largest = d3.max(buffers, (buffer) => buffer.bytes);
  return `${counted(buffers.length, "value")} of up to ${bytes_text(largest)}: ${holder_of(first)} to ` +
    holder_of(buffers[buffers.length - 1]);
}

function draw_blocks(chart, memory, x, y) {
  const colour = d3.scaleOrdinal(["--kernel", "--compiled", "--object", "--fused", "--dynamic"]);
  merged_buffers(memory.buffers, x, y).forEach((block, i) => chart.append(svg("rect", {
    class: "buffer", key: `var(${colour(block.buffers[0].node ?? -1 - i)})`, x: block.left, y: block.top,
    width: Math.max(1, block.right - block.left), height: Math.max(1, block.bottom - block.top),
  }, svg("title", {}, title_of_block(block)))));
}

function draw_arena(chart, memory, { live, peak }) {
  const size = { width: chart_width(), height: 320, left: 70, right: 22, top: 14, bottom: 34 };
  const x = d3.scaleLinear([0, memory.moments], [size.left, size.width - size.right]);
  const y = d3.scaleLinear([0, Math.max(memory.arena, 1)], [size.height - size.bottom, size.top]);
  set_all(chart, { viewBox: `0 0 ${size.width} ${size.height}` });
  chart.replaceChildren(...memory.loops.map((loop) =>
    svg("rect", { class: "band", x: x(loop.first), y: size.top,
      width: Math.max(2, x(loop.last + 1) - x(loop.first)), height: size.height - size.bottom - size.top },
    svg("title", {}, nodes.get(loop.node)?.name ?? "loop"))));
  draw_blocks(chart, memory, x, y);
  const line = d3.line().x((_, i) => x(i + 0.5)).y((bytes) => y(bytes)).curve(d3.curveStep);
  chart.append(svg("path", { class: "live", d: line(live) }),
    svg("line", { class: "mark", x1: x(peak.moment + 0.5), x2: x(peak.moment + 0.5),
      y1: size.top, y2: size.height - size.bottom }));
  const axis_x = svg("g", { transform: `translate(0,${size.height - size.bottom})` });
  const axis_y = svg("g", { transform: `translate(${size.left},0)` });
  d3.select(axis_x).call(d3.axisBottom(x).ticks(Math.min(10, size.width / 70), "d"));
  d3.select(axis_y).call(d3.axisLeft(y).ticks(5).tickFormat(bytes_text));
  chart.append(axis_x, axis_y, svg("text", { class: "soft", x: size.width - size.right,
    y: size.height - 3, "text-anchor": "end" }, "moments: about one per call"));
}

function holders_at_peak(memory, peak) {
  const held = memory.buffers.filter((buffer) =>
    buffer.born <= peak.moment && peak.moment <= buffer.dies);
  const rows = held.sort((a, b) => b.bytes - a.bytes).slice(0, 15);
  return table(`What holds the peak of ${bytes_text(peak.bytes)}: the largest ${rows.length} of ` +
    `${counted(held.length, "buffer")}`,
  ["held for", { name: "bytes", number: true }, { name: "share", number: true },
    { name: "from", number: true }, { name: "to", number: true }],
  rows.map((buffer) => [buffer.node === undefined ? "a value" :
    html("span", {}, node_link(buffer.node), which_value(buffer)), bytes_text(buffer.bytes), percent_text(buffer.bytes / peak.bytes), count_text(buffer.born),
    count_text(buffer.dies)]));
}

function add_memory() {
  const memory = report.memory;
  if (memory === null) {
    add_part("memory", "Memory", html("p", {}, "Known when the sizes of the inputs are known."));
    return;
  }
  const arena = arena_of(memory);
  const peak = arena.peak;
  const rows = [["values of the run (the arena)", bytes_text(memory.arena)],
    ["results", bytes_text(memory.results)], ["temporary memory of kernels", bytes_text(memory.scratch)]];
  if (memory.depends_on_data)
    rows.push(["values whose sizes depend on data, in the last run",
      memory.data < 0 ? "not known: nothing ran" : bytes_text(memory.data)]);
  const chart = svg("svg", { class: "chart", role: "img",
    "aria-label": `The arena over a run: peak ${bytes_text(peak.bytes)}` });
  add_part("memory", "Memory", table("Bytes of one run", ["for", { name: "bytes", number: true }], rows),
    peak.bytes > 0 ? [html("p", { class: "soft" }, "Each rectangle is a value: when it is alive, and " +
      "where in the arena it is. Values alive too briefly to see are drawn together. The line is what is " +
      "alive at each moment, the dashed line its peak; shaded moments belong to loops."), chart,
    holders_at_peak(memory, peak)] :
      html("p", { class: "soft" }, "The arena is empty: all values are inputs, results or constants."));
  if (peak.bytes > 0) draw_to_width(() => draw_arena(chart, memory, arena));
}

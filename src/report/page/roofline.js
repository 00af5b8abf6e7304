// The roofline: what the machine could do at best for each loop's bytes and operations, and what
// the loop does.

/** Loops whose work per step is known and that were timed. */
function roofline_points() {
  return report.loops.filter((loop) => loop.measured && loop.work.is_all && loop.work.operations > 0)
    .map((loop) => {
      const bytes = Math.max(loop.work.bytes + loop.work.state_bytes, 1);
      return { loop, intensity: loop.work.operations / bytes,
        rate: loop.work.operations / loop.measured.seconds_per_step,
        roof: loop.work.least_seconds ? loop.work.operations / loop.work.least_seconds : null };
    });
}

function rate_text(rate) {
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  let number = rate;
  for (; number >= 999.5 && unit + 1 < units.length; ++unit) number /= 1000;
  return `${Number(number.toPrecision(3))} ${units[unit]}op/s`;
}

/** Powers of ten; where there are fewer than two, whatever is round. */
function log_ticks(scale) {
  const powers = scale.ticks(20).filter((each) => Number.isInteger(Math.round(Math.log10(each) * 1e6) / 1e6));
  return powers.length >= 2 ? powers : scale.ticks(3);
}

function draw_axes(chart, x, y, size) {
  const axis_x = svg("g", { transform: `translate(0,${size.height - size.bottom})` });
  const axis_y = svg("g", { transform: `translate(${size.left},0)` });
  d3.select(axis_x).call(d3.axisBottom(x).tickValues(log_ticks(x)).tickFormat(d3.format("~g")));
  d3.select(axis_y).call(d3.axisLeft(y).tickValues(log_ticks(y)).tickFormat(rate_text));
  chart.append(axis_x, axis_y,
    svg("text", { class: "soft", x: size.width - size.right, y: size.height - 6, "text-anchor": "end" },
      "operations per byte"));
}

function draw_roofs(chart, x, y, size) {
  const peak = report.machine.operations_per_second;
  const [first, last] = x.domain();
  const line = d3.line().x((point) => x(point[0])).y((point) => y(point[1]));
  const levels = report.machine.levels;
  // The nearest cache and the memory are enough to see; the others lie between them.
  for (const level of new Set([levels[0], levels[levels.length - 1]])) {
    const ridge = peak / level.bytes_per_second;
    const begin = Math.min(peak, first * level.bytes_per_second);
    const points = [[first, begin]];
    if (ridge > first && ridge < last) points.push([ridge, peak]);
    points.push([last, Math.min(peak, last * level.bytes_per_second)]);
    chart.append(svg("path", { class: "roof", d: line(points) }),
      svg("text", { class: "soft", x: x(first) + 6, y: y(begin) - 5 },
        `up to ${bytes_text(level.bytes)}`));
  }
  chart.append(svg("text", { class: "soft", x: size.width - size.right, y: y(peak) - 6,
    "text-anchor": "end" }, `${rate_text(peak)}, one core`));
}

function roofline() {
  const points = roofline_points();
  if (points.length === 0)
    return html("p", { class: "soft" }, "No roofline: it needs loops that ran and whose work per step " +
      "is known.");
  const size = { width: Math.min(760, chart_width()), height: 330, left: 80, right: 16, top: 22, bottom: 40 };
  const rates = points.flatMap((point) => [point.rate, point.roof ?? point.rate]);
  let [least, most] = d3.extent(points, (point) => point.intensity);
  if (report.machine) {
    const peak = report.machine.operations_per_second;
    rates.push(peak);
    const ridges = report.machine.levels.map((level) => peak / level.bytes_per_second);
    [least, most] = d3.extent([least, most, ...ridges]);
  }
  const x = d3.scaleLog([least / 8, most * 8], [size.left, size.width - size.right]);
  const y = d3.scaleLog([d3.min(rates) / 3, d3.max(rates) * 2], [size.height - size.bottom, size.top]);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${size.width} ${size.height}`, role: "img",
    "aria-label": "Roofline of the loops; the table below has the numbers", style: "max-width:760px" });
  draw_axes(chart, x, y, size);
  if (report.machine) draw_roofs(chart, x, y, size);
  for (const point of points) {
    const at = x(point.intensity);
    if (point.roof) chart.append(svg("line", { class: "gap", x1: at, x2: at, y1: y(point.rate), y2: y(point.roof) }));
    chart.append(svg("circle", { class: "dot", cx: at, cy: y(point.rate), r: 5 },
      svg("title", {}, `${point.loop.name}: ${rate_text(point.rate)}`)),
    svg("text", { x: at + 8, y: y(point.rate) + 4 }, shortened(short_name(point.loop), 26)));
  }
  return html("div", {}, chart, report.machine ?
    html("p", { class: "soft" }, `${report.machine.cpu}, ${report.machine.isa}. Loops with small steps are ` +
      "far below the roof because each step waits for the one before it.") :
    html("p", { class: "soft" }, "The roof is missing because this machine has not been measured. ",
      html("code", {}, "scanloom bench --calibrate"), " measures it in about a second and stores the " +
      "figures; later reports draw the roof and the distance of each loop from it."));
}

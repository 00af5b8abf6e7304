// The first part: numbers of the whole, inputs and outputs, states of a stream, and warnings.

function card(number, text) {
  return html("li", {}, html("b", {}, number), html("span", {}, text));
}

function cards() {
  const list = [];
  const working = report.nodes.filter((node) => !is_constant(node)).length;
  const fastest = report.run?.fastest_seconds;
  if (fastest !== undefined) list.push(card(time_text(fastest), "one run"));
  if (report.run && report.run.rows.length > 0)
    list.push(card(time_text(report.run.seconds), "one run, timed node by node"));
  else if (report.run && fastest === undefined)
    list.push(card(time_text(report.run.seconds), "one run"));
  if (report.run?.steps > 0) list.push(card(count_text(report.run.steps), "steps of all loops"));
  list.push(card(count_text(working), "nodes after passes"));
  const loops = report.nodes.filter((node) => node.op === "loop").length;
  const compiled = report.loops.filter((loop) => loop.is_code).length;
  list.push(card(count_text(loops), report.loops.length > 0 ? `loops, ${compiled} as machine code` : "loops"));
  if (report.memory) {
    const { arena, results, scratch, data } = report.memory;
    list.push(card(bytes_text(arena + results + scratch + Math.max(data, 0)), "memory of a run"));
  }
  return html("ul", { class: "cards" }, list);
}

function ends(caption, infos, fed) {
  if (infos.length === 0) return null;
  const columns = ["name", "type", "sizes"];
  if (fed) columns.push("fed in the run");
  return table(caption, columns, infos.map((info, i) =>
    [info.name, info.type, info.sizes, ...(fed ? [fed[i] ? `[${fed[i].join(", ")}]` : ""] : [])]));
}

function model_lines() {
  const model = report.model;
  const made = [model.producer, model.producer_version].filter(Boolean).join(" ");
  const lines = [model.graph && `graph ${model.graph}`, made && `written by ${made}`,
    model.description, model.graph_description].filter(Boolean);
  return html("p", { class: "soft" }, [...lines, `Scanloom ${report.scanloom}`].join("; "));
}

const listed = (names) => names.map((name) => `'${name}'`).join(", ");

/** What the command line has made up for the run. */
function made_up_lines() {
  const { values = [], sizes = [] } = report.made_up ?? {};
  return [
    values.length > 0 ? html("p", {}, `Random numbers were fed to ${listed(values)}. If they decide what ` +
      "is computed, such as a number of steps, give them by ", html("code", {}, "--feed"), ".") : null,
    sizes.length > 0 ? html("p", {}, `The size 1 was taken for ${listed(sizes)}. Set typical sizes by `,
      html("code", {}, "--dim"), ".") : null,
  ];
}

function add_summary() {
  add_part("summary", "Summary", model_lines(), cards(), made_up_lines(),
    ends("Inputs", report.inputs, report.fed.length > 0 ? report.fed : null),
    ends("Outputs", report.outputs),
    report.warnings.length > 0 ? [html("b", {}, "Warnings"),
      html("ul", {}, report.warnings.map((text) => html("li", {}, text)))] : null);
}

/** The states; of the report of a stream, also the sizes that it keeps now. */
function stream_states(stream) {
  if (stream.states.length === 0) return null;
  const kept = (i) => (stream.kept[i] === null ? "the initial value" : `[${stream.kept[i].join(", ")}]`);
  return table(null, ["name", "type", "sizes", ...(stream.kept ? ["kept now"] : [])],
    stream.states.map((state, i) =>
      [state.name, state.type, state.sizes, ...(stream.kept ? [kept(i)] : [])]));
}

function add_stream() {
  const stream = report.stream;
  if (report.is_function) return;
  add_part("stream", "Stream", stream.possible ? [
    html("p", {}, stream.states.length === 0 ? "A stream of this model keeps no state." : stream.named ?
      "A stream keeps these named states from push to push:" :
      "A stream takes the sequence in pieces, and keeps what the model's loops carry:"),
    stream_states(stream)] :
    html("p", {}, `No stream: ${stream.why_not}.`));
}

function add_explanation() {
  add_part("explain", "Explain", html("p", { class: "soft" }, "The text of ", html("code", {}, "scanloom explain"), "."),
    html("details", {}, html("summary", {}, "Show the text"), html("pre", { tabindex: 0 }, report.explanation)));
}

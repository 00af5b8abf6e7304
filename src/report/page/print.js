// Paper shows everything at once: the whole graph, the programs and the explanation.

/** The whole graph, scaled to the page by the browser; its transformation on the screen is kept. */
function print_graph() {
  const { width, height } = graph.contents;
  graph.svg.setAttribute("viewBox", `0 0 ${width + 2 * stage_margin} ${height + 2 * stage_margin}`);
  graph.layer.setAttribute("transform", `translate(${stage_margin},${stage_margin})`);
}

function show_graph_again() {
  graph.svg.removeAttribute("viewBox");
  graph.layer.setAttribute("transform", d3.zoomTransform(graph.svg));
}

function prepare_to_print() {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
    print_graph();
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
    show_graph_again();
  });
}

// Builds the page, once.

document.title = `${report.title} - Scanloom`;
document.getElementById("title").textContent = report.title;
add_summary();
add_graph();
add_time();
add_loops();
add_memory();
add_stream();
add_code();
add_explanation();
document.documentElement.dataset.ready = "yes";

// Builds the page, once.

document.title = `${visible(report.title)} - Scanloom`;
document.getElementById("title").textContent = visible(report.title);
follow(document.querySelector(".skip"), "summary");
add_summary();
add_graph();
add_time();
add_loops();
add_memory();
add_stream();
add_code();
add_explanation();
prepare_to_print();
document.documentElement.dataset.ready = "yes";

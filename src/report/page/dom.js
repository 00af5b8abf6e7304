// Elements are made with their text as text: names in models never become HTML.

/** The text without characters that turn the direction of what follows: they are shown as escapes. */
const visible = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g,
  (each) => `\\u${each.charCodeAt(0).toString(16)}`);

const svg_space = "http://www.w3.org/2000/svg";

function set_all(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "key") element.style.setProperty("--key", value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, visible(String(value)));
  }
  return element;
}

function append_all(element, children) {
  element.append(...children.flat().filter((child) => child !== null && child !== undefined)
    .map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

/** html("p", {class: "soft"}, "text", child, ...) */
function html(tag, attributes, ...children) {
  return append_all(set_all(document.createElement(tag), attributes), children);
}

function svg(tag, attributes, ...children) {
  return append_all(set_all(document.createElementNS(svg_space, tag), attributes), children);
}

/** Brings an element into view and moves the focus to it, as following a link to it would. */
function go_to(id) {
  const target = document.getElementById(id);
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
  try {
    history.replaceState(null, "", `#${id}`); // so that the address leads here again
  } catch {
    // A page within another one, as in a notebook, has no address of its own.
  }
}

/** A link to an element of the page. In a notebook, where the page has the address of the page
    around it, the browser would load that one into the frame; so a script follows the link. */
function follow(link, id) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go_to(id);
  });
  return link;
}

const link_to = (id, text) => follow(html("a", { href: `#${id}` }, text), id);

/** Columns: {name, number} or a name. Cells: text or elements. */
function table(caption, columns, rows) {
  const heads = columns.map((column) => (typeof column === "string" ? { name: column } : column));
  const cell_class = (i) => (heads[i].number ? "number" : null);
  return html("div", { class: "scroll" }, html("table", {},
    caption ? html("caption", {}, caption) : null,
    html("thead", {}, html("tr", {}, heads.map((head, i) =>
      html("th", { scope: "col", class: cell_class(i) }, head.name)))),
    html("tbody", {}, rows.map((row) => html("tr", {}, row.map((cell, i) =>
      html("td", { class: cell_class(i) }, cell ?? "")))))));
}

const parts = [];

/** A part of the page, with its link at the top. */
function add_part(id, name, ...children) {
  const section = html("section", { id, "aria-labelledby": `${id}-name` },
    html("h2", { id: `${id}-name` }, name), ...children);
  document.querySelector("main").append(section);
  document.querySelector("nav").append(link_to(id, name));
  parts.push(id);
  return section;
}

/** The width of charts, in pixels of the page: their text keeps its size on a narrow screen. */
const chart_width = () =>
  Math.round(Math.max(300, Math.min(1200, document.querySelector("main section").clientWidth)));

/** Draws now, and again whenever the page is given another width. */
function draw_to_width(draw) {
  let drawn = chart_width();
  draw();
  addEventListener("resize", () => {
    if (chart_width() === drawn) return;
    drawn = chart_width();
    draw();
  });
}

/** A button that shows a node in the graph. */
function node_link(id, text) {
  const node = nodes.get(id);
  if (!node) return text ?? "";
  return html("button", { class: "link", type: "button", onclick: () => show_node(id) },
    text ?? node.name);
}

const width_context = document.createElement("canvas").getContext("2d");
width_context.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
const text_width = (text) => width_context.measureText(text).width;

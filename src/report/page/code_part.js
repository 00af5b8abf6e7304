// Programs to copy, which feed the inputs and print the outputs.

const code_names = { python: "Python", cpp: "C++", command: "Command line" };

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Pages from files may not use the clipboard; then the text is selected for the user's own copy.
    const pre = button.parentElement.parentElement.querySelector("pre");
    getSelection().selectAllChildren(pre);
    button.textContent = "Selected: press Ctrl+C";
  }
}

function code_panel(form) {
  const text = report.code[form];
  const button = html("button", { type: "button", class: "copy", onclick: () => copy(text, button) }, "Copy");
  return html("div", { class: "panel", role: "tabpanel", id: `code-${form}`,
    "data-name": code_names[form], "aria-labelledby": `tab-${form}` }, html("div", { class: "tools" }, button),
  html("pre", { tabindex: 0 }, html("code", {}, text)));
}

function code_introduction() {
  const fed = report.fed.length > 0 ? "what the run was fed where that is short, otherwise zeros" : "zeros";
  const empty = report.inputs.some((input) => !input.type.startsWith("tensor(")) ?
    " Sequences, optionals and maps are fed empty: where the model reads their items, give it some." : "";
  if (report.is_function)
    return `Programs that load the function, which save() writes, and feed it ${fed}.${empty}`;
  return (report.stream.kept ? `Programs that push to a stream ${fed}, and run as they are.` :
    `Programs that feed ${fed}, and run as they are.`) + empty;
}

function add_code() {
  const forms = Object.keys(code_names).filter((form) => report.code[form]);
  if (forms.length === 0) return;
  const panels = forms.map(code_panel);
  const tabs = [];
  const choose = (i) => forms.forEach((_, at) => {
    panels[at].hidden = at !== i;
    tabs[at].setAttribute("aria-selected", String(at === i));
    tabs[at].tabIndex = at === i ? 0 : -1;
  });
  forms.forEach((form, i) => tabs.push(html("button", { type: "button", role: "tab", id: `tab-${form}`,
    "aria-controls": `code-${form}`, onclick: () => choose(i),
    onkeydown: (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by === undefined) return;
      const next = (i + by + forms.length) % forms.length;
      choose(next);
      tabs[next].focus();
    } }, code_names[form])));
  add_part("code", "Code", html("p", { class: "soft" }, code_introduction()),
    html("div", { class: "tools", role: "tablist", "aria-label": "Language" }, tabs), panels);
  choose(0);
}

// The plan: a form whose every change is written as a plan and judged on the server; first with Gaussian noise, then with the design.

import { Failed, post } from "./requests.js";
import { readHeader, Unreadable } from "./header.js";
import { copy, save } from "./downloads.js";
import { above, element, halfWidthText, short } from "./format.js";
import "./theme.js";

const PAUSE = 250; // milliseconds after the last key before anything is asked
const EPSILONS = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 20];
const EXAMPLE = {
  columns: [["patient", "text"], ["ward", "text"], ["age", "number"], ["cost", "number"], ["smoker", "truth"]].map(([name, kind]) => ({ name, kind })),
  source: { parquet: "visits.parquet" },
};

const at = (id) => document.getElementById(id);
let form = null; // the plan as the form has it
let answer = null; // what is shown, of this form
let texts = null;
let pinned = null; // {form, answer, texts}
let kinds = [];
let question = new AbortController();
let timer = 0;

const fresh = (name) => ({
  name, dataset: name, epsilon: "1", delta: "", relation: "add/remove", where: "", person: null, rows_per_person: "4", groups_per_person: "1", source: null, columns: [],
  more: "", statistics: [],
});

// Tables and plans that come in

async function take(file) {
  complain("");
  try {
    if (/\.toml$/i.test(file.name)) return await takePlan(await file.text());
    const { columns, source } = await readHeader(file);
    begin(file.name.replace(/\.[^.]*$/, ""), columns, source);
  } catch (error) {
    complain(error instanceof Unreadable || error instanceof Failed ? error.message : "This file cannot be read.");
  }
}

/** A first plan: how many persons or rows there are. */
function begin(name, columns, source) {
  const likely = columns.find((column) => /(^|_)(id|person|patient|user|customer|household|member|tailnum)(_|$)/i.test(column.name));
  form = { ...fresh(name), columns, source, person: likely?.name ?? null };
  form.statistics = [statistic(form.person === null ? "count" : "persons")];
  show();
  changed(0);
  at("stage-who").querySelector("input:checked")?.focus();
}

/** An existing plan; its columns are those that it names, or those of the table that is there. */
async function takePlan(toml) {
  const known = form?.columns ?? [];
  const found = await post("plan/first", { toml }, new AbortController().signal, notice);
  const named = found.form.columns.filter((column) => !known.some((one) => one.name === column.name));
  form = { ...found.form, columns: [...known, ...named] };
  show();
  changed(0);
}

const statistic = (kind) => ({ kind, column: "", lower: "", upper: "", expected_n: "", where: "", groups: [], more: "" });

function complain(text) {
  at("file-error").textContent = text;
  at("file-error").hidden = !text;
}

at("file").addEventListener("change", () => {
  const [file] = at("file").files;
  at("file").value = "";
  if (file) take(file);
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    event.preventDefault(); // a file that is dropped beside the field does not replace the page
    at("drop").classList.toggle("is-over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer?.files.length) take(event.dataTransfer.files[0]);
  });
}
at("paste-use").addEventListener("click", async () => {
  const text = at("paste").value.trim();
  complain("");
  if (!text) return;
  if (!text.includes("=")) {
    const names = text.split(/[,\n]/).map((name) => name.trim()).filter(Boolean);
    begin("table", names.map((name) => ({ name, kind: "text" })), { csv: "table.csv" });
  } else await takePlan(text).catch((error) => complain(error.message));
});
at("example").addEventListener("click", () => begin("visits", EXAMPLE.columns, EXAMPLE.source));

// The form

/** Everything from the form's plan into its fields. */
function show() {
  const isThere = form !== null;
  document.body.classList.toggle("has-table", isThere);
  for (const stage of document.querySelectorAll(".stage")) stage.disabled = !isThere;
  at("welcome").hidden = isThere;
  if (!isThere) return;
  const file = form.source?.csv ?? form.source?.parquet ?? form.source?.duckdb;
  at("table-said").textContent = `${file ? `${file}: ` : ""}${form.columns.length} columns (${form.columns.map(({ name }) => name).slice(0, 12).join(", ")}${form.columns.length > 12 ? ", …" : ""})`;
  for (const input of document.querySelectorAll("input[name=whose]")) input.checked = input.value === (form.person === null ? "row" : "person");
  at("person").replaceChildren(...options(form.columns.map(({ name }) => name), form.person));
  for (const input of document.querySelectorAll("[data-of]")) if (input.id !== "person") input.value = form[input.dataset.of] ?? "";
  at("statistics").replaceChildren(...form.statistics.map(editor));
  arrange();
}

const options = (names, chosen) => names.map((name) => element("option", { value: name, selected: name === chosen }, name));

function arrange() {
  at("whose-part").hidden = form.person === null;
  at("groups-part").hidden = !form.statistics.some(({ groups }) => groups.length);
  const near = EPSILONS.map((value) => Math.abs(Math.log(value / Number(form.epsilon))));
  if (near.every(Number.isFinite)) at("epsilon-slider").value = near.indexOf(Math.min(...near));
  at("epsilon-slider").setAttribute("aria-valuetext", String(form.epsilon));
}

/** The fields of one statistic. */
function editor(one, index) {
  const kind = kinds.find((known) => known.kind === one.kind);
  const field = (name, label, attributes = {}) => {
    const input = element("input", { type: "text", spellcheck: "false", value: one[name] ?? "", ...attributes });
    input.addEventListener("input", () => edit(() => (one[name] = input.value)));
    return element("label", { class: "stack" }, label, input);
  };
  const choice = (label, names, value, chosen) => {
    const select = element("select", {}, ...names.map(([name, text]) => element("option", { value: name, selected: name === value }, text)));
    select.addEventListener("change", () => edit(() => chosen(select.value), true));
    return element("label", { class: "stack" }, label, select);
  };
  const columns = form.columns.map(({ name }) => [name, name]);
  const number = index + 1;
  const box = element("fieldset", { class: "statistic", "data-index": index }, element("legend", { class: "hidden" }, `Statistic ${number}`));
  const offered = kinds.filter((known) => form.person !== null || known.kind !== "persons");
  box.append(choice("What", offered.map((known) => [known.kind, known.words]), one.kind, (value) => {
    one.kind = value;
    const known = kinds.find((other) => other.kind === value);
    if (known?.has_column && !one.column) one.column = form.columns.find((column) => column.kind === "number" && column.name !== form.person)?.name ?? form.columns.find((column) => column.name !== form.person)?.name ?? "";
  }));
  if (kind?.has_column) {
    const grid = element("div", { class: "grid2" });
    grid.append(choice("Of", columns, one.column, (value) => (one.column = value)));
    if (kind.is_ratio) grid.append(field("expected_n", "About how many values", { inputmode: "numeric", placeholder: "unknown" }));
    if (kind.has_bounds) grid.append(field("lower", "At least", { inputmode: "decimal" }), field("upper", "At most", { inputmode: "decimal" }));
    box.append(grid);
  }
  for (const group of one.groups) {
    const keys = element("input", { type: "text", spellcheck: "false", value: group.keys, placeholder: "north, south" });
    keys.addEventListener("input", () => edit(() => (group.keys = keys.value)));
    const remove = element("button", { type: "button", class: "quiet", "aria-label": `Do not group by ${group.column}` }, "×");
    remove.addEventListener("click", () => edit(() => one.groups.splice(one.groups.indexOf(group), 1), true));
    box.append(element("div", { class: "grouping" }, choice("In each", columns, group.column, (value) => (group.column = value)), element("label", { class: "stack" }, "Keys, which are public", keys), remove));
  }
  const rest = element("details", {}, element("summary", {}, "Only some rows, and more"), field("where", "Only rows where", { placeholder: "age >= 18" }));
  const more = element("textarea", { rows: 2, spellcheck: "false" });
  more.value = one.more;
  more.addEventListener("input", () => edit(() => (one.more = more.value)));
  rest.append(element("label", { class: "stack" }, "Further declarations, in TOML", more));
  rest.open = Boolean(one.where || one.more);
  const group = element("button", { type: "button", class: "quiet" }, "By groups");
  group.addEventListener("click", () => edit(() => {
    const free = form.columns.find((column) => column.name !== form.person && column.name !== one.column && !one.groups.some((other) => other.column === column.name));
    if (free) one.groups.push({ column: free.name, keys: free.kind === "truth" ? "true, false" : "" });
  }, true));
  const remove = element("button", { type: "button", class: "quiet" }, "Remove", element("span", { class: "hidden" }, ` statistic ${number}`));
  remove.addEventListener("click", () => edit(() => form.statistics.splice(index, 1), true));
  box.append(rest, element("div", { class: "row" }, group, remove));
  return box;
}

/** One change of the plan; `isNew`: other fields are there now. */
function edit(change, isNew = false) {
  change();
  if (isNew) {
    const place = [...at("form").querySelectorAll("input, select, button, textarea, summary")].indexOf(document.activeElement);
    at("statistics").replaceChildren(...form.statistics.map(editor));
    if (!document.activeElement || document.activeElement === document.body) [...at("form").querySelectorAll("input, select, button, textarea, summary")][place]?.focus();
  }
  arrange();
  changed(isNew ? 0 : PAUSE);
}

for (const input of document.querySelectorAll("[data-of]")) {
  input.addEventListener("input", () => form && edit(() => (form[input.dataset.of] = input.value), false));
}
for (const input of document.querySelectorAll("input[name=whose]")) {
  input.addEventListener("input", () => form && edit(() => {
    form.person = input.value === "row" ? null : form.columns.find(({ name }) => name === at("person").value)?.name ?? form.columns[0]?.name ?? "";
    for (const one of form.statistics) if (one.kind === (form.person === null ? "persons" : "count") && !one.groups.length) one.kind = form.person === null ? "count" : "persons";
  }, true));
}
at("epsilon-slider").addEventListener("input", () => form && edit(() => {
  form.epsilon = String(EPSILONS[Number(at("epsilon-slider").value)]);
  at("epsilon").value = form.epsilon;
}));
at("add").addEventListener("click", () => edit(() => form.statistics.push(statistic("count")), true));
at("form").addEventListener("submit", (event) => event.preventDefault());

// Answers

/** What is on the page is not known to hold for the plan any more. */
function changed(milliseconds) {
  question.abort();
  clearTimeout(timer);
  answer = null;
  at("results").setAttribute("aria-busy", "true");
  for (const cell of document.querySelectorAll("#numbers td")) cell.textContent = "…";
  for (const name of ["protected", "status", "code"]) at(name).textContent = "";
  for (const name of ["warnings", "better", "why"]) at(name).replaceChildren();
  texts = null;
  give(false);
  showCompare();
  timer = setTimeout(() => refresh(true), milliseconds);
}

function give(isThere) {
  for (const name of ["save", "copy", "pin"]) at(name).disabled = !isThere;
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

async function refresh(isNew) {
  question.abort();
  question = new AbortController();
  const { signal } = question;
  const asked = JSON.stringify(form);
  if (isNew && JSON.stringify(history.state?.form) !== asked) history.pushState({ form: JSON.parse(asked) }, "");
  notice("");
  try {
    const first = await post("plan/first", { form: JSON.parse(asked) }, signal, notice);
    texts = { toml: first.toml, python: first.python, command: first.command };
    showTexts();
    give(true);
    showAnswer(first);
    const made = await post("plan/design", { form: JSON.parse(asked) }, signal, notice);
    notice("");
    showAnswer(made);
    await showVariants(made, signal);
  } catch (error) {
    if (signal.aborted) return;
    notice(error.message);
    if (!texts) at("numbers").replaceChildren();
    at("status").textContent = "";
  }
  if (!signal.aborted) at("results").setAttribute("aria-busy", "false");
}

/** ± of a statistic as people read it. */
function width(one) {
  if (one.half_width === null) return "too few values";
  return `± ${halfWidthText(one.half_width, false)}${one.of_sum ? " on the sum" : ""}`;
}

function showAnswer(found) {
  answer = found;
  for (const part of document.querySelectorAll(".answer")) part.hidden = false;
  at("protected").textContent = found.protected;
  at("numbers").replaceChildren(
    element("caption", {}, `ε = ${above(found.epsilon)}, δ = ${short(found.delta)}${found.is_lacking_delta ? " (assumed: none is declared)" : ""}. ± at 95 %, from noise alone.`),
    element("thead", {}, element("tr", {}, ...["statistic", "numbers", found.is_first ? "± with Gaussian noise" : "±"].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...found.statistics.map((one) => element("tr", {}, element("th", { scope: "row" }, one.statistic), element("td", {}, one.groups.toLocaleString("en-US")), element("td", { class: "pm" }, width(one))))),
  );
  at("warnings").replaceChildren(...found.warnings.map((text) => element("li", {}, text)));
  at("why").replaceChildren(...found.statistics.flatMap((one) => [element("dt", {}, one.statistic), element("dd", {}, `${one.published} ${one.one_person}`)]));
  at("status").textContent = found.is_first
    ? "With Gaussian noise. The least noise is being designed."
    : `Designed. Gaussian noise of the same guarantee would be ${short(found.gaussian_factor)} times as large. An attacker guesses right at most ${above(100 * found.guess)} % of the time.`;
  showCompare();
}

async function showVariants(made, signal) {
  at("better").replaceChildren(...made.variants.map(({ title }) => element("li", {}, element("b", {}, title), " …")));
  for (const [index, variant] of made.variants.entries()) {
    const item = at("better").children[index];
    try {
      const found = await post("plan/variant", { toml: variant.toml }, signal, () => {});
      if (signal.aborted) return;
      item.replaceChildren(element("b", {}, variant.title), ...outcome(made, found, variant));
    } catch (error) {
      if (signal.aborted) return;
      item.replaceChildren(element("b", {}, variant.title), ` takes too long to say, or cannot be: ${error.message}`);
    }
  }
  if (!made.variants.length) at("better").replaceChildren(element("li", {}, "Nothing that was tried."));
}

/** What a change makes of the numbers that both plans have. */
function outcome(made, found, variant) {
  const changes = made.statistics
    .map((one) => [one, found.statistics.find((other) => other.statistic === one.statistic)])
    .filter(([one, other]) => other && one.half_width && other.half_width && one.of_sum === other.of_sum)
    .map(([one, other]) => ({ name: one.statistic, before: width(one), after: width(other), ratio: other.half_width / one.half_width }));
  const seen = variant.of ? changes.filter(({ name }) => name === variant.of) : changes;
  const most = Math.max(...changes.map(({ ratio }) => Math.abs(Math.log(ratio))));
  if (!changes.length) return [" changes everything else too."];
  if (most < 0.01) return [" costs nothing: every ± stays as it is."];
  const biggest = (seen.length ? seen : changes).reduce((one, other) => (Math.abs(Math.log(other.ratio)) > Math.abs(Math.log(one.ratio)) ? other : one));
  const direction = biggest.ratio < 1 ? "better" : "worse";
  const others = changes.filter((one) => one !== biggest && Math.abs(Math.log(one.ratio)) > 0.01);
  const text = `${biggest.name} ${biggest.before} → ${biggest.after}`;
  const tail = others.length ? `, and ${others.length === 1 ? others[0].name : `${others.length} others`} ${others.every(({ ratio }) => ratio < 1) ? "less" : others.every(({ ratio }) => ratio > 1) ? "more" : "otherwise"}` : "";
  return [": ", element("span", { class: direction }, text), `${tail}.`];
}

// What leaves the page

const shownAs = () => document.querySelector("input[name=as]:checked").value;

function showTexts() {
  at("code").textContent = texts?.[shownAs()] ?? "";
  at("code-title").textContent = { toml: "TOML", python: "Python", command: "Command line" }[shownAs()];
}
for (const input of document.querySelectorAll("input[name=as]")) input.addEventListener("input", showTexts);
at("save").addEventListener("click", () => texts && save("plan.toml", texts.toml, "application/toml"));
at("copy").addEventListener("click", async () => {
  if (!texts) return;
  at("status").textContent = (await copy(texts[shownAs()], at("code"))) ? "Copied." : "Selected.";
});

// Two plans

at("pin").addEventListener("click", () => {
  if (!answer) return;
  pinned = { form: structuredClone(form), answer, texts };
  showCompare();
  at("status").textContent = "Kept as plan A. The comparison is at the end of the page.";
});
at("unpin").addEventListener("click", () => {
  pinned = null;
  showCompare();
  at("pin").focus();
});
at("swap").addEventListener("click", () => {
  if (!pinned) return;
  form = structuredClone(pinned.form);
  show();
  changed(0);
});

function showCompare() {
  at("compare").hidden = !pinned;
  if (!pinned) return;
  const plans = [["Now", answer], ["Plan A", pinned.answer]];
  const names = [...new Set(plans.flatMap(([, one]) => one?.statistics.map(({ statistic: name }) => name) ?? []))];
  const cell = (one, name) => {
    const found = one?.statistics.find(({ statistic: other }) => other === name);
    return found ? `${width(found)}${one.is_first ? " at most, being designed" : ""}` : one ? "not published" : "…";
  };
  const rows = [
    ["ε", ...plans.map(([, one]) => (one ? above(one.epsilon) : "…"))],
    ["δ", ...plans.map(([, one]) => (one ? short(one.delta) : "…"))],
    ...names.map((name) => [name, ...plans.map(([, one]) => cell(one, name))]),
    ["right guesses about a person", ...plans.map(([, one]) => (one?.guess ? `≤ ${above(100 * one.guess)} %` : "…"))],
  ];
  at("compared").replaceChildren(
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Plan"), ...plans.map(([name]) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, text))))),
  );
}

// Back goes back

addEventListener("popstate", (event) => {
  form = event.state?.form ? structuredClone(event.state.form) : null;
  show();
  if (form) {
    changed(0);
    clearTimeout(timer);
    refresh(false);
  } else {
    question.abort();
    clearTimeout(timer);
    for (const part of document.querySelectorAll(".answer")) part.hidden = true;
    at("results").setAttribute("aria-busy", "false");
  }
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("results").focus();
});

form = history.state?.form ? structuredClone(history.state.form) : null;
show();
fetch("api/plan-kinds", { cache: "no-store" })
  .then((response) => response.json())
  .then((found) => {
    kinds = found.kinds;
    document.body.dataset.ready = "yes";
    if (form) {
      show();
      changed(0);
    }
  })
  .catch(() => notice("The server does not answer. Start it again with “leastnoise serve”, and load this page anew."));

// The page: a change is written to the address, asked about after a short pause, and every older question is withdrawn.

import { ask, Refused } from "./ask.js";
import { Controls } from "./controls.js";
import { above, short } from "./format.js";
import { copy, picture, save } from "./give.js";
import { pinned, query, readAddress, START, unpinned, writeAddress } from "./state.js";
import { showCompare, showCurve, showDesign, showExample, showKnown, showLaw, showNumbers } from "./views.js";

const PAUSE = 140; // milliseconds after the last move before anything is asked
const HEAD_START = 40; // a kept design answers within this time, and the known laws need not be asked for

const at = (id) => document.getElementById(id);
const state = readAddress();
const shown = { answer: null, laws: null, pins: { A: null, B: null } };
let question = new AbortController();
let ahead = null;
let timer = 0;

const controls = new Controls(at("controls"), state, (quick) => {
  writeAddress(state);
  showExample(state, shown.answer);
  if (shown.answer) showLaw(state, shown.answer, shown.laws, shown.pins);
  later(quick ? 0 : PAUSE);
});

function later(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(refresh, milliseconds);
  busy(true);
}

/** Busy from the change on, the pause included: what is shown is no longer what was asked for. */
function busy(working) {
  at("results").setAttribute("aria-busy", String(working || timer !== 0));
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

async function refresh() {
  timer = 0;
  const wanted = query(state);
  question.abort();
  question = new AbortController();
  const { signal } = question;
  if (ahead && ahead.wanted !== wanted) ahead.controller.abort();
  const results = at("results");
  busy(true);
  try {
    await answered(wanted, signal);
    busy(false);
  } catch (error) {
    if (error.name === "AbortError") return;
    busy(false);
    if (error instanceof Refused) {
      controls.showErrors(error.errors);
      results.classList.toggle("is-stale", shown.answer !== null);
      notice("");
      say(`This setting cannot be used: ${error.message}${shown.answer ? " The last good setting is still shown." : ""}`);
    } else {
      controls.showErrors({});
      results.classList.toggle("is-stale", shown.answer !== null && !results.classList.contains("is-preview"));
      notice(error.message);
    }
  }
}

/** The known laws first if the design takes its time; then the design; then what follows from it. */
async function answered(wanted, signal) {
  const begun = performance.now();
  const quick = new AbortController();
  signal.addEventListener("abort", () => quick.abort(), { once: true });
  const first = setTimeout(async () => {
    const known = await ask("known", wanted, quick.signal, () => {}).catch(() => null);
    if (known && !quick.signal.aborted) {
      accepted();
      showKnown(state, known);
    }
  }, HEAD_START);
  let answer;
  try {
    answer = await ask("design", wanted, signal, notice);
  } finally {
    clearTimeout(first);
    if (answer || signal.aborted) quick.abort();
  }
  accepted();
  notice("");
  Object.assign(shown, { answer, laws: null });
  showDesign(state, answer);
  showLaw(state, answer, null, shown.pins);
  at("artefact").dataset.query = wanted;
  at("artefact").href = `api/noise.json?${wanted}`;
  const seconds = (performance.now() - begun) / 1000;
  say(`ε = ${above(answer.epsilon)}, ± ${short(answer.half_width)} at 95 %. Designed and proved in ${seconds.toFixed(2)} s.`);
  const later = async (kind, show) => {
    const found = await ask(kind, wanted, signal, notice);
    notice("");
    show(found);
  };
  await Promise.all([
    later("laws", (found) => showLaw(state, answer, (shown.laws = found), shown.pins)),
    later("curve", (found) => showCurve(answer, found)),
    later("numbers", (found) => showNumbers(answer, found)),
    comparePins(signal),
  ]);
  lookAhead(signal);
}

/** What one more step of the slider would ask for is designed meanwhile, if the server has nothing else to do. */
async function lookAhead(signal) {
  for (const neighbour of controls.neighbours()) {
    const wanted = query(neighbour);
    ahead = { wanted, controller: new AbortController() };
    await fetch(`api/ahead?${wanted}`, { signal: ahead.controller.signal }).catch(() => null);
    if (signal.aborted) return;
  }
}

/** The server takes the setting: no complaint stands beside a field any more. */
function accepted() {
  controls.showErrors({});
  at("results").classList.remove("is-stale");
}

function say(text) {
  at("status").textContent = text;
}

async function comparePins(signal) {
  for (const name of ["A", "B"]) {
    const setting = unpinned(state[name.toLowerCase()]);
    if (!setting) {
      shown.pins[name] = null;
      continue;
    }
    const wanted = query(setting);
    if (shown.pins[name]?.query === wanted) continue;
    try {
      shown.pins[name] = { ...(await ask("design", wanted, signal, notice)), query: wanted };
    } catch (error) {
      if (error.name === "AbortError") throw error;
      shown.pins[name] = { error: error.message, query: wanted };
    }
  }
  showCompare(shown.answer, shown.pins, unpin);
  if (shown.answer) showLaw(state, shown.answer, shown.laws, shown.pins);
}

function pin(name) {
  if (at("results").classList.contains("is-stale") || !shown.answer) {
    say("Only a setting that has an answer can be pinned.");
    return;
  }
  state[name.toLowerCase()] = pinned(state);
  writeAddress(state);
  say(`Pinned as ${name}. The comparison is at the end of the page.`);
  comparePins(question.signal).catch(() => {});
}

function unpin(name) {
  state[name.toLowerCase()] = "";
  writeAddress(state);
  comparePins(question.signal).catch(() => {});
  at(`pin-${name.toLowerCase()}`).focus();
}

for (const name of ["A", "B"]) at(`pin-${name.toLowerCase()}`).addEventListener("click", () => pin(name));

at("controls").addEventListener("reset", (event) => {
  event.preventDefault();
  Object.assign(state, START);
  writeAddress(state);
  controls.show();
  later(0);
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after the # is the setting
  at("results").focus();
});

addEventListener("hashchange", () => {
  Object.assign(state, readAddress());
  controls.show();
  later(0);
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const place = at(`code-${button.dataset.copy}`);
    const done = await copy(place.textContent, place);
    flash(button, done ? "Copied" : "Selected");
  });
}

function flash(button, text) {
  const before = [...button.childNodes];
  if (button.dataset.flashing) return;
  button.dataset.flashing = "yes";
  button.replaceChildren(text);
  say(`${text}.`);
  setTimeout(() => {
    button.replaceChildren(...before);
    delete button.dataset.flashing;
  }, 1500);
}

at("copy-link").addEventListener("click", async () => flash(at("copy-link"), (await copy(location.href, null)) ? "Copied" : "See the address bar"));
at("artefact").addEventListener("click", async (event) => {
  event.preventDefault(); // so that what goes wrong is said here and not in a file
  const wanted = event.currentTarget.dataset.query;
  if (!wanted) return;
  try {
    save("noise.json", await ask("noise.json", wanted, new AbortController().signal, notice, "text"), "application/json");
    notice("");
  } catch (error) {
    notice(error.message);
  }
});
at("save-plan").addEventListener("click", () => shown.answer && save("plan.toml", shown.answer.plan, "application/toml"));
at("save-svg").addEventListener("click", () => {
  const drawing = document.querySelector("#law > svg");
  if (drawing) save("noise.svg", picture(drawing, "The noise on one answer"), "image/svg+xml");
});

const dark = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}
function showTheme() {
  at("theme").setAttribute("aria-pressed", String(isDark()));
}
at("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("leastnoise-theme", document.documentElement.dataset.theme);
  showTheme();
});
dark.addEventListener("change", showTheme);
const kept = localStorage.getItem("leastnoise-theme");
if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
showTheme();

showExample(state, null);
showCompare(null, shown.pins, unpin);
later(0);

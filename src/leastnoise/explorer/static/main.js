// The page: a change is written to the address, takes away at once what belonged to the setting before, and is asked about after a
// short pause. Numbers are shown only while the controls show the setting they were computed for.

import { ask, Refused } from "./requests.js";
import { Controls } from "./controls.js";
import { above, halfWidthText } from "./format.js";
import { copy, picture, save } from "./downloads.js";
import { pinned, query, readAddress, START, unpinned, writeAddress } from "./state.js";
import "./theme.js";
import { blank, isOneByOne, settled, showCompare, showCurve, showDesign, showExample, showKept, showKnown, showLaw, showNumbers, showPicture } from "./views.js";

const PAUSE = 140; // milliseconds after the last move before anything is asked
const HEAD_START = 40; // a kept design answers within this time, and the known laws need not be asked for

const at = (id) => document.getElementById(id);
const state = readAddress();
const shown = { query: null, answer: null, laws: null, curve: null, numbers: null, pins: { A: null, B: null } };
let asked = null; // the query that is being answered, or was
let question = new AbortController();
let ahead = null;
let timer = 0;

/** The answer to the setting on the controls, or null. */
const current = () => (shown.query === query(state) ? shown.answer : null);

const controls = new Controls(at("controls"), state, (quick) => {
  const isOther = query(state) !== asked;
  writeAddress(state, isOther && timer === 0); // one move is one step back, however long the slider was dragged
  if (isOther) changed(quick ? 0 : PAUSE);
  else restyled();
});

/** The example, the scale, the picture or its laws alone. */
function restyled() {
  const answer = current();
  showExample(state, answer);
  showPicture(state);
  if (!answer) return;
  showLaw(state, answer, shown.laws, shown.pins);
  if (shown.curve) showCurve(state, answer, shown.curve);
  if (shown.numbers) showNumbers(state, answer, shown.numbers);
}

/** The controls show another setting: what is on the page is not known to hold for it, and what is being asked is not wanted. */
function changed(milliseconds) {
  question.abort();
  forget();
  clearTimeout(timer);
  timer = setTimeout(refresh, milliseconds);
  busy(true);
}

function forget() {
  asked = null;
  Object.assign(shown, { query: null, answer: null, laws: null, curve: null, numbers: null });
  blank(state);
  give(null);
  notice("");
  say("");
  showCompare(null, shown.pins, unpin);
}

/** Busy from the change on, the pause included. */
function busy(working) {
  at("results").setAttribute("aria-busy", String(working));
  if (!working) settled();
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

/** What can be taken belongs to this answer; without one nothing can be. */
function give(answer) {
  const link = at("artefact");
  if (answer) link.href = `api/noise.json?${shown.query}`;
  else link.removeAttribute("href");
  link.setAttribute("aria-disabled", String(!answer));
  for (const button of document.querySelectorAll("#save-plan, #save-svg, #pin-a, #pin-b, [data-copy]")) button.disabled = !answer;
  for (const button of document.querySelectorAll("#kept button")) button.disabled = true; // until its code is there
}

async function refresh() {
  timer = 0;
  const wanted = query(state);
  asked = wanted;
  question.abort();
  question = new AbortController();
  const { signal } = question;
  if (ahead && ahead.wanted !== wanted) ahead.controller.abort();
  busy(true);
  try {
    await answered(wanted, signal);
    if (!signal.aborted) busy(false);
  } catch (error) {
    if (signal.aborted) return; // a newer question speaks
    if (error instanceof Refused) {
      forget();
      asked = wanted;
      controls.showErrors(error.errors);
      say(`This setting cannot be used: ${error.message}`);
    } else {
      controls.showErrors({});
      notice(error.message);
    }
    busy(false);
  }
}

/** The known laws first if the design takes its time; then the design; then what follows from it. */
async function answered(wanted, signal) {
  const begun = performance.now();
  const isWanted = () => !signal.aborted && wanted === query(state);
  const told = (text) => isWanted() && notice(text);
  const quick = new AbortController();
  signal.addEventListener("abort", () => quick.abort(), { once: true });
  let isDesigning = true;
  let asking = null;
  const preview = async () => {
    asking ??= ask("known", wanted, quick.signal, () => {}).catch(() => null);
    const known = await asking;
    if (!known || quick.signal.aborted || !isWanted()) return;
    controls.showErrors({});
    showKnown(state, known, isDesigning);
  };
  const first = setTimeout(preview, HEAD_START);
  let answer;
  try {
    answer = await ask("design", wanted, signal, told);
    quick.abort();
  } catch (error) {
    if (error instanceof Refused) {
      quick.abort();
      throw error;
    }
    isDesigning = false;
    await preview(); // without a design the known laws are all there is to say
    throw error;
  } finally {
    clearTimeout(first);
  }
  if (!isWanted()) return;
  controls.showErrors({});
  notice(answer.notice ?? "");
  Object.assign(shown, { query: wanted, answer, laws: null });
  showDesign(state, answer);
  showLaw(state, answer, null, shown.pins);
  give(answer);
  const seconds = (performance.now() - begun) / 1000;
  const how = answer.is_known ? "A known law, judged" : "Designed and proved";
  say(`ε = ${above(answer.epsilon)}, ± ${halfWidthText(answer.half_width, answer.domain === "integer")} at 95 %. ${how} in ${seconds.toFixed(2)} s.`);
  const failures = [];
  const later = async (kind, show) => {
    try {
      const found = await ask(kind, wanted, signal, told);
      if (isWanted()) show(found);
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(`A ${kind === "kept" ? "draw to keep" : "picture"} is missing. ${error.message}`); // the answer stands without it
    }
  };
  await Promise.all([
    later("laws", (found) => showLaw(state, answer, (shown.laws = found), shown.pins)),
    isOneByOne(state) && later("kept", (found) => {
      showKept(answer, found);
      for (const button of document.querySelectorAll("#kept button")) button.disabled = !found.python;
    }),
    later("curve", (found) => showCurve(state, answer, (shown.curve = found))),
    later("numbers", (found) => showNumbers(state, answer, (shown.numbers = found))),
    comparePins(signal),
  ]);
  if (!isWanted()) return;
  notice([answer.notice ?? "", ...new Set(failures)].join(" ").trim());
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

function say(text) {
  at("status").textContent = text;
}

async function comparePins(signal) {
  for (const name of ["A", "B"]) {
    const word = state[name.toLowerCase()];
    const setting = unpinned(word);
    if (!setting) {
      shown.pins[name] = null;
      continue;
    }
    const wanted = query(setting);
    if (shown.pins[name]?.query === wanted) continue;
    shown.pins[name] = null;
    let found;
    try {
      found = await ask("design", wanted, signal, () => {});
    } catch (error) {
      if (signal.aborted) throw error;
      found = { error: error.message };
    }
    if (state[name.toLowerCase()] === word) shown.pins[name] = { ...found, query: wanted };
  }
  showCompare(current(), shown.pins, unpin);
  if (current()) showLaw(state, current(), shown.laws, shown.pins);
}

function pin(name) {
  if (!current()) return;
  state[name.toLowerCase()] = pinned(state);
  writeAddress(state);
  say(`Pinned as ${name}. The comparison is at the end of the page.`);
  comparePins(question.signal).catch(() => {});
}

function unpin(name) {
  state[name.toLowerCase()] = "";
  writeAddress(state);
  comparePins(question.signal).catch(() => {});
  const button = at(`pin-${name.toLowerCase()}`);
  (button.disabled ? at("results") : button).focus();
}

for (const name of ["A", "B"]) at(`pin-${name.toLowerCase()}`).addEventListener("click", () => pin(name));

at("controls").addEventListener("reset", (event) => {
  event.preventDefault();
  Object.assign(state, START);
  writeAddress(state, true);
  showPicture(state);
  controls.show();
  changed(0);
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after the # is the setting
  at("results").focus();
});

// The address decides, also after back and forward; and over what a browser puts into the fields of a page it has kept.
addEventListener("hashchange", () => {
  Object.assign(state, readAddress());
  controls.show();
  if (query(state) !== asked) changed(0);
  else comparePins(question.signal).catch(() => {});
  restyled();
});
addEventListener("pageshow", () => controls.show());

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const place = at(`code-${button.dataset.copy}`);
    if (!current()) return;
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
  if (!current()) return;
  const { signal } = question;
  const wanted = shown.query;
  try {
    const text = await ask("noise.json", wanted, signal, notice, "text");
    if (!current() || shown.query !== wanted) return;
    save("noise.json", text, "application/json");
    notice(shown.answer.notice ?? "");
  } catch (error) {
    if (!signal.aborted) notice(error.message);
  }
});
at("save-plan").addEventListener("click", () => current() && save("plan.toml", current().plan, "application/toml"));
at("save-svg").addEventListener("click", () => {
  const drawing = document.querySelector("#law > svg");
  if (current() && drawing) save("noise.svg", picture(drawing, "The noise on one answer"), "image/svg+xml");
});

showPicture(state);
at("more").open = matchMedia("(min-width: 960px)").matches;
changed(0);

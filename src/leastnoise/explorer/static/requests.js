// Questions to the server. Busy is tried again, a server that is gone is waited for, and a question can be withdrawn.
// What comes back is taken only if it says that it answers this very question.

import { isSetting } from "./state.js";

export class Refused extends Error {
  constructor(errors) {
    super(Object.values(errors).join(" "));
    this.errors = errors;
  }
}

export class Failed extends Error {}

const AGAIN = 1500; // milliseconds until a server that does not answer is asked again
const ECHO = "leastnoise-setting";

/** The answer of `api/<kind>`, as data or as its text; `told` hears why it takes longer. */
export async function ask(kind, query, signal, told, form = "json") {
  for (;;) {
    let response;
    let text;
    try {
      response = await fetch(`api/${kind}?${query}`, { signal, cache: "no-store" });
      text = await response.text();
    } catch (error) {
      if (signal.aborted) throw error; // withdrawn, perhaps while the answer was being read
      told("The server does not answer. Start it again with “leastnoise serve”; this page goes on by itself.");
      await pause(AGAIN, signal);
      continue;
    }
    if (response.status === 503) {
      told("The server is busy with other settings. Trying again …");
      await pause(1000 * Number(response.headers.get("retry-after") ?? 1), signal);
      continue;
    }
    const answer = parsed(text);
    if (!response.ok) {
      if (answer.errors) throw new Refused(answer.errors);
      throw new Failed(answer.error ?? `The server answered with the code ${response.status}.`);
    }
    const said = Object.fromEntries(new URLSearchParams(response.headers.get(ECHO) ?? ""));
    if (!isSetting(said, query) || (form === "json" && !isSetting(answer.setting, query))) {
      throw new Failed("The server answered for another setting than this one, so nothing is shown. Load the page anew.");
    }
    return form === "text" ? text : answer;
  }
}

/** The answer of `api/<kind>` to a question that is a table of its own, such as a plan. */
export async function post(kind, asked, signal, told) {
  const body = JSON.stringify(asked);
  for (;;) {
    let response;
    let text;
    try {
      response = await fetch(`api/${kind}`, { method: "POST", headers: { "content-type": "application/json" }, body, signal, cache: "no-store" });
      text = await response.text();
    } catch (error) {
      if (signal.aborted) throw error;
      told("The server does not answer. Start it again with “leastnoise serve”; this page goes on by itself.");
      await pause(AGAIN, signal);
      continue;
    }
    if (response.status === 503) {
      told("The server is busy. Trying again …");
      await pause(1000 * Number(response.headers.get("retry-after") ?? 1), signal);
      continue;
    }
    const answer = parsed(text);
    if (!response.ok) throw new Failed(answer.error ?? `The server answered with the code ${response.status}.`);
    return answer;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failed("The server sent something else than an answer.");
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new DOMException("withdrawn", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });
}

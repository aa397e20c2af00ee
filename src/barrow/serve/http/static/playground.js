"use strict";
// Texts of models and people go into the page as text only, never as HTML.
(() => {
  const by = (id) => document.getElementById(id);
  const isChat = JSON.parse(by("data").textContent).chat;
  const answer = by("answer"), likely = by("likely"), problem = by("problem");
  let stopper = null;

  const bodyOf = () => {
    const shared = { max_tokens: by("max_tokens").valueAsNumber,
      temperature: by("temperature").valueAsNumber, stream: true };
    const prompt = by("prompt").value;
    return isChat
      ? { ...shared, messages: [{ role: "user", content: prompt }], logprobs: true, top_logprobs: 5 }
      : { ...shared, prompt, logprobs: 5 };
  };

  // The tokens of an event: [[word, log-probability, [[word, log-probability], …]], …].
  const tokensOf = (choice) => {
    const found = choice.logprobs;
    if (!found) return [];
    if (isChat) return found.content.map((one) => [one.token, one.logprob,
      one.top_logprobs.map((other) => [other.token, other.logprob])]);
    return found.tokens.map((word, i) => [word, found.token_logprobs[i],
      Object.entries((found.top_logprobs || [])[i] || {})]);
  };

  const cell = (row, text) => { row.insertCell().textContent = text; };
  const percent = (logprob) => (100 * Math.exp(logprob)).toFixed(1) + " %";

  const show = (span) => {
    const table = document.createElement("table");
    for (const [word, logprob, top] of span.tokens) {
      const rows = top.some(([other]) => other === word) ? top : [[word, logprob], ...top];
      for (const [other, number] of rows.sort((a, b) => b[1] - a[1])) {
        const row = table.insertRow();
        row.className = other === word ? "drawn" : "";
        cell(row, JSON.stringify(other).slice(1, -1));
        cell(row, percent(number));
      }
    }
    likely.replaceChildren(table);
    const place = span.getBoundingClientRect();
    likely.style.left = Math.min(place.left, innerWidth - 240) + scrollX + "px";
    likely.style.top = place.bottom + scrollY + 4 + "px";
    likely.hidden = false;
  };
  const hide = () => { likely.hidden = true; };

  let waiting = [];
  const add = (choice) => {
    const text = isChat ? choice.delta.content || "" : choice.text;
    waiting.push(...tokensOf(choice));
    if (!text) return waiting.length;
    const span = document.createElement("span");
    span.textContent = text;
    span.tabIndex = 0;
    span.tokens = waiting;
    waiting = [];
    for (const kind of ["mouseenter", "focus"]) span.addEventListener(kind, () => show(span));
    for (const kind of ["mouseleave", "blur"]) span.addEventListener(kind, hide);
    answer.append(span);
  };

  const ask = async () => {
    stopper = new AbortController();
    by("send").disabled = true;
    by("stop").disabled = false;
    answer.replaceChildren();
    problem.textContent = by("count").textContent = "";
    waiting = [];
    let num = 0;
    try {
      const headers = { "content-type": "application/json" };
      if (by("key")) headers.authorization = "Bearer " + by("key").value;
      const path = isChat ? "v1/chat/completions" : "v1/completions";
      const response = await fetch(path, { method: "POST", headers,
        body: JSON.stringify(bodyOf()), signal: stopper.signal });
      if (!response.ok) throw new Error((await response.json()).error.message);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let held = "";;) {
        const { value, done } = await reader.read();
        if (done) break;
        const events = (held + value).split("\n\n");
        held = events.pop();
        for (const event of events) {
          const data = event.replace(/^data: /, "");
          if (data === "[DONE]") continue;
          const found = JSON.parse(data);
          if (found.error) throw new Error(found.error.message);
          num += tokensOf(found.choices[0]).length;
          add(found.choices[0]);
        }
      }
    } catch (error) {
      if (error.name !== "AbortError") problem.textContent = error.message;
    } finally {
      by("count").textContent = num + (num === 1 ? " token" : " tokens");
      by("send").disabled = false;
      by("stop").disabled = true;
    }
  };

  by("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  by("stop").addEventListener("click", () => stopper && stopper.abort());
  by("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("ask").requestSubmit();
  });
})();

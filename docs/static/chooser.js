// Which decision? The answers to a few questions, looked up in the data of the page: no text is made here.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("chooser");
  if (!place) return;
  const data = JSON.parse(document.getElementById("chooser-data").textContent);
  const form = document.createElement("form");
  const results = document.createElement("div");
  results.setAttribute("aria-live", "polite");

  for (const { key, question, answers } of data.questions) {
    const group = document.createElement("fieldset");
    group.id = `question-${key}`;
    group.append(labelled("legend", question));
    Object.entries(answers).forEach(([value, text], position) => {
      const label = document.createElement("label");
      const button = Object.assign(document.createElement("input"), { type: "radio", name: key, value });
      button.checked = position === 0;
      label.append(button, ` ${text}`);
      group.append(label);
    });
    form.append(group);
  }

  function labelled(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  function shown(name, text) {
    const block = document.createElement("div");
    block.className = "chooser-file";
    const copy = labelled("button", "Copy");
    copy.type = "button";
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    });
    const head = document.createElement("div");
    head.append(labelled("strong", name), copy);
    const code = document.createElement("pre");
    code.append(labelled("code", text));
    block.append(head, code);
    return block;
  }

  function answer() {
    const chosen = new FormData(form);
    const limited = data.limited.includes(chosen.get("goal"));
    document.getElementById("question-limits").hidden = !limited;
    const limits = limited ? chosen.get("limits") : "no";
    const answers = [chosen.get("goal"), chosen.get("vary"), limits, chosen.get("noise"), chosen.get("who")];
    const files = data.files[answers.join("|")];
    const more = labelled("a", "How this decision works");
    more.href = data.pages[chosen.get("goal")];
    results.replaceChildren(more);
    for (const [name, parts] of Object.entries(files)) {
      results.append(shown(name, parts.map((part) => data.paragraphs[part]).join("\n\n")));
    }
  }

  form.addEventListener("change", answer);
  place.replaceChildren(form, results);
  answer();
});

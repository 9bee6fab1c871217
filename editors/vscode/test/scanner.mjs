// Finds the directives of a script without the grammar, as the compiler does:
// one pass that steps over whatever is opaque in Rust. It is what the grammar
// is compared with.

export const DIRECTIVES = [
  "ticktime", "cut", "conditions", "top", "shared", "begin", "test", "tick", "thread",
  "excMonitor", "valueCheck", "end",
  "wakeCheck", "wakeTimes", "matchCheck", "suspended", "finished", "stays",
  "explore", "always", "never", "sometimes",
];

// Tried in this order at each place; the first that matches is stepped over.
const OPAQUE = [
  /\/\/[^\n]*/y,
  /(?:b|c)?"(?:\\[^]|[^"\\])*"/y,
  /(?:b|c)?r(#*)"[^]*?"\1/y,
  /b?'(?:\\.[^'\n]*|[^\\'\n])'/y,
  /r#\w+/y,
  /\w+/y,
];

/** Every correctly spelled directive: its line, its column and its word. */
export function directivesOf(lines) {
  const text = lines.join("\n");
  const found = [];
  let at = 0;
  while (at < text.length) {
    const directive = match(/#(\w+)/y, text, at);
    if (directive) {
      if (DIRECTIVES.includes(directive[1])) found.push({ offset: at, word: directive[1] });
      at += directive[0].length;
      if (directive[1] === "conditions") at = conditionsEnd(text, at);
    } else if (text.startsWith("/*", at)) {
      at = blockCommentEnd(text, at);
    } else {
      const opaque = OPAQUE.map((pattern) => match(pattern, text, at)).find(Boolean);
      at += opaque ? opaque[0].length : 1;
    }
  }
  return found.map(({ offset, word }) => ({ ...placeOf(text, offset), word }));
}

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function blockCommentEnd(text, start) {
  let depth = 0;
  const edge = /\/\*|\*\//g;
  edge.lastIndex = start;
  for (let found = edge.exec(text); found; found = edge.exec(text)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return text.length;
}

/** Where the free text behind `#conditions` ends: at the next directive. */
function conditionsEnd(text, start) {
  let at = start;
  for (;;) {
    at += match(/\s*/y, text, at)[0].length;
    if (at >= text.length || text[at] === "#") return at;
    if (text.startsWith("/*", at)) {
      at = blockCommentEnd(text, at);
    } else {
      const condition = /\/\/[^\n]*|[^]+?(?=\s(?:\/\/|\/\*|#end\b)|\n|$(?![^]))/y;
      at += match(condition, text, at)[0].length;
    }
  }
}

function placeOf(text, offset) {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1).length + 1 };
}

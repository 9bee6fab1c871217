// Tokenises scripts as VS Code does: the same engine, the extension's grammar,
// and a stand-in for VS Code's own Rust grammar. `RUST_GRAMMAR` can name the
// file of a real one.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const GRAMMARS = {
  "source.conan": new URL("../syntaxes/conan.tmLanguage.json", import.meta.url),
  "source.rust": process.env.RUST_GRAMMAR
    ? pathToFileURL(process.env.RUST_GRAMMAR)
    : new URL("rust-stand-in.tmLanguage.json", import.meta.url),
};

async function loadEngine() {
  const wasm = createRequire(import.meta.url).resolve("vscode-oniguruma/release/onig.wasm");
  await oniguruma.loadWASM(await readFile(wasm));
  return {
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  };
}

async function loadGrammar(scope) {
  if (!(scope in GRAMMARS)) return null;
  const file = GRAMMARS[scope];
  return textmate.parseRawGrammar(await readFile(file, "utf8"), file.pathname);
}

const registry = new textmate.Registry({ onigLib: loadEngine(), loadGrammar });
const grammar = await registry.loadGrammar("source.conan");

/** The lines of a text, as an editor hands them out: no BOM, no line ends. */
export function linesOf(text) {
  return text.replace(/^\uFEFF/, "").split(/\r?\n/);
}

/**
 * The tokens of each line, and whether the root rule is the only one still
 * open behind the last.
 */
export function tokenise(lines) {
  let state = textmate.INITIAL;
  const tokens = lines.map((line) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    return result.tokens.map(({ startIndex, endIndex, scopes }) => ({
      start: startIndex,
      end: Math.min(endIndex, line.length),
      text: line.slice(startIndex, endIndex),
      scopes,
    }));
  });
  return { tokens, endsAtRoot: state.depth === 1 };
}

/** True if `scopes` holds `wanted` or something more special than it. */
export function hasScope(scopes, wanted) {
  return scopes.some((scope) => scope === wanted || scope.startsWith(`${wanted}.`));
}

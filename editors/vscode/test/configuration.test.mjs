import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { linesOf } from "./tokens.mjs";

const at = (path) => new URL(path, import.meta.url);
const read = (path) => readFileSync(at(path), "utf8");
const readJson = (path) => JSON.parse(read(path));

const manifest = readJson("../package.json");
const configuration = readJson("../language-configuration.json");
const SCRIPT = linesOf(read("fixtures/scripts/bounded_buffer.conan"));

test("the manifest names files that exist", () => {
  const { languages, grammars } = manifest.contributes;
  for (const path of [languages[0].configuration, grammars[0].path]) {
    assert.ok(existsSync(at(`../${path}`)), path);
  }
  assert.equal(readJson(`../${grammars[0].path}`).scopeName, grammars[0].scopeName);
});

test("every rule that the grammar includes exists, and every rule is included", () => {
  const text = read("../syntaxes/conan.tmLanguage.json");
  const included = new Set([...text.matchAll(/"include": "#([\w-]+)"/g)].map(([, name]) => name));
  const rules = Object.keys(JSON.parse(text).repository);
  assert.deepEqual([...included].sort(), rules.sort());
});

test("folding pairs each block with its own end", () => {
  const { start, end } = configuration.folding.markers;
  const folds = [];
  const open = [];
  SCRIPT.forEach((line, index) => {
    if (new RegExp(start).test(line)) open.push(index);
    else if (new RegExp(end).test(line)) folds.push([open.pop(), index]);
  });
  assert.deepEqual(open, []);
  for (const [first, last] of folds) {
    assert.equal(indentOf(SCRIPT[first]), indentOf(SCRIPT[last]), `lines ${first + 1} and ${last + 1}`);
  }
  assert.equal(folds.length, 15);
});

test("the indentation rules indent a script as it is", () => {
  const { increaseIndentPattern, decreaseIndentPattern } = configuration.indentationRules;
  let indent = 0;
  for (const [index, line] of SCRIPT.entries()) {
    if (line.trim() === "") continue;
    if (new RegExp(decreaseIndentPattern).test(line)) indent -= 4;
    assert.equal(indentOf(line), indent, `line ${index + 1}: ${line}`);
    if (new RegExp(increaseIndentPattern).test(line)) indent += 4;
  }
});

function indentOf(line) {
  return line.length - line.trimStart().length;
}

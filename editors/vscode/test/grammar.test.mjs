import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkAssertions, splitAssertions } from "./assertions.mjs";
import { randomScript } from "./random-script.mjs";
import { directivesOf } from "./scanner.mjs";
import { hasScope, linesOf, tokenise } from "./tokens.mjs";

const HAZARDS = fileURLToPath(new URL("fixtures/hazards", import.meta.url));
const SCRIPTS = [
  fileURLToPath(new URL("fixtures/scripts", import.meta.url)),
  fileURLToPath(new URL("../../../scripts", import.meta.url)),
];

/** The `.conan` files below a folder, which need not exist. */
function scriptsIn(folder) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".conan")).sort().map((name) => join(folder, name));
}

describe("hazards have the scopes that their comments ask for", () => {
  for (const file of scriptsIn(HAZARDS)) {
    test(relative(HAZARDS, file), () => {
      const { lines, assertions } = splitAssertions(linesOf(readFileSync(file, "utf8")));
      assert.notEqual(assertions.length, 0, "a fixture without an assertion");
      const { tokens, endsAtRoot } = tokenise(lines.map(({ text }) => text));
      const failures = checkAssertions(lines, tokens, assertions);
      if (!endsAtRoot) failures.push("a block is still open at the end of the file");
      assert.equal(failures.length, 0, `\n${failures.join("\n")}`);
    });
  }
});

describe("whole scripts are read as the compiler reads them", () => {
  for (const file of SCRIPTS.flatMap(scriptsIn)) {
    test(relative(SCRIPTS[0], file), () => checkScript(readFileSync(file, "utf8")));
  }
});

test("random scripts are read as the compiler reads them", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const script = randomScript(seed);
    try {
      checkScript(script);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error.message}\n\n${script}`);
    }
  }
});

test("line ends and a byte order mark change nothing", () => {
  const script = randomScript(1);
  assert.deepEqual(tokenise(linesOf(`\uFEFF${script.replaceAll("\n", "\r\n")}`)), tokenise(linesOf(script)));
});

/** For a script without errors: its directives are keywords, and nothing else is. */
function checkScript(text) {
  const lines = linesOf(text);
  const { tokens, endsAtRoot } = tokenise(lines);
  const keywords = [];
  tokens.forEach((row, index) => {
    for (const { start, text, scopes } of row) {
      const place = `line ${index + 1}, column ${start + 1}: ${text}`;
      assert.ok(!hasScope(scopes, "invalid.illegal"), `${place} is marked as an error\n${lines[index]}`);
      assert.ok(!hasScope(scopes, "meta.swallowed.rust"), `${place} was left to source.rust\n${lines[index]}`);
      if (hasScope(scopes, "punctuation.definition.directive.conan")) {
        const word = keywordFrom(row, start + 1);
        keywords.push({ line: index + 1, column: start + 1, word });
      }
    }
  });
  assert.deepEqual(keywords, directivesOf(lines));
  assert.ok(endsAtRoot, "a block is still open at the end of the file");
}

/** The text of the keyword token that begins at a column. */
function keywordFrom(row, column) {
  const token = row.find(({ start }) => start === column);
  return token && hasScope(token.scopes, "keyword.control.directive.conan") ? token.text : undefined;
}

// Assertions inside a fixture. A comment line of carets speaks of the columns
// above it, in the last line that is no assertion:
//
//     #valueCheck time() # 1 #end
// //                     ^ keyword.operator.separator.conan !source.rust
//
// Each scope must be there on every column; with a `!`, it must not. Columns
// that the slashes cover are reached from the left: `//<----` is columns 0 to 3.
// Assertion lines are taken out before the fixture is tokenised, so they can
// stand inside a string or a comment as well. A token that is marked as an
// error needs an assertion that says so.
//
// Columns are counted in UTF-16 units, as editors do.

import { hasScope } from "./tokens.mjs";

const ASSERTION = /^\s*\/\/\s*(?:(?<carets>\^+)|<(?<dashes>-+))\s+(?<scopes>\S.*)$/;

/** Takes the assertions out of a fixture. */
export function splitAssertions(fixture) {
  const lines = [];
  const assertions = [];
  fixture.forEach((text, index) => {
    const found = ASSERTION.exec(text);
    if (!found) {
      lines.push({ text, number: index + 1 });
      return;
    }
    const { carets, dashes, scopes } = found.groups;
    const start = carets ? text.indexOf("^") : 0;
    const end = start + (carets ?? dashes).length;
    const row = lines.length - 1;
    assertions.push({ row, start, end, scopes: scopes.trim().split(/\s+/), number: index + 1 });
  });
  return { lines, assertions };
}

/** What is wrong, one line each. */
export function checkAssertions(lines, tokens, assertions) {
  const failures = [];
  for (const { row, start, end, scopes, number } of assertions) {
    const covered = tokens[row].filter((token) => token.start < end && token.end > start);
    if (end > lines[row].text.length) failures.push(`line ${number}: points past the end of its line`);
    for (const wanted of scopes) {
      const isAbsent = wanted.startsWith("!");
      const scope = isAbsent ? wanted.slice(1) : wanted;
      for (const token of covered.filter((token) => hasScope(token.scopes, scope) === isAbsent)) {
        failures.push(`line ${number}: \`${token.text}\` ${isAbsent ? "must not have" : "lacks"} ${scope}; it has ${token.scopes.join(" ")}`);
      }
    }
  }
  return [...failures, ...unexpectedErrors(lines, tokens, assertions)];
}

function unexpectedErrors(lines, tokens, assertions) {
  const isExpected = (row, token) =>
    assertions.some((a) => a.row === row && a.start <= token.start && a.end >= token.end && a.scopes.some((s) => s.startsWith("invalid.illegal")));
  return tokens.flatMap((line, row) =>
    line
      .filter((token) => hasScope(token.scopes, "invalid.illegal") && !isExpected(row, token))
      .map((token) => `line ${lines[row].number}: \`${token.text}\` is marked as an error`),
  );
}

// Random scripts without errors, made of what is hard to tell from a directive.
// The same seed gives the same script.

const LITERALS = [
  `"#end"`, `"a \\" #end"`, `"two\nlines #end\n"`, `b"#end"`, `c"#thread"`, `"\\\\"`, `"it's"`,
  `r"\\"`, `r#"a " #end"#`, `r##"a "# #end "##`, `br#"#tick"#`, `cr#"#end"#`, `r#"\n#end\n"#`,
  `'#'`, `'"'`, `'\\''`, `'\\\\'`, `b'#'`, `'\\u{23}'`, `'a'`, `'€'`, `42`, `1.5e3`, `0x1f`, `'🦀'`,
];
const NAMES = ["m", "r#type", "r#end", "r#fn", "br", "r", "b", "c", "end", "tick", "größe"];
const COMMENTS = [
  "// #end\n", "// it's \"open\n", "/* #end */", "/* a /* #end */ ' #tick */", "/*\n#end\n*/", "/// doc #end\n",
];
const STATEMENTS = [
  "let x: Vec<&'static str> = a / b;", "'outer: loop { break 'outer; }", "#[allow(unused)] let y = a < b;",
  "#[doc = \"#end\"]\nfn f<'a>(x: &'a str) -> &'a str { x }", "use a::{\n    B,\n    C,\n};", "let v = [1, 2, (3)];",
  "f::<Vec<u32>>(|x| { x });", "let z = a << 2 >> b;", "#![allow(dead_code)]", "x[0](1)(2);", "println!(\"{x}\");",
];
const CONDITIONS = ["C1 doesn't end", "C2 a \"quote", "C3", "C4 see x://y and#end", "P.5-a {([ // it's a comment", "C6 /* ' */"];

/** A script for a seed. */
export function randomScript(seed) {
  const random = generator(seed);
  const below = (count) => Math.floor(random() * count);
  const pick = (choices) => choices[below(choices.length)];
  const some = (max, make) => Array.from({ length: below(max + 1) }, make).join(pick(["\n", " ", "\n\n    "]));
  const gap = () => pick([" ", "\n", "\n    ", ` ${pick(COMMENTS)} `]);

  const expression = (depth) => {
    if (depth === 0) return pick([...LITERALS, ...NAMES]);
    const inner = () => expression(depth - 1);
    return pick([
      () => `${pick(NAMES)}.${pick(NAMES)}(${inner()},${gap()}${inner()})`,
      () => `[${inner()}, ${inner()}]`,
      () => `Some::<u32>(${gap()}${inner()})`,
      () => `${inner()} + ${inner()}`,
      () => `{ let r#type = ${inner()};${gap()}r#type }`,
      () => `tokens!(# ${inner()} #)`,
    ])();
  };
  const template = () =>
    pick([
      () => `#valueCheck ${expression(2)}${gap()}#${gap()}${expression(2)} #end`,
      () => `#matchCheck ${expression(1)} # Some(_)${gap()}#end`,
      () => `#excMonitor let g = ${expression(2)};${gap()}#end`,
      () => `#excMonitor ${expression(1)}; # ${pick(["panic", 'panic "#end"', "Err(Full(_))"])} #end`,
      () => `#wakeCheck ${pick(["3", "3..5", "3..=4", "{2, 4}", "take w", "2 + 1"])}${gap()}#end`,
    ])();
  const code = (depth) =>
    some(3, () =>
      pick([
        template,
        () => pick(STATEMENTS),
        () => pick(COMMENTS),
        () => `let x = ${expression(2)};`,
        () => (depth === 0 ? "" : `for i in 0..3 {${gap()}${code(depth - 1)}${gap()}}`),
        () => (depth === 0 ? "" : `run(move || {\n${code(depth - 1)}\n});`),
      ])(),
    );
  const thread = () => `#thread${pick(["", " <a>", " <p> x 10", " <q> takes tx", " <r> /* ' */ clones tx, rx"])}${pick(["\n", " // #end\n"])}${code(2)}${gap()}#end`;
  const tick = () => `#tick${gap()}${some(3, () => pick([thread, template, () => "#suspended p.0 a", () => "#finished b"])())}\n#end`;
  const sequence = () => `#begin${pick(["", " full"])}${gap()}#test C1 C2${gap()}#wakeTimes w 3 4 4\n#stays <a> b\n${some(3, tick)}\n#end`;

  return [
    pick(COMMENTS),
    "#ticktime 100",
    `#cut m ${expression(1)}`,
    "#cut (tx, rx) bounded::<u32>(\n    1,\n)",
    `#conditions\n${some(4, () => `    ${pick(CONDITIONS)}\n`)}\n#end`,
    `#top${gap()}${some(3, () => pick(STATEMENTS))}\n#end`,
    `#shared s${gap()}log: Mutex<u32> = ${expression(2)};\nfn note(&self) { ${expression(1)}; }\n#end`,
    some(3, sequence),
    pick(COMMENTS),
    "",
  ].join("\n");
}

/** Numbers from 0 to 1: a linear congruential generator is random enough here. */
function generator(seed) {
  let state = BigInt(seed);
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    return Number(state >> 33n) / 2 ** 31;
  };
}

// Runs structure/ and flops/ of the conformance suite, and proves that they need no Python.
//
//   node conformance.mjs [SUITE [SCHEMAS]]
//
// The contract is README.md of the suite; the names and the order here are the same.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import jsonPatch from "fast-json-patch";

import { agrees, flops, learningShare, structure } from "./standard.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const [suite = join(here, "../conformance"), schemas = join(here, "../../schema")] = process.argv.slice(2);
const load = (...path) => JSON.parse(readFileSync(join(...path), "utf-8"));

const RUN = {
  structure(version) {
    const validator = new Ajv2020({ allErrors: true, verbose: true, strict: false });
    addFormats(validator);
    const validate = validator.compile(load(schemas, version, "race-report.schema.json"));
    return (file, { base = file.base, patch, findings }) => {
      const document = jsonPatch.applyPatch(load(suite, version, base), patch, true).newDocument;
      const lines = (found) => found.map(([code, pointer]) => `${code} ${pointer}`).sort();
      const got = lines(structure(document, version, validate));
      const expected = lines(findings.map(({ code, pointer }) => [code, pointer]));
      return { expected, got, isRight: JSON.stringify(got) === JSON.stringify(expected) };
    };
  },
  flops: () => ({ tolerance }, { passes, learning_share, flops: expected, ...pass }) => {
    if (passes) {
      const got = learningShare(passes);
      return { expected: [learning_share], got: [got], isRight: Math.abs(got / learning_share - 1) <= tolerance };
    }
    const got = flops(pass);
    const shown = got && (got[1] === 1n ? got[0] : got.join("/"));
    return { expected: [expected], got: [shown], isRight: agrees(got, expected, tolerance) };
  },
};

let failures = 0;
for (const version of readdirSync(suite).filter((name) => /^[0-9]+\.[0-9]+$/.test(name))) {
  for (const [folder, prepare] of Object.entries(RUN)) {
    const run = prepare(version);
    let count = 0;
    for (const name of readdirSync(join(suite, version, folder)).filter((each) => each.endsWith(".json")).sort()) {
      const file = load(suite, version, folder, name);
      for (const each of file.cases) {
        count += 1;
        const { expected, got, isRight } = run(file, each);
        if (isRight) continue;
        failures += 1;
        console.log(`${version}/${folder}/${name}: ${each.description}`);
        for (const line of expected) if (!got.includes(line)) console.log(`  - ${line}`);
        for (const line of got) if (!expected.includes(line)) console.log(`  + ${line}`);
      }
    }
    console.log(`${version}/${folder}: ${count} cases`);
  }
}
if (failures) console.log(`${failures} failed: - is expected, + was found`);
process.exitCode = failures ? 1 : 0;

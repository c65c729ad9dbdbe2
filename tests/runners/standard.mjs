// What the conformance suite tests, in JavaScript: the errors of a JSON Schema validator as codes and pointers, and the
// formula on exact fractions. Section numbers are those of the suite's README.md.

// --- structure, section 4

const escape = (key) => key.replaceAll("~", "~0").replaceAll("/", "~1");
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function saysNumber(text) {
  const plain = text
    .trim()
    .replace(/(?<=[0-9])[,_ '](?=[0-9]{3})/g, "")
    .replace(/^\++/, "")
    .replace(/\s*[x×*]\s*10\s*\^?\s*\{?/g, "e")
    .replace(/\}+$/, "");
  return plain.length <= 40 && /^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\s*[A-Za-z%$/ -]*$/.test(plain);
}

function codeOfType(value, expected, schema) {
  if (value === null) return "RACE033";
  if (typeof value === "string" && ["integer", "number"].includes(expected) && saysNumber(value)) return "RACE031";
  if (typeof value === "number" && expected === "string" && !schema.enum) return "RACE032";
  if (typeof value === "number" && expected === "integer") return "RACE034";
  return "RACE030";
}

function unknownKey({ instancePath, parentSchema, params: { additionalProperty: key } }) {
  if (!parentSchema.properties) return ["RACE039", `${instancePath}/${escape(key)}`];
  const isForLater = instancePath === "" && key === "allocation_study";
  return [isForLater ? "RACE041" : "RACE035", `${instancePath}/${escape(key)}`];
}

const missingKey = ({ instancePath, params }) => ["RACE036", `${instancePath}/${escape(params.missingProperty)}`];
const word = ({ instancePath, data }) => (typeof data === "string" ? ["RACE037", instancePath] : undefined);
const at = (code) => (error) => [code, error.instancePath];
const EXPLAINERS = {
  type: ({ instancePath, data, params, parentSchema }) => [codeOfType(data, params.type, parentSchema), instancePath],
  additionalProperties: unknownKey,
  required: missingKey,
  dependentRequired: missingKey,
  enum: word,
  minimum: at("RACE038"),
  exclusiveMinimum: at("RACE038"),
  maximum: at("RACE038"),
  pattern: at("RACE039"),
  format: at("RACE039"),
  minItems: at("RACE040"),
  if: () => undefined, // what `then` says is an error of its own
};

/** Give [code, pointer] of each structural fault of a document; `validate` is the compiled schema. */
export function structure(document, version, validate) {
  if (!isObject(document) || !Object.hasOwn(document, "race_version")) return [["RACE020", ""]];
  const stated = document.race_version;
  if (stated !== version) {
    return [[typeof stated === "string" ? "RACE021" : codeOfType(stated, "string", {}), "/race_version"]];
  }
  validate(document);
  const codes = new Map();
  for (const error of validate.errors ?? []) {
    const [code, pointer] = EXPLAINERS[error.keyword](error) ?? [];
    if (code && (error.keyword === "type" || !codes.has(pointer))) codes.set(pointer, code);
  }
  return [...codes].map(([pointer, code]) => [code, pointer]);
}

// --- FLOPs, section 2 of SPEC.md

const UNIT = { body: 1, head: 1, attention: 1, adapter: 1 };
const UPDATE = {
  full: { body: 3, head: 3, attention: 3, adapter: 3 },
  adapter: { body: 2, head: 2, attention: 3, adapter: 3 },
  head: { body: 1, head: 2, attention: 1, adapter: 0 },
};
const TERMS = [
  ["body", 2, "body_parameters", "tokens"],
  ["head", 2, "head_parameters", "logit_rows"],
  ["attention", 4, "attention_width", "attention_pairs"],
  ["attention", 4, "bounded_attention_width", "bounded_attention_pairs"],
  ["adapter", 2, "adapter_parameters", "adapter_tokens"],
];

function fraction(number) {
  const [, digits, decimals = "", exponent = "0"] = /^([0-9]+)(?:\.([0-9]+))?(?:e([-+][0-9]+))?$/.exec(String(number));
  const shift = Number(exponent) - decimals.length;
  const power = 10n ** BigInt(Math.abs(shift));
  const whole = BigInt(digits + decimals);
  return shift < 0 ? [whole, power] : [whole * power, 1n];
}

const plus = ([a, b], [c, d]) => [a * d + c * b, b * d];
const times = (...numbers) => numbers.map(fraction).reduce(([a, b], [c, d]) => [a * c, b * d]);

/** Give the FLOPs of a pass as [numerator, denominator], or null where nothing follows. */
export function flops({ coefficients, counts, operation, trained, multipliers }) {
  const factors = multipliers ?? (operation === "forward" ? UNIT : UPDATE[trained]);
  if (!factors) return null;
  let sum = [0n, 1n];
  for (const [factor, operations, coefficient, count] of TERMS) {
    const size = coefficients[coefficient] ?? 0;
    const isNeeded = size !== 0 && !(count === "adapter_tokens" && operation === "forward");
    if (isNeeded && counts[count] === undefined) return null;
    sum = plus(sum, times(factors[factor], operations, size, counts[count] ?? 0));
  }
  return sum;
}

/** Tell whether FLOPs are the expected ones, within a relative tolerance. */
export function agrees(computed, expected, tolerance) {
  if (computed === null || expected === null) return computed === expected;
  const [[a, b], [c, d], [e, f]] = [computed, fraction(expected), fraction(tolerance)];
  const difference = a * d - c * b;
  return (difference < 0n ? -difference : difference) * f <= e * c * b;
}

/** Give the learning share of passes. */
export function learningShare(passes) {
  const sums = { search: [0n, 1n], learning: [0n, 1n], feedback: [0n, 1n] };
  for (const pass of passes) sums[pass.component] = plus(sums[pass.component], flops(pass));
  const [n, d] = Object.values(sums).reduce(plus);
  return Number(sums.learning[0] * d) / Number(sums.learning[1] * n);
}

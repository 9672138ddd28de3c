import { anyText } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'

/** PostgreSQL stores only text without U+0000 and without halves of surrogate pairs. */
const text = anyText({ maxLength: 20 }).filter((value) => !value.includes('\0'))
/** A key that attributes may have. */
export const key = text.filter((value) => value !== '__proto__' && value !== 'constructor')
const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })
/** A number's literal and its expected form: exponents written out, otherwise unchanged. */
const number = fc.oneof(
  fc
    .tuple(digits, fc.constantFrom('', '.0', '.10', '.000000000000000000001'))
    .map(([n, fraction]) => `${n}${fraction}`),
  fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.integer({ min: 0, max: 30 })).map(([n, e]) => `${n}e${e}`),
)
/** JSON as a text, made so that no JavaScript number is involved. */
export const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('true', 'false', 'null'),
    number,
    text.map((value) => JSON.stringify(value)),
    fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(', ')}]`),
    fc
      .uniqueArray(fc.tuple(key, tie('json')), { maxLength: 4, selector: ([name]) => name })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(', ')}}`),
  ),
}))

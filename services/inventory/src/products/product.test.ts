import { describe, expect, it } from 'vitest'
import { checkAttributes, findSkuProblem } from './product.ts'

describe('findSkuProblem', () => {
  it.each(['A', 'a b', 'Ω-1', "'; DROP TABLE products; --", 'x'.repeat(255), '😀'.repeat(255)])('accepts %s', (sku) => {
    expect(findSkuProblem(sku)).toBeUndefined()
  })

  // ASVS 1.3.3
  it.each([
    ['', 'must not be empty'],
    [' A', 'must not begin or end with white space'],
    ['A\u00a0', 'must not begin or end with white space'],
    ['A\nB', 'must not hold control characters'],
    ['A\u0000', 'must not hold control characters'],
    ['A\u0085B', 'must not hold control characters'],
    ['\ud83d', 'must be well-formed Unicode'],
    ['x'.repeat(256), 'must have at most 255 characters'],
    ['😀'.repeat(256), 'must have at most 255 characters'],
  ])('refuses %j: %s', (sku, problem) => {
    expect(findSkuProblem(sku)).toBe(problem)
  })
})

const BYTES_MAX = 65_536
const keys = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1])))
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const KEYS = 'must not have a key "__proto__", or a key "constructor" whose value has a key "prototype"'

describe('checkAttributes', () => {
  it.each([
    '{}',
    '[1,2]',
    '"red"',
    '5',
    'true',
    '{"n":12345678901234567890,"m":0.10,"e":1e2}',
    '{"constructor":1,"prototype":{}}',
    '"\\ud83d\\ude00"',
    nested(32),
    keys(1_000),
    `"${'x'.repeat(BYTES_MAX - 2)}"`,
    `1e${BYTES_MAX - 8}`,
    '1e-16383',
  ])('accepts %s as it is', (text) => {
    expect(checkAttributes(text, BYTES_MAX)).toEqual({ verdict: 'accepted', text })
  })

  it.each([
    ['{bad', 'must be JSON'],
    ['', 'must be JSON'],
    ['null', 'must not be null'],
    [nested(33), 'must be nested at most 32 levels deep'],
    [nested(30_000), 'must be nested at most 32 levels deep'],
    [keys(1_001), 'must have at most 1000 keys in all'],
    ['{"a":{"__proto__":1}}', KEYS],
    ['{"constructor":{"prototype":1}}', KEYS],
    ['{"a":"\\u0000"}', 'must not hold U+0000 or half a surrogate pair'],
    ['{"\\udc00":1}', 'must not hold U+0000 or half a surrogate pair'],
    ['["\udc00"]', 'must not hold U+0000 or half a surrogate pair'],
    [`"${'x'.repeat(BYTES_MAX - 1)}"`, 'must be at most 65536 bytes of JSON'],
    [`"${'é'.repeat(BYTES_MAX / 2)}"`, 'must be at most 65536 bytes of JSON'],
    [`1e${BYTES_MAX}`, 'must not hold a number that is too long when written out'],
    ['[1e40000,1e40000]', 'must not hold a number that is too long when written out'],
    ['1e-16384', 'must not hold a number that is too long when written out'],
    ['0e999999999999', 'must not hold a number that is too long when written out'],
  ])('refuses %s: %s', (text, reason) => {
    expect(checkAttributes(text, BYTES_MAX)).toEqual({ verdict: 'refused', reason })
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonScan, numberSize, scanJson } from './scan-json.ts'

const EMPTY: JsonScan = {
  depth: 0,
  keys: 0,
  unstorableText: false,
  numberGrowth: 0,
  fractionDigits: 0,
}

describe('scanJson', () => {
  it.each<[string, Partial<JsonScan>]>([
    ['5', {}],
    ['"a:{[,"', {}],
    ['[]', { depth: 1 }],
    ['{"a":{"b":[1]},"a":2}', { depth: 3, keys: 3 }],
    ['{"a":[ 1e2 ],"b":{"c":"}"}}', { depth: 2, keys: 3, numberGrowth: 0 }],
    ['[1e4,1e-4]', { depth: 1, numberGrowth: 4, fractionDigits: 4 }],
    ['{"proto":1,"b":"__proto__"}', { depth: 1, keys: 2 }],
    ['["\\u0000"]', { depth: 1, unstorableText: true }],
    ['["\\ud83d"]', { depth: 1, unstorableText: true }],
    ['["\ud83d"]', { depth: 1, unstorableText: true }],
    ['["\\ud83d\\ude00","\\\\u0000"]', { depth: 1 }],
    ['{"a\\"b":[]}', { depth: 2, keys: 1 }],
  ])('finds in %s what limits are about: %j', (text, expected) => {
    const { depth, keys, unstorableText, numberGrowth, fractionDigits } = scanJson(text)
    const scan = { depth, keys, unstorableText, numberGrowth, fractionDigits }
    expect(scan).toEqual({ ...EMPTY, ...expected })
  })

  it('agrees with a walk over the parsed value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
        const scan = scanJson(JSON.stringify(value, null, indent))
        const walked = walk(JSON.parse(JSON.stringify(value)))
        expect({ depth: scan.depth, keys: scan.keys }).toEqual(walked)
      }),
    )
  })
})

function walk(value: unknown): { depth: number; keys: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, keys: 0 }
  const below = Object.values(value).map(walk)
  return {
    depth: 1 + Math.max(0, ...below.map(({ depth }) => depth)),
    keys: (Array.isArray(value) ? 0 : below.length) + below.reduce((sum, { keys }) => sum + keys, 0),
  }
}

describe('numberSize', () => {
  it.each([
    ['0', '0'],
    ['-0.10', '-0.10'],
    ['1e2', '100'],
    ['1E+2', '100'],
    ['1e-3', '0.001'],
    ['1.50e1', '15.0'],
    ['1.5e-3', '0.0015'],
    ['-12.345e2', '-1234.5'],
    ['12345678901234567890', '12345678901234567890'],
  ])('computes the size of %s, which is %s when written out', (literal, plain) => {
    expect(numberSize(literal)).toEqual({ length: plain.length, fractionDigits: plain.split('.')[1]?.length ?? 0 })
  })

  it('never writes out a huge number', () => {
    expect(numberSize('1e100000000').length).toBe(100_000_001)
    expect(numberSize(`1e${'9'.repeat(400)}`).length).toBe(Number.POSITIVE_INFINITY)
  })
})

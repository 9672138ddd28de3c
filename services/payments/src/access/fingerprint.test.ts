import { describe, expect, it } from 'vitest'
import { fingerprintOf } from './fingerprint.ts'

describe('fingerprintOf', () => {
  it.each([
    [
      { a: 1, b: { c: [1, { d: 2, e: 3 }], f: null } },
      { b: { f: null, c: [1, { e: 3, d: 2 }] }, a: 1 },
    ],
    [{ a: 1, b: undefined }, { a: 1 }],
    [{}, {}],
  ])('is the same for %j and %j', (a, b) => {
    expect(fingerprintOf(a)).toEqual(fingerprintOf(b))
    expect(fingerprintOf(a)).toHaveLength(32)
  })

  it.each([
    [{ a: 1 }, { a: '1' }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: {} }, { a: [] }],
    [{ a: null }, {}],
    [{ 1: 'a', 0: 'b' }, ['b', 'a']],
    [
      { a: 1, b: 2 },
      { a: 2, b: 1 },
    ],
  ])('differs for %j and %j', (a, b) => {
    expect(fingerprintOf(a)).not.toEqual(fingerprintOf(b))
  })
})

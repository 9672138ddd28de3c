import { describe, expect, it } from 'vitest'
import { countValues, replaceAt } from './plan.ts'

const value = { a: 1, b: { c: [2, 3] } }

describe('replaceAt', () => {
  it('reaches every value inside a value once', () => {
    expect(countValues(value)).toBe(5)
    expect(Array.from({ length: 5 }, (_, at) => replaceAt(value, at, () => 'x'))).toEqual([
      { a: 'x', b: { c: [2, 3] } },
      { a: 1, b: 'x' },
      { a: 1, b: { c: 'x' } },
      { a: 1, b: { c: ['x', 3] } },
      { a: 1, b: { c: [2, 'x'] } },
    ])
  })

  it('removes what becomes undefined, and wraps around after the last place', () => {
    expect(replaceAt(value, 3, () => undefined)).toEqual({ a: 1, b: { c: [3] } })
    expect(replaceAt(value, 5, () => undefined)).toEqual({ b: { c: [2, 3] } })
  })

  it('skips empty values, and places that are filled later', () => {
    expect([replaceAt('text', 0, () => 'x'), replaceAt({}, 0, () => 'x')]).toEqual(['text', {}])
    expect(countValues({ id: { fromMemory: 'userId', choice: 1, otherwise: '' } })).toBe(1)
  })
})

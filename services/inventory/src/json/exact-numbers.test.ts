import { describe, expect, it } from 'vitest'
import { parseExactly } from './exact-numbers.ts'

describe('parseExactly', () => {
  it.each([
    ['1.0', 1],
    ['1.50e1', 15],
    ['-0.0', -0],
    ['100e-2', 1],
    ['1.00000000000000000001', Number.NaN],
    ['1e-400', Number.NaN],
    ['1.5', 1.5],
  ])('%s is %d', (text, number) => {
    expect(parseExactly(text)).toBe(number)
  })

  it('takes no number of more than 1,000 characters for whole', () => {
    expect(parseExactly(`[1.${'0'.repeat(998)}, 1.${'0'.repeat(999)}]`)).toEqual([1, Number.NaN])
  })

  // With a search that starts anew at every zero this takes minutes.
  it('reads a number of a million digits in one pass', () => {
    expect(parseExactly(`{"productId":1.${'0'.repeat(1_000_000)}1}`)).toEqual({ productId: Number.NaN })
  })
})

import { describe, expect, it } from 'vitest'
import { numberSize } from './number-size.ts'

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

import { describe, expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['90', 90_000],
    ['300ms', 300],
    ['1.5h', 5_400_000],
    ['2h45m', 9_900_000],
    ['10µs', 0.01],
    ['', undefined],
    ['1d', undefined],
    ['h', undefined],
    ['-1s', undefined],
    ['1s ', undefined],
  ])('reads %j as %j ms', (value, ms) => {
    expect(parseDuration(value)).toBe(ms)
  })
})

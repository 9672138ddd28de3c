import { describe, expect, it } from 'vitest'
import { distributionOf, median, medianInterval, pairedRatios, percentileOf } from './statistics.ts'

describe('median', () => {
  it.each([
    [[3], 3],
    [[3, 1], 2],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
  ])('takes the middle of %j, or the mean of both middles: %d', (values, expected) => {
    expect(median(values)).toBe(expected)
  })

  it('leaves the values in their order', () => {
    const values = [3, 1, 2]
    median(values)
    expect(values).toEqual([3, 1, 2])
  })
})

describe('medianInterval', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => count - index)

  // From tables of the sign test: the ranks of the 95 % interval.
  it.each([
    [5, 1, 5],
    [6, 1, 6],
    [8, 1, 8],
    [9, 2, 8],
    [12, 3, 10],
    [15, 4, 12],
    [20, 6, 15],
  ])('covers 95 % of the sign test: of %d values, the ranks %d to %d', (count, lower, upper) => {
    expect(medianInterval(upTo(count))).toEqual({ median: (count + 1) / 2, lower, upper })
  })
})

describe('distributionOf', () => {
  it('returns the middle and both ends', () => {
    expect(distributionOf([2, 9, 4])).toEqual({ median: 4, smallest: 2, largest: 9 })
  })

  it('throws without values', () => {
    expect(() => distributionOf([])).toThrow('no values')
  })
})

describe('pairedRatios', () => {
  it('returns the ratio of each round, not that of the sums', () => {
    expect(pairedRatios([10, 30], [20, 40])).toEqual([0.5, 0.75])
  })
})

describe('percentileOf', () => {
  it.each([
    [[], 0.99, 0],
    [[7], 0.5, 7],
    [[4, 1, 3, 2], 0.5, 2],
    [[4, 1, 3, 2], 0.99, 4],
    [[4, 1, 3, 2], 0, 1],
  ])('takes the nearest rank of %j at the share %d: %d, and 0 of nothing', (values, share, expected) => {
    expect(percentileOf(values, share)).toBe(expected)
  })
})

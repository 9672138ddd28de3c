import { expect, it } from 'vitest'
import { listFirst } from './existing-schema.ts'

it.each([
  [['a'], undefined, 'a'],
  [['a', 'b', 'c', 'd', 'e'], undefined, 'a, b, c, d, e'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], undefined, 'a, b, c, d, e and 2 more'],
  [['a', 'b', 'c', 'd', 'e'], 9, 'a, b, c, d, e and 4 more'],
] as const)('the first names of %j of a count of %s are written %s', (names, count, written) => {
  expect(listFirst(names, count)).toBe(written)
})

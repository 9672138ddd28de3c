import { expect, it } from 'vitest'
import { toMinorUnits } from './decimal.ts'

it.each([
  [{ exponent: 2, value: 1855 }, 2, 1855n],
  [{ exponent: 0, value: 18 }, 2, 1800n],
  [{ exponent: 3, value: 1855 }, 2, 186n],
  [{ exponent: 3, value: 1850 }, 2, 185n],
  [{ exponent: 3, value: 1851 }, 2, 186n],
  [{ exponent: 10, value: 1 }, 2, 1n],
  [{ exponent: 2, value: 100 }, 0, 1n],
  [{ exponent: 2, value: 101 }, 0, 2n],
  [{ exponent: 0, value: 9_007_199_254_740_991 }, 3, 9_007_199_254_740_991_000n],
  [{ exponent: 2, value: 0 }, 2, 0n],
])('toMinorUnits of %j in a currency with exponent %i is %i', (money, exponent, minor) => {
  expect(toMinorUnits(money, exponent)).toBe(minor)
})

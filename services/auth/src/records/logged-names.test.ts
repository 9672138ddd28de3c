import { expect, it } from 'vitest'
import { toLoggedNames } from './logged-names.ts'

it('has the number of all names, and the first ten, each of which is cut', () => {
  const names = Array.from({ length: 12 }, (_name, index) => `${index}`.padEnd(200, 'x'))
  const first = names.slice(0, 10).map((name) => name.slice(0, 60))
  expect(toLoggedNames(names)).toEqual({ count: 12, names: first })
  expect(toLoggedNames(['avatar'])).toEqual({ count: 1, names: ['avatar'] })
})

it('cuts no character in two', () => {
  expect(toLoggedNames([`${'x'.repeat(59)}😀`]).names).toEqual([`${'x'.repeat(59)}\ufffd`])
})

import { expect, it } from 'vitest'
import { requireNewId, toLoggedNames, toUuid } from './ids.ts'

it.each([
  [Buffer.alloc(16), '00000000-0000-4000-8000-000000000000'],
  [Buffer.alloc(16, 0xff), 'ffffffff-ffff-4fff-bfff-ffffffffffff'],
  [Buffer.from('00112233445566778899aabbccddeeff', 'hex'), '00112233-4455-4677-8899-aabbccddeeff'],
])('makes a UUID of version 4 that an admin may also choose', (bytes, id) => {
  expect(requireNewId(toUuid(bytes))).toBe(id)
})

it('has the number of all names, and the first ten, each of which is cut', () => {
  const names = Array.from({ length: 12 }, (_name, index) => `${index}`.padEnd(200, 'x'))
  const first = names.slice(0, 10).map((name) => name.slice(0, 60))
  expect(toLoggedNames(names)).toEqual({ count: 12, names: first })
  expect(toLoggedNames(['avatar'])).toEqual({ count: 1, names: ['avatar'] })
})

it('cuts no character in two', () => {
  expect(toLoggedNames([`${'x'.repeat(59)}😀`]).names).toEqual([`${'x'.repeat(59)}\ufffd`])
})

import { expect, it } from 'vitest'
import { requireNewId, toUuid } from './ids.ts'

it.each([
  [Buffer.alloc(16), '00000000-0000-4000-8000-000000000000'],
  [Buffer.alloc(16, 0xff), 'ffffffff-ffff-4fff-bfff-ffffffffffff'],
  [Buffer.from('00112233445566778899aabbccddeeff', 'hex'), '00112233-4455-4677-8899-aabbccddeeff'],
])('makes a UUID of version 4 that an admin may also choose', (bytes, id) => {
  expect(requireNewId(toUuid(bytes))).toBe(id)
})

import { describe, expect, it } from 'vitest'
import { layOut } from './error-body.ts'

describe('layOut', () => {
  it.each([
    [{ a: 'x\ny' }, 200, '{"a":"x\\ny"}\n'],
    [[], 200, '[\n]\n'],
    [[{ a: 1 }], 200, '[\n{"a":1}\n]\n'],
    [[{ a: 1 }, { b: 2 }, {}], 200, '[\n{"a":1},\n{"b":2},\n{}\n]\n'],
    [[{ field: 'a' }, { field: 'b' }], 400, '[{"field":"a"},{"field":"b"}]\n'],
  ])('writes %j with %i as %j', (payload, status, expected) => {
    expect(layOut(payload, status)).toBe(expected)
  })
})

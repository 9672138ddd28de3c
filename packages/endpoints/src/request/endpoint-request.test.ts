import { describe, expect, it } from 'vitest'
import { newRequestId } from './endpoint-request.ts'

describe('newRequestId', () => {
  it('returns UUIDs, each of them once', () => {
    const ids = Array.from({ length: 20_000 }, newRequestId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(
      ids.filter((id) => !/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).toEqual([])
  })

  it('draws new random bits when the counter is used up', () => {
    const draws = new Set(Array.from({ length: 3 * 4_096 }, () => newRequestId().slice(0, -3)))
    expect([3, 4]).toContain(draws.size)
  })
})

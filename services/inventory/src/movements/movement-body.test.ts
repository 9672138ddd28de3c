import { afterEach, describe, expect, it, vi } from 'vitest'
import { MovementBody } from './movement-body.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('MovementBody', () => {
  it('refuses more than 100 lines before it reads one of them', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const jsonText = `[${Array.from({ length: 101 }, () => '{"type":"count","quantity":1.5}').join(',')}]`
    const { error } = MovementBody.safeParse({ lines: { jsonText } })
    expect(error?.issues).toEqual([expect.objectContaining({ path: ['lines'], message: 'must have 1 to 100 lines' })])
    expect(parse).not.toHaveBeenCalled()
  })

  it('takes 100 lines', () => {
    const line = { type: 'count', productId: 1, locationId: 2, quantity: 3 }
    const lines = Array.from({ length: 100 }, () => line)
    expect(MovementBody.parse({ lines: { jsonText: JSON.stringify(lines) } })).toEqual(lines)
  })
})

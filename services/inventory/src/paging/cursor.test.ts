import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from './cursor.ts'

describe('decodeCursor', () => {
  it('reads what encodeCursor wrote, and only for the same listing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (id) => {
        const cursor = encodeCursor('/products', id)
        expect(decodeCursor('/products', cursor)).toBe(id)
        expect(decodeCursor('/users', cursor)).toBeUndefined()
      }),
    )
  })

  it('refuses a cursor with any character changed, cut or added', () => {
    const cursor = encodeCursor('/products', 50)
    for (let at = 0; at < cursor.length; at++) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
      expect(decodeCursor('/products', changed)).toBeUndefined()
      expect(decodeCursor('/products', cursor.slice(0, at))).toBeUndefined()
      expect(decodeCursor('/products', `${cursor.slice(0, at)} ${cursor.slice(at)}`)).toBeUndefined()
    }
    expect(decodeCursor('/products', `${cursor}=`)).toBeUndefined()
  })
})

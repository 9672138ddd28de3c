import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from './cursor.ts'

describe('decodeCursor', () => {
  it('reads what encodeCursor writes, for the same listing only', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 2 }), (position) => {
        const cursor = encodeCursor('/products', position)
        expect(decodeCursor('/products', cursor)).toEqual(position)
        expect(decodeCursor('/users', cursor)).toBeUndefined()
      }),
    )
  })

  it('refuses a cursor with a changed, missing or added character', () => {
    const cursor = encodeCursor('/products', ['50'])
    for (let at = 0; at < cursor.length; at++) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
      expect(decodeCursor('/products', changed)).toBeUndefined()
      expect(decodeCursor('/products', cursor.slice(0, at))).toBeUndefined()
      expect(decodeCursor('/products', `${cursor.slice(0, at)} ${cursor.slice(at)}`)).toBeUndefined()
    }
    expect(decodeCursor('/products', `${cursor}=`)).toBeUndefined()
  })

  it.each(['', '[', '{}', '[1]', 'null', '["50"] '])('refuses %j under a valid checksum', (text) => {
    const checksum = createHash('sha256').update(`/products\n${text}`).digest('base64url').slice(0, 8)
    expect(decodeCursor('/products', Buffer.from(checksum + text).toString('base64url'))).toBeUndefined()
  })
})

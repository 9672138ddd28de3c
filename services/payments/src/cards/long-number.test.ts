import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasLongNumber, LONG_NUMBERS } from './long-number.ts'

const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(
      '4111111111111111',
      '4111 1111 1111 1111',
      '6a0f3c121230001234567abc',
      '/',
      '"',
      'x',
      '_',
      'é',
      ' ',
      '-',
      '.',
      '":"',
      '\u00a0',
      '0b6a5c1e-7d53-4a4b-9d39-1c2d3e4f5a6b',
    ),
    fc.stringMatching(/^\d{1,13}$/),
    fc.stringMatching(/^[0-9a-f]{1,13}$/),
  ),
  { maxLength: 12 },
)

describe('hasLongNumber', () => {
  it.each([
    ['/transactions/4111111111111111'],
    ['4111 1111 1111'],
    ['4111-1111-1111'],
    ['a4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1z'],
    ['4\u20091_1.1/1:1;1\u00a01+1=1*1 1'],
    ['"n":411111111111,"id":"6a0f3c121230001234567abc"'],
    ['6a0f3c121230001234567abc 411111111111'],
    ['6a0f3c121230001234567abcx'],
    ['_6a0f3c121230001234567abc'],
    ['123456789012345678901234a'],
  ])('is true of %s', (text) => {
    expect(hasLongNumber(text)).toBe(true)
  })

  it.each([
    [''],
    ['41111111111'],
    ['"/merchants/6a0f3c121230001234567abc"'],
    ['123456789012345678901234'],
    ['12345678901 123456789012345678901234 12345678901'],
    ['203.0.113.19'],
    ['"time":"2026-11-20T16:46:44.123Z","request_id":"0b6a5c1e-7d53-4a4b-9d39-1c2d3e4f5a6b"'],
  ])('is false of %s', (text) => {
    expect(hasLongNumber(text)).toBe(false)
  })

  it('finds each number, wherever it stands', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('')
        const isId = (match: string) => /^(?:[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.test(match)
        const hasNumber = [...text.matchAll(LONG_NUMBERS)].some(([match]) => !isId(match))
        expect(hasNumber && !hasLongNumber(text)).toBe(false)
      }),
      { numRuns: 5_000 },
    )
  })
})

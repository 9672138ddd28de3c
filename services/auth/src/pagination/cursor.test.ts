import { describe, expect, it } from 'vitest'
import { cursorMalformed } from '../request-errors.ts'
import { formatCursor, parseCursor } from './cursor.ts'

describe('a cursor', () => {
  const id = '00000000-0000-4000-8000-000000000001'
  const at = (createdAt: string, of = id) => Buffer.from(`${createdAt} ${of}`).toString('base64url')

  it.each(['2026-01-02T03:04:05.123456+00:00', '2024-02-29T00:00:00.000000+00:00', '0001-01-01T00:00:00.000000+00:00'])(
    'of %s is read as it was written',
    (createdAt) => {
      expect(parseCursor(formatCursor({ createdAt, id }))).toEqual({ createdAt, id })
    },
  )

  it.each([
    ['no base64url', '%'],
    ['nothing', ''],
    ['February 30', at('2026-02-30T00:00:00.000000+00:00')],
    ['February 29 of another year', at('2026-02-29T00:00:00.000000+00:00')],
    ['the hour 24', at('2026-01-01T24:00:00.000000+00:00')],
    ['the year 0', at('0000-01-01T00:00:00.000000+00:00')],
    ['milliseconds', at('2026-01-01T00:00:00.000+00:00')],
    ['another offset', at('2026-01-01T00:00:00.000000+01:00')],
    ['no id', at('2026-01-01T00:00:00.000000+00:00', '')],
    ['an id in upper case', at('2026-01-01T00:00:00.000000+00:00', id.replace('8', 'A'))],
    ['a line more', at('2026-01-01T00:00:00.000000+00:00', `${id}\n`)],
  ])('is refused: %s', (_name, text) => {
    expect(() => parseCursor(text)).toThrow(cursorMalformed())
  })
})

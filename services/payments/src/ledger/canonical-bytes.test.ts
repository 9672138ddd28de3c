import { expect, it } from 'vitest'
import { type Column, canonicalBytes } from './canonical-bytes.ts'

// The bytes that PostgreSQL sends for ROW(value): one column, its type and length, its bytes.
it.each<[string, Column, string]>([
  ['an empty text', ['text', ''], '00000019 00000000'],
  ['a text in UTF-8', ['text', 'é'], '00000019 00000002 c3a9'],
  ['no text', ['text', null], '00000019 ffffffff'],
  ['true', ['boolean', true], '00000010 00000001 01'],
  ['false', ['boolean', false], '00000010 00000001 00'],
  ['the smallest bigint', ['bigint', -(2n ** 63n)], '00000014 00000008 8000000000000000'],
  ['an integer', ['integer', -1], '00000017 00000004 ffffffff'],
  ['a smallint', ['smallint', 258], '00000015 00000002 0102'],
  ['bytes', ['bytea', Buffer.from([0, 255])], '00000011 00000002 00ff'],
  ['the first day of 2000', ['date', '2000-01-01'], '0000043a 00000004 00000000'],
  ['the day before', ['date', '1999-12-31'], '0000043a 00000004 ffffffff'],
  [
    'a millisecond of 2000',
    ['timestamptz', new Date('2000-01-01T00:00:00.001Z')],
    '000004a0 00000008 00000000000003e8',
  ],
  [
    'an instant before 2000',
    ['timestamptz', new Date('1999-12-31T23:59:59.999Z')],
    '000004a0 00000008 fffffffffffffc18',
  ],
  [
    'infinity, which arrives as no instant',
    ['timestamptz', new Date(Number.NaN)],
    '000004a0 00000008 7fffffffffffffff',
  ],
])('the bytes of %s are those of record_send', (_name, column, bytes) => {
  expect(canonicalBytes([column]).toString('hex')).toBe(`00000001${bytes.replaceAll(' ', '')}`)
})

it('rows that read alike have other bytes when a value is in another column', () => {
  const rows: readonly (readonly Column[])[] = [
    [
      ['text', 'ab'],
      ['text', ''],
    ],
    [
      ['text', 'a'],
      ['text', 'b'],
    ],
    [
      ['text', 'ab'],
      ['text', null],
    ],
    [['text', 'ab']],
  ]
  expect(new Set(rows.map((row) => canonicalBytes(row).toString('hex'))).size).toBe(rows.length)
})

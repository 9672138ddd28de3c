import { expect, it } from 'vitest'
import { captureLinks, stateLink } from '../../test/sample-links.ts'
import { CHAIN_START, type Column, canonicalBytes, hashOf, type Link } from './chain.ts'

const { journal, trail, line } = captureLinks
const links = [journal, trail, line, stateLink] as const
const hex = (link: Link, previous = CHAIN_START) => hashOf(link, previous).toString('hex')

/** Returns a different valid value for the column. */
function alter(column: string, value: unknown): unknown {
  if (column === 'rate_date') return '2026-03-01'
  if (value === null) return '1.5'
  if (typeof value === 'string') return `${value} `
  if (typeof value === 'boolean') return !value
  if (typeof value === 'bigint') return value + 1n
  if (typeof value === 'number') return value + 1
  return value instanceof Date ? new Date(value.getTime() + 1) : Buffer.from('another')
}

it.each(links)('the hash of a link of $table depends on each column but the hash', (link) => {
  const columns = Object.entries(link.row)
  const hashes = columns.map(([column, value]) => {
    const row = { ...link.row, [column]: alter(column, value) }
    return [column, hex({ ...link, row } as Link)] as const
  })
  const same = hashes.filter(([, hash]) => hash === hex(link)).map(([column]) => column)
  expect(same).toEqual(['hash'])
  expect(new Set(hashes.map(([, hash]) => hash)).size).toBe(columns.length)
})

it('the hash of a journal depends on each column of its entries, on their number and on their order', () => {
  const [first, ...others] = journal.entries
  const columns = Object.entries(first)
  const altered = columns.map(([column, value]) => [{ ...first, [column]: alter(column, value) }, ...others])
  const hashes = [journal.entries, others, [...others, first], ...altered].map((entries) =>
    hex({ ...journal, entries }),
  )
  expect(new Set(hashes).size).toBe(columns.length + 3)
})

it.each(links)('the hash of a link of $table depends on the hash before it', (link) => {
  expect(hex(link, Buffer.alloc(32, 1))).not.toBe(hex(link))
})

// The bytes that PostgreSQL sends for `ROW(value)`: the type and length of the column, then its bytes.
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

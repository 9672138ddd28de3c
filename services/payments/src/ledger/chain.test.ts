import { expect, it } from 'vitest'
import { captureLinks, stateLink } from '../../test/sample-links.ts'
import { CHAIN_START, hashOf, type Link } from './chain.ts'

const { journal, trail, line } = captureLinks
const links = [journal, trail, line, stateLink] as const
const hex = (link: Link, previous = CHAIN_START) => hashOf(link, previous).toString('hex')

/** Another value of the same column. */
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

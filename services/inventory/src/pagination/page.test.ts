import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cursorForeign, limitTooHigh } from '../errors.ts'
import {
  cutPage,
  decodeCursor,
  encodeCursor,
  ID_FORM,
  listingById,
  nameOfListing,
  pageLinks,
  positionById,
  readPage,
} from './page.ts'

const LIMITS = { defaultLimit: 20, limitMax: 100 }
const products = listingById('/products')

it.each([
  [{}, 20],
  [{ limit: 1 }, 1],
  [{ limit: 100 }, 100],
])('the first page of %j has %i rows', (keywords, limit) => {
  expect(readPage(products, LIMITS, keywords)).toEqual({ limit, after: undefined })
})

it('a page of more rows than the limit is refused', () => {
  expect(() => readPage(products, LIMITS, { limit: 101 })).toThrow(limitTooHigh(100))
})

it('a cursor leads to the page behind its row', () => {
  const cursor = encodeCursor(nameOfListing(products), ['7'])
  expect(readPage(products, LIMITS, { cursor })).toEqual({ limit: 20, after: ['7'] })
})

it.each([
  ['another list', encodeCursor('/locations', ['7'])],
  ['another selection', encodeCursor(nameOfListing({ ...products, selection: 'sku' }), ['7'])],
  ['no value', encodeCursor('/products', [])],
  ['a value more', encodeCursor('/products', ['7', '8'])],
  ['a value that is no id', encodeCursor('/products', ['7 OR 1=1'])],
  ['no cursor', 'x'],
])('a cursor of %s is refused', (_name, cursor) => {
  expect(() => readPage(products, LIMITS, { cursor })).toThrow(cursorForeign())
})

it.each([
  ['1', true],
  ['9999999999999999', true],
  ['0', false],
  ['01', false],
  ['', false],
  ['-1', false],
  ['10000000000000000', false],
  ['1\n', false],
])('%j is an id of a position: %s', (text, isId) => {
  expect(ID_FORM.test(text)).toBe(isId)
})

const listing = listingById('/products')

it('has the cursor of the next page where there is one', () => {
  const rows = [{ id: 1 }, { id: 2 }, { id: 3 }]
  expect(cutPage(listing, 3, rows, positionById)).toEqual({ rows, next: undefined })
  expect(cutPage(listing, 2, rows, positionById)).toEqual({
    rows: [{ id: 1 }, { id: 2 }],
    next: encodeCursor('/products', ['2']),
  })
})

it('links to the first page always, and to the next page when there is one', () => {
  expect(pageLinks({ path: '/products', query: {}, next: undefined })).toBe('</products>; rel="first"')
  expect(pageLinks({ path: '/products', query: { limit: '2', cursor: 'old' }, next: 'new' })).toBe(
    '</products?limit=2&cursor=new>; rel="next", </products?limit=2>; rel="first"',
  )
})

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

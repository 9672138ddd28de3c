import { expect, it } from 'vitest'
import { cursorForeign, limitTooHigh } from '../request-errors.ts'
import { encodeCursor } from './cursor.ts'
import { ID_FORM, listingById, nameOfListing, readPage } from './page-query.ts'

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

import { expect, it } from 'vitest'
import { encodeCursor } from './cursor.ts'
import { cutPage } from './cut-page.ts'
import { listingById, positionById } from './page-query.ts'

const listing = listingById('/products')

it('links to the first page always, and to the next page when there is one', () => {
  const rows = [{ id: 1 }, { id: 2 }, { id: 3 }]
  expect(cutPage(listing, { limit: 3, query: {} }, rows, positionById)).toEqual({
    rows,
    link: '</products>; rel="first"',
  })
  const cursor = encodeCursor('/products', ['2'])
  expect(cutPage(listing, { limit: 2, query: { limit: '2', cursor: 'old' } }, rows, positionById)).toEqual({
    rows: [{ id: 1 }, { id: 2 }],
    link: `</products?limit=2&cursor=${cursor}>; rel="next", </products?limit=2>; rel="first"`,
  })
})

import { expect, it } from 'vitest'
import { encodeCursor } from './cursor.ts'
import { cutPage, pageLinks } from './cut-page.ts'
import { listingById, positionById } from './page-query.ts'

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

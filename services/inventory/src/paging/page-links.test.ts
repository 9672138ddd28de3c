import { expect, it } from 'vitest'
import { pageLinks } from './page-links.ts'

it('links to the first page always and to the next one when there is one', () => {
  expect(pageLinks('/products', {})).toBe('</products>; rel="first"')
  expect(pageLinks('/products', { limit: '2' }, 'abc')).toBe(
    '</products?limit=2&cursor=abc>; rel="next", </products?limit=2>; rel="first"',
  )
})

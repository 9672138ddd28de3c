import { describe, expect, it } from 'vitest'
import { cursorLink, pageHeaders } from './page-links.ts'

const link = (number: number, perPage: number, relation: string) =>
  `</admin/users?page=${number}&per_page=${perPage}>; rel="${relation}"`

describe('the headers of a page', () => {
  it.each([
    ['an empty list', { total: 0, page: 1, perPage: 50 }, [link(1, 50, 'last')]],
    ['a list of one row', { total: 1, page: 1, perPage: 1 }, [link(1, 1, 'last')]],
    ['a list that fills its page', { total: 50, page: 1, perPage: 50 }, [link(1, 50, 'last')]],
    ['one row beyond a page', { total: 51, page: 1, perPage: 50 }, [link(2, 50, 'next'), link(2, 50, 'last')]],
    ['the page before the last', { total: 5, page: 4, perPage: 1 }, [link(5, 1, 'next'), link(5, 1, 'last')]],
    ['the last page', { total: 5, page: 5, perPage: 1 }, [link(5, 1, 'last')]],
    ['a page after the last', { total: 5, page: 9, perPage: 1 }, [link(5, 1, 'last')]],
  ])('name the total and the neighbours of %s', (_case, page, links) => {
    expect(pageHeaders({ path: '/admin/users', query: {}, ...page })).toEqual({
      'x-total-count': String(page.total),
      link: links.join(', '),
    })
  })

  it('repeat the parameters of the query that are set, percent-encoded', () => {
    const query = { filter: 'a,b;c=d&é', sort: undefined, empty: '' }
    expect(pageHeaders({ path: '/admin/users', query, total: 1, page: 1, perPage: 50 })).toEqual({
      'x-total-count': '1',
      link: '</admin/users?page=1&per_page=50&filter=a%2Cb%3Bc%3Dd%26%C3%A9&empty=>; rel="last"',
    })
  })
})

describe('the link of a cursor', () => {
  it.each([
    ['the cursor alone', { cursor: 'abc' }, 'cursor=abc'],
    [
      'parameters in the order of the query',
      { per_page: '1', cursor: 'abc', sort: undefined },
      'per_page=1&cursor=abc',
    ],
    ['no separator of the header as it is', { cursor: 'a,b;c=' }, 'cursor=a%2Cb%3Bc%3D'],
  ])('has %s', (_case, query, text) => {
    expect(cursorLink('/admin/users', query)).toBe(`</admin/users?${text}>; rel="next"`)
  })
})

import { describe, expect, it } from 'vitest'
import { cursorMalformed, pageOutOfRange } from '../request-errors.ts'
import { cursorLink, formatCursor, pageHeaders, parseCursor, parsePage } from './page-query.ts'

describe('the page of a query', () => {
  it.each([
    [{}, { page: 1, perPage: 50 }],
    [
      { page: '1', per_page: '1' },
      { page: 1, perPage: 1 },
    ],
    [
      { page: '1000000000', per_page: '1000' },
      { page: 1_000_000_000, perPage: 1_000 },
    ],
    [{ page: '0000000002' }, { page: 2, perPage: 50 }],
  ])('is read from the fields %j: %j', (fields, page) => {
    expect(parsePage(fields)).toEqual(page)
  })

  it.each(['0', '1000000001', '', '-1', '1.5', '1e3', ' 1', '٣', '00000000001'])('is refused: %j', (page) => {
    expect(() => parsePage({ page })).toThrow(pageOutOfRange({ name: 'page', max: 1_000_000_000 }))
  })

  it.each(['0', '1001', 'all'])('is refused with %j rows', (perPage) => {
    expect(() => parsePage({ per_page: perPage })).toThrow(pageOutOfRange({ name: 'per_page', max: 1_000 }))
  })
})

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

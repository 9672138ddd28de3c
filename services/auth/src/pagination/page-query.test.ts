import { describe, expect, it } from 'vitest'
import { pageOutOfRange } from '../request-errors.ts'
import { parsePage } from './page-query.ts'

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

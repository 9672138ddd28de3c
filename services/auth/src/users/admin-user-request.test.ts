import { describe, expect, it } from 'vitest'
import { formatCursor } from '../pagination/page-query.ts'
import { cursorMalformed, pageOutOfRange, sortMalformed } from '../request-errors.ts'
import { parseBanDuration, parseUserList } from './admin-user-request.ts'

describe('parseBanDuration', () => {
  it.each([
    ['none', 0],
    ['0', 0],
    ['+0', 0],
    ['-0', 0],
    ['0s', 0],
    ['-0s', 0],
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1_000],
    ['300ms', 300],
    ['1000us', 1],
    ['1000µs', 1],
    ['1000μs', 1],
    ['1000000ns', 1],
    ['+2s', 2_000],
    ['-1m', -60_000],
    ['2562047h47m16.854775807s', 9_223_372_036_854.775],
  ])('reads the duration %j as %d ms', (text, ms) => {
    expect(parseBanDuration(text)).toBeCloseTo(ms, 2)
  })

  it.each([
    '',
    ' ',
    '24',
    '1.5',
    'never',
    '1d',
    'h',
    '-',
    '+-1h',
    '--1h',
    '1h ',
    ' 1h',
    '1H',
    '1h2',
    'None',
    '2562048h',
  ])('%j is no ban duration', (text) => {
    expect(parseBanDuration(text)).toBeUndefined()
  })
})

const after = { createdAt: '2026-01-02T03:04:05.123456+00:00', id: '00000000-0000-4000-8000-000000000001' }
const usual = { filter: undefined, direction: 'desc', perPage: 50 } as const

describe('the query of a list of users', () => {
  it.each([
    ['nothing', {}, { ...usual, form: 'page', page: 1 }],
    ['a page', { page: '2', per_page: '1000' }, { ...usual, form: 'page', page: 2, perPage: 1_000 }],
    ['an empty filter', { filter: '' }, { ...usual, filter: '', form: 'page', page: 1 }],
    ['a filter', { filter: 'ada' }, { ...usual, filter: 'ada', form: 'page', page: 1 }],
  ])('with %s asks for a page', (_case, fields, request) => {
    expect(parseUserList(fields, 'page')).toEqual(request)
  })

  it.each([
    ['an empty cursor', {}, { ...usual, form: 'cursor', after: undefined }],
    ['a cursor', { cursor: formatCursor(after) }, { ...usual, form: 'cursor', after }],
    ['a cursor beside a page', { cursor: formatCursor(after), page: '0' }, { ...usual, form: 'cursor', after }],
    ['a number of rows', { per_page: '1' }, { ...usual, form: 'cursor', perPage: 1, after: undefined }],
  ])('with %s asks for the rows after a cursor', (_case, fields, request) => {
    expect(parseUserList(fields, 'cursor')).toEqual(request)
  })

  it.each([
    [undefined, 'desc'],
    ['created_at', 'desc'],
    ['created_at desc', 'desc'],
    ['created_at asc', 'asc'],
    ['CREATED_AT ASC', 'asc'],
  ] as const)('with the sort %j lists in the direction %s', (sort, direction) => {
    expect(parseUserList({ sort }, 'page').direction).toBe(direction)
  })

  it.each(['', ' created_at', 'created_at ', 'created_at  asc', 'created_at up', 'email', 'asc', 'created_at asc, id'])(
    'is refused with the sort %j',
    (sort) => {
      expect(() => parseUserList({ sort }, 'page')).toThrow(sortMalformed({ sort }))
    },
  )

  it.each([
    ['page 0', { page: '0' }, 'page', pageOutOfRange({ name: 'page', max: 1_000_000_000 })],
    ['0 rows of a page', { per_page: '0' }, 'page', pageOutOfRange({ name: 'per_page', max: 1_000 })],
    ['1001 rows after a cursor', { per_page: '1001' }, 'cursor', pageOutOfRange({ name: 'per_page', max: 1_000 })],
    ['a cursor that is none', { cursor: 'abc' }, 'cursor', cursorMalformed()],
  ] as const)('is refused with %s', (_case, fields, form, error) => {
    expect(() => parseUserList(fields, form)).toThrow(error)
  })
})

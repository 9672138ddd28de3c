import { afterEach, describe, expect, it, vi } from 'vitest'
import { keepNestedText } from '../json/json-object.ts'
import { MovementBody } from './movement-body.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const LINE = '"type":"count","productId":1,"locationId":2'
const LINES_BOUND = { code: 'custom', path: ['lines'], message: 'must have 1 to 100 lines' }
const TOO_WIDE = { code: 'custom', path: ['lines', 0], message: 'must have at most 20 members' }

describe('MovementBody', () => {
  it.each([
    ['more than 100 lines', `${'{},'.repeat(100)}{}`, LINES_BOUND],
    ['a line that is a long list', `[${'[],'.repeat(20)}[]]`, TOO_WIDE],
    ['a line with many members', `{${Array.from({ length: 21 }, (_, i) => `"${i}":1.0`).join(',')}}`, TOO_WIDE],
  ])('refuses %s before it checks a value', (_case, lines, issue) => {
    const text = `{"lines":[${lines}]}`
    const body = keepNestedText(text, JSON.parse(text))
    const parse = vi.spyOn(JSON, 'parse')
    expect(MovementBody.safeParse(body).error?.issues).toEqual([issue])
    expect(parse).not.toHaveBeenCalled()
  })

  it('refuses lists inside a line without reading their items', () => {
    const text = `{"lines":[{${LINE},"quantity":1.0,"reason":[${'[],'.repeat(10_000)}1]}]}`
    const body = keepNestedText(text, JSON.parse(text))
    const parse = vi.spyOn(JSON, 'parse')
    expect(MovementBody.safeParse(body).error?.issues).toEqual([
      {
        path: ['lines', 0, 'reason'],
        code: 'invalid_type',
        expected: 'string',
        message: 'must be a string',
      },
    ])
    expect(parse.mock.calls.map(([key]) => key)).toEqual([
      '"type"',
      '"productId"',
      '"locationId"',
      '"quantity"',
      '"reason"',
    ])
  })

  it('accepts 100 lines', () => {
    const line = { type: 'count', productId: 1, locationId: 2, quantity: 3 }
    const value = { lines: Array.from({ length: 100 }, () => line) }
    expect(MovementBody.parse(keepNestedText(JSON.stringify(value), value))).toEqual(value.lines)
  })

  it.each(['{}', '{"length":{"toString":0}}', '{"0":{}}'])('refuses %s in place of a list', (lines) => {
    const text = `{"lines":${lines}}`
    const { error } = MovementBody.safeParse(keepNestedText(text, JSON.parse(text)))
    expect(error?.issues).toEqual([
      { path: ['lines'], code: 'invalid_type', expected: 'array', message: 'must be a list' },
    ])
  })
})

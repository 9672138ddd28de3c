import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { enveloped, OptionalId, productTag, RecordId } from './inventory-answer.ts'

describe('enveloped', () => {
  it('reads what stands in the envelope', () => {
    expect(enveloped(z.array(z.int())).parse({ statusCode: 200, data: [1, 2] })).toEqual([1, 2])
  })

  it.each([[1, 2], { statusCode: 200 }, { data: ['1'] }, null])('refuses %j, which is no such answer', (body) => {
    expect(enveloped(z.array(z.int())).safeParse(body).success).toBe(false)
  })
})

describe('RecordId', () => {
  it.each([
    ['1', 1],
    ['9007199254740991', 9_007_199_254_740_991],
  ])('takes %j of an address as %j', (text, id) => {
    expect(RecordId.parse(text)).toBe(id)
  })

  it.each(['0', '-1', '1.5', '', ' ', 'x', '..', '1/2', 'Infinity', '9007199254740993'])(
    'refuses %j, which names no record',
    (text) => {
      expect(RecordId.safeParse(text).success).toBe(false)
    },
  )
})

describe('OptionalId', () => {
  it.each([
    ['', undefined],
    [undefined, undefined],
    ['7', 7],
  ])('takes %j of a filter as %j', (text, id) => {
    expect(OptionalId.parse(text)).toBe(id)
  })

  it.each(['0', 'x', ' '])('refuses %j, which names no record', (text) => {
    expect(OptionalId.safeParse(text).success).toBe(false)
  })
})

describe('productTag', () => {
  it('is the entity tag that inventory gives the version', () => {
    expect(productTag(7, 3)).toBe('"p7-3"')
  })
})

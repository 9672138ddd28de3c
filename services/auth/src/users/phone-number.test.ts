import { describe, expect, it } from 'vitest'
import { normalisePhone } from './phone-number.ts'

describe('normalisePhone', () => {
  it.each([
    ['+1 415 555 0100', '14155550100'],
    ['14155550100', '14155550100'],
    ['12', '12'],
    ['123456789012345', '123456789012345'],
    ['1234567890123456', undefined],
    ['1', undefined],
    ['', undefined],
    ['0123', undefined],
    ['++123', undefined],
    ['1-415', undefined],
    ['١٢٣', undefined],
  ])('%s: %s', (phone, expected) => {
    expect(normalisePhone(phone)).toBe(expected)
  })
})

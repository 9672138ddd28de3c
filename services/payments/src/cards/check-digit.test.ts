import { describe, expect, it } from 'vitest'
import { asciiDigits, digitsIn, hasCheckDigit } from './check-digit.ts'

describe('hasCheckDigit', () => {
  it.each([
    ['4111111111111111', true],
    ['5500005555555559', true],
    ['378282246310005', true],
    ['79927398713', true],
    ['5555555555554444', true],
    ['4222222222222', true],
    ['0', true],
    ['1', false],
    ['378282246310006', false],
    ['4111111111111112', false],
    ['4111111111111121', false],
    ['1000000000000000', false],
    ['9999999999999999', false],
  ])('finds the check digit of %s right: %s', (digits, expected) => {
    expect(hasCheckDigit(digits)).toBe(expected)
  })
})

it.each([
  ['0123456789', '0123456789'],
  ['０１２３４５６７８９', '0123456789'],
  ['٠١٢٣٤٥٦٧٨٩', '0123456789'],
  ['०१२३४५६७८९', '0123456789'],
  ['𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗𝟘𝟙', '012345678901'],
  ['a ١/２', 'a 1/2'],
])('writes the digits of %s as %s', (text, ascii) => {
  expect(asciiDigits(text)).toBe(ascii)
})

it('drops what is no digit', () => {
  expect(digitsIn('\u202d٤１.1-1 x²½')).toBe('4111')
})

import { expect, it } from 'vitest'
import { asciiDigits, digitsIn } from './digits.ts'

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

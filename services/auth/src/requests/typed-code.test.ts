import { expect, it } from 'vitest'
import { readCode } from './typed-code.ts'

const CODE = '0123456789'

it.each([
  ['blanks', '012 345 6789'],
  ['a line break and a tab', '01234\r\n56\t789 '],
  ['blanks that do not break', '012\u00a0345\u202f6789'],
  ['marks of direction', '\u200e\u202a0123456789\u202c'],
  ['Arabic digits', '٠١٢٣٤ ٥٦٧٨٩'],
  ['Persian digits', '۰۱۲۳۴۵۶۷۸۹'],
  ['Devanagari digits', '०१२३४५६७८९'],
  ['Bengali digits', '০১২৩৪৫৬৭৮৯'],
  ['full-width digits', '０１２３４５６７８９'],
  ['mathematical digits beyond the first plane', '𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡'],
  ['digits of two scripts', '01234٥٦٧٨٩'],
])('reads a code that is typed with %s', (_case, typed) => {
  expect(readCode(typed)).toBe(CODE)
})

it.each(['pkce_0f 1', 'abc def', '12-34', '¹²³', '', ' '])('leaves %j as it is, which is no code of digits', (text) => {
  expect(readCode(text)).toBe(text)
})

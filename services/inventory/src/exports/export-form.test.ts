import { expect, it } from 'vitest'
import { csvForm } from './export-form.ts'

const safe = csvForm({ flatten: [], spreadsheetSafe: true })
const skuCellOf = (sku: string) => safe.write({ id: 1, sku, attributes: '5', flattened: [], rest: '5' }).slice(2, -4)
const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

it.each(['=1', '+1', '-1', '@a', '\t1', '\r1', '\n1', '＝1', '＋1', '－1', '＠a'])(
  'spreadsheetSafe puts a quote before the formula %j',
  (text) => {
    expect(skuCellOf(text)).toBe(quote(`'${text}`))
  },
)

it.each([
  ['a;=1', "a;'=1"],
  ['\n=1+1', "'\n'=1+1"],
  ['a;"-1', `a;"'-1`],
])('spreadsheetSafe guards %j, also where other characters separate cells', (text, guarded) => {
  expect(skuCellOf(text)).toBe(quote(guarded))
})

it.each(['', '1', 'a=1', "'=1", '{"a":"=1"}', '–1'])('spreadsheetSafe leaves %j as it is', (text) => {
  expect(skuCellOf(text)).toBe(quote(text))
})

import { expect, it } from 'vitest'
import { writeCsv } from './csv.ts'

it.each<[Parameters<typeof writeCsv>[0], string]>([
  [[], ''],
  [[['a', 'b'], ['c']], 'a,b\r\nc\r\n'],
  [[['a "b", c', 'd\ne', '']], '"a ""b"", c","d\ne",\r\n'],
  [[['-100', { text: 'plain' }]], '-100,plain\r\n'],
])('writes the value %j as the cell %j', (rows, text) => {
  expect(writeCsv(rows)).toBe(text)
})

it.each(['=1+1', '+1', '-1', '@x', '\tx', '＝1+1', '＋1', '－1', '＠x'])(
  'writes %j so that no spreadsheet computes it',
  (text) => {
    expect(writeCsv([[{ text }]])).toBe(`'${text}\r\n`)
  },
)

it.each([
  ['\r=1+1', `"'\r'=1+1"\r\n`],
  ['\n=1+1', `"'\n'=1+1"\r\n`],
  ['inv 8;=1+1;x', "inv 8;'=1+1;x\r\n"],
  ['a;"=1+1', `"a;""'=1+1"\r\n`],
])('writes %j so that no spreadsheet computes it, whatever separates its cells', (text, written) => {
  expect(writeCsv([[{ text }]])).toBe(written)
})

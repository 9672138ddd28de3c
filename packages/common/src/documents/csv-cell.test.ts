import { describe, expect, it } from 'vitest'
import { withoutFormula } from './csv-cell.ts'

describe('withoutFormula', () => {
  it.each(['=1+1', '+1', '-1', '@x', '\tx', '\r', '\nx', '＝1+1', '＋1', '－1', '＠x'])(
    'puts an apostrophe before %j, which a spreadsheet would compute or skip',
    (text) => expect(withoutFormula(text)).toBe(`'${text}`),
  )

  it.each([
    ['inv 8;=1+1;x', "inv 8;'=1+1;x"],
    ["inv 7;=cmd|' /C calc'!A0;", "inv 7;'=cmd|' /C calc'!A0;"],
    ['a;-1;＠x', "a;'-1;'＠x"],
    ['a\t+1', "a\t'+1"],
    ['a\n=1', "a\n'=1"],
    ['a\r\n=1', "a\r\n'=1"],
    ['a;"=1', `a;"'=1`],
    ['a;""=1', `a;""'=1`],
    [';=1', ";'=1"],
    ['=1;=2', "'=1;'=2"],
    ['\t=1', "'\t'=1"],
  ])('writes %j so that no cell is computed that another separator begins', (text, safe) => {
    expect(withoutFormula(text)).toBe(safe)
  })

  it.each(['', '1', 'a=1', 'a,=1', "'=1", 'a; b', 'a;b-1', '{"a":"=1"}', '–1', 'a;–1'])(
    'leaves %j as it is',
    (text) => {
      expect(withoutFormula(text)).toBe(text)
    },
  )
})

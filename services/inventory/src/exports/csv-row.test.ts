import { describe, expect, it } from 'vitest'
import { withoutFormula } from './csv-row.ts'

describe('withoutFormula', () => {
  it.each(['=1', '+1', '-1', '@a', '\t=1', '\r=1', '\n=1+1', '＝1', '＋1', '－1', '＠a'])('guards %j', (text) => {
    expect(withoutFormula(text)).toBe(`'${text}`)
  })

  it.each(['', '1', 'a=1', "'=1", '{"a":"=1"}', '–1'])('leaves %j as it is', (text) => {
    expect(withoutFormula(text)).toBe(text)
  })
})

import { describe, expect, it } from 'vitest'
import { readEcbRates } from './ecb-rates.ts'

const document = (cubes: string) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
  <gesmes:subject>Reference rates</gesmes:subject>
  <Cube>${cubes}</Cube>
</gesmes:Envelope>`

/** With 60,000 characters, an algorithm of quadratic time needs seconds. */
const LONG = 60_000

describe('readEcbRates', () => {
  it('reads days and currencies, in either kind of quotes', () => {
    const xml = document(`
      <Cube time='2026-03-02'><Cube currency='USD' rate='1.0838'/><Cube rate="163.15" currency="JPY" /></Cube>
      <!-- <Cube currency='XXX' rate='1'/> -->
      <Cube time="2026-02-27"><Cube currency="USD" rate="1"></Cube></Cube>`)
    expect(readEcbRates(xml)).toEqual([
      { date: '2026-03-02', currency: 'USD', rate: '1.0838' },
      { date: '2026-03-02', currency: 'JPY', rate: '163.15' },
      { date: '2026-02-27', currency: 'USD', rate: '1' },
    ])
  })

  it('reads the daily table and the historical one, whose days may lack a rate', () => {
    const daily = 'Date, USD, JPY, \n2 March 2026, 1.0838, 163.15, \n'
    const historical = '\ufeffDate,USD,CYP,\r\n2026-03-02,1.0838,N/A,\r\n1999-01-04,1.1789,0.58231,\r\n'
    expect([readEcbRates(daily), readEcbRates(historical)]).toEqual([
      [
        { date: '2026-03-02', currency: 'USD', rate: '1.0838' },
        { date: '2026-03-02', currency: 'JPY', rate: '163.15' },
      ],
      [
        { date: '2026-03-02', currency: 'USD', rate: '1.0838' },
        { date: '1999-01-04', currency: 'USD', rate: '1.1789' },
        { date: '1999-01-04', currency: 'CYP', rate: '0.58231' },
      ],
    ])
  })

  it.each([
    ['no rates', 'Date,USD,'],
    ['no date', 'Date,USD,\n02.03.2026,1,'],
    ['no date', 'Date,USD,\n2 Mai 2026,1,'],
    ['no date', 'Date,USD,\n2026-02-30,1,'],
    ['the rate of EUR on 2026-03-02 is always 1', 'Date,EUR,\n2026-03-02,1,'],
    ['the rate of USD on 2026-03-02 is given twice', 'Date,USD,JPY,USD,\n2026-03-02,1,2,1,'],
    ['the rate of USD on 2026-03-02 is given twice', 'Date,USD,\n2026-03-02,1,\n2 March 2026,1.1,'],
    ['cannot be read', 'Date,USD,\n2026-03-02,1e3,'],
    ['cannot be read', 'Date,USD,\n2026-03-02,1,2'],
    ['cannot be read', 'Date,usd\n2026-03-02,1'],
  ])('refuses a table with %s: %s', (message, table) => {
    expect(() => readEcbRates(table)).toThrow(message)
  })

  it.each([
    ['no rates', ''],
    ['no rates', '<Cube time="2026-03-02"/>'],
    ['no date', '<Cube currency="USD" rate="1"/>'],
    ['no date', '<Cube time="2026-13-02"><Cube currency="USD" rate="1"/></Cube>'],
    ['no date', '<Cube time="02.03.2026"><Cube currency="USD" rate="1"/></Cube>'],
    ['no date', '<Cube time="2026-02-30"><Cube currency="USD" rate="1"/></Cube>'],
    ['the rate of EUR on 2026-03-02 is always 1', '<Cube time="2026-03-02"><Cube currency="EUR" rate="2"/></Cube>'],
    [
      'the rate of USD on 2026-03-02 is given twice',
      '<Cube time="2026-03-02"><Cube currency="USD" rate="1.08"/><Cube currency="USD" rate="9.08"/></Cube>',
    ],
    [
      '<Cube rate="1.5" currency="USD" currency="DKK"/> has the attribute currency twice',
      '<Cube time="2026-03-02"><Cube rate="1.5" currency="USD" currency="DKK"/></Cube>',
    ],
    [
      '<Cube time="2026-03-02" time="2026-03-03"> has the attribute time twice',
      '<Cube time="2026-03-02" time="2026-03-03"><Cube currency="USD" rate="1"/></Cube>',
    ],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="-1"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="0.0"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="1e3"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="1.00000000001"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="&e;" rate="1"/></Cube>'],
  ])('refuses a document with %s: %s', (message, cubes) => {
    expect(() => readEcbRates(document(cubes))).toThrow(message)
  })

  it('leaves out comments, also one that has the beginning of a comment', () => {
    const rate = (currency: string) => `<Cube currency="${currency}" rate="2"/>`
    const cubes = `<!--${rate('DKK')}<!--${rate('JPY')}-->${rate('USD')}<!-- -->${rate('SEK')}<!---->`
    expect(readEcbRates(document(`<Cube time="2026-03-02">${cubes}</Cube>`))).toEqual([
      { date: '2026-03-02', currency: 'USD', rate: '2' },
      { date: '2026-03-02', currency: 'SEK', rate: '2' },
    ])
  })

  it.each([
    ['comments without an end', '<!--'.repeat(LONG), 'a comment does not end'],
    ['a long name of an attribute', `<Cube ${'a'.repeat(LONG)}>`, 'there are no rates'],
    ['many blanks behind a long name', `<Cube ${'a'.repeat(LONG)}${' '.repeat(LONG)}>`, 'there are no rates'],
    ['many beginnings of a Cube', '<Cube '.repeat(LONG), 'there are no rates'],
    ['many blanks in a Cube', `<${' '.repeat(LONG)}Cube${' '.repeat(LONG)}`.repeat(2), 'there are no rates'],
    ['values without an end', `<Cube ${`a="b='`.repeat(LONG)}>`, 'has the attribute a twice'],
    ['many blanks before a header', `${' '.repeat(LONG)}Dat`, 'there are no rates'],
    ['a long day of many rates', `Date${',USD'.repeat(LONG)}\n${'2'.repeat(LONG)}${',1'.repeat(LONG)}`, 'has no date'],
  ])('reads a document with %s in linear time', (_what, text, message) => {
    // Measure only the CPU time of this thread, in microseconds, so that a busy machine does not fail the test.
    const before = process.threadCpuUsage()
    expect(() => readEcbRates(text)).toThrow(message)
    const { user, system } = process.threadCpuUsage(before)
    expect(user + system).toBeLessThan(1_000_000)
  })

  // ASVS 1.5.1
  it('refuses a document that defines entities', () => {
    const xml = `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${document('')}`
    expect(() => readEcbRates(xml)).toThrow('DOCTYPE')
  })
})

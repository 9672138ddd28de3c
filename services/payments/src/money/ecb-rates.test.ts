import { describe, expect, it } from 'vitest'
import { readEcbRates } from './ecb-rates.ts'

const document = (cubes: string) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
  <gesmes:subject>Reference rates</gesmes:subject>
  <Cube>${cubes}</Cube>
</gesmes:Envelope>`

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
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="-1"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="0.0"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="1e3"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="USD" rate="1.00000000001"/></Cube>'],
    ['cannot be read', '<Cube time="2026-03-02"><Cube currency="&e;" rate="1"/></Cube>'],
  ])('refuses a document with %s: %s', (message, cubes) => {
    expect(() => readEcbRates(document(cubes))).toThrow(message)
  })

  // ASVS 1.5.1
  it('refuses a document that defines entities', () => {
    const xml = `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${document('')}`
    expect(() => readEcbRates(xml)).toThrow('DOCTYPE')
  })
})

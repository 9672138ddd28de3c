import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../test/audit.ts'
import { operatorDeps, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { fxCommand } from './fx.ts'

let payments: TestPayments
let folder: string
beforeAll(async () => {
  payments = await startPayments()
  folder = await mkdtemp(join(tmpdir(), 'payments-'))
})
afterAll(async () => {
  await payments.close()
  await rm(folder, { recursive: true })
})

const { run } = commandRunner([fxCommand], () => operatorDeps(payments))

describe('payments fx', () => {
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }

  const importRates = async () => {
    const path = await file(
      'rates.xml',
      `<Cube><Cube time='2026-03-02'><Cube currency='USD' rate='1.0838'/><Cube currency='CYP' rate='0.58'/></Cube>
       <Cube time='2026-02-27'><Cube currency='USD' rate='1.08'/></Cube></Cube>`,
    )
    return run('fx', 'import', path, '--json')
  }

  it('import: stores rates of listed currencies, also when it is repeated', async () => {
    for (const _ of [1, 2]) expect(await importRates()).toEqual(['{"imported":2,"skipped":1}'])
    expect(await lastAudit(payments)).toEqual(
      operatorAudit('fx.imported', { rates: 2, from: '2026-02-27', to: '2026-03-02' }),
    )
  })

  it('import: stores the historical rates as XML and as a table, without rates of a currency after its end', async () => {
    const days = Array.from({ length: 1_000 }, (_, at) =>
      new Date(Date.UTC(1999, 0, 4 + at)).toISOString().slice(0, 10),
    )
    const codes = [
      'USD',
      'JPY',
      'BGN',
      'CZK',
      'DKK',
      'GBP',
      'HUF',
      'PLN',
      'RON',
      'SEK',
      'CHF',
      'ISK',
      'NOK',
      'TRY',
      'AUD',
    ]
    const cubes = codes.map((code) => `<Cube currency="${code}" rate="1.0838"/>\n          `).join('')
    const xml = days
      .map((day) => `<Cube time="${day}">${cubes}</Cube>`)
      .join('\n')
      .padEnd(8_600_000)
    const imported = async (name: string, text: string) => run('fx', 'import', await file(name, text), '--json')
    expect(await imported('hist.xml', xml)).toEqual(['{"imported":15000,"skipped":0}'])
    const table = 'Date,USD,BGN,\n2026-01-02,1.1,1.9558,\n2025-12-31,1.1,1.9558,\n'
    expect(await imported('hist.csv', table)).toEqual(['{"imported":3,"skipped":1}'])
  })

  it('list: prints the rates that apply', async () => {
    await importRates()
    const shown = async (date: string) => (await run('fx', 'list', '--date', date)).find((row) => row.startsWith('USD'))
    expect(await shown('2026-03-01')).toMatch(/^USD +1.08 +2026-02-27 +ecb$/)
    expect(await shown('2026-03-02')).toMatch(/^USD +1.0838 +2026-03-02 +ecb$/)
    expect(await shown('2024-03-01')).toMatch(/^USD +1\.\d+ +2024-03-01 +embedded$/)
    expect((await run('fx', 'list'))[0]).toMatch(/^CURRENCY +RATE +DATE +SOURCE$/)
  })

  it('import: adds each replaced rate to the audit log, with the old one', async () => {
    const rates = (usd: string) =>
      `<Cube time='2026-03-03'><Cube currency='USD' rate='${usd}'/><Cube currency='DKK' rate='7.4'/></Cube>`
    const replaced = () =>
      payments.database.db.selectFrom('audit').select('payload').where('action', '=', 'fx.replaced').execute()
    for (const _ of [1, 2]) await run('fx', 'import', await file('first.xml', rates('1.09')))
    expect(await replaced()).toEqual([])
    await run('fx', 'import', await file('second.xml', rates('0.0001')))
    const rate = { date: '2026-03-03', currency: 'USD', from: '1.09', to: '0.0001' }
    expect(await replaced()).toEqual([{ payload: { rates: [rate] } }])
  })

  it('import: refuses a file that is too long, has no listed currency, or is no such document', async () => {
    const long = await file('long.xml', ' '.repeat(67_108_865))
    await expect(run('fx', 'import', long)).rejects.toHaveProperty('message', `${long} has more than 64 MiB`)
    const foreign = "<Cube time='2026-03-02'><Cube currency='CYP' rate='1'/></Cube>"
    await expect(run('fx', 'import', await file('x.xml', foreign))).rejects.toHaveProperty(
      'message',
      'none of the currencies is listed',
    )
    await expect(run('fx', 'import', await file('y.xml', '<a/>'))).rejects.toHaveProperty(
      'message',
      'there are no rates: <Cube time=…><Cube currency=… rate=…/> or rows below Date,USD,… were expected',
    )
    const none = join(folder, 'none.xml')
    await expect(run('fx', 'import', none)).rejects.toHaveProperty(
      'message',
      `ENOENT: no such file or directory, stat '${none}'`,
    )
    for (const date of ['today', '2026-02-30']) {
      await expect(run('fx', 'list', '--date', date)).rejects.toHaveProperty('message', '--date is not a date')
    }
  })

  it('import: takes the rates of today, and refuses a day to come without storing any rate', async () => {
    const rates = (day: string) => {
      const cube = (date: string) => `<Cube time="${date}"><Cube currency="NOK" rate="11.5"/></Cube>`
      return `<Cube>${cube(day)}${cube('2026-03-02')}</Cube>`
    }
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
    const later = day(1)
    const stored = () => payments.database.db.selectFrom('fx_rates').selectAll().where('currency', '=', 'NOK').execute()
    const before = await stored()
    await expect(run('fx', 'import', await file('later.xml', rates(later)))).rejects.toHaveProperty(
      'message',
      `the rate of NOK on ${later} is of a day to come`,
    )
    expect(await stored()).toEqual(before)
    expect(await run('fx', 'import', await file('today.xml', rates(day(0))), '--json')).toEqual([
      '{"imported":2,"skipped":0}',
    ])
  })
})

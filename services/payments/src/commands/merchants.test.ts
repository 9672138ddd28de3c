import { anyId, anyTime, anyUuid } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { shownMerchant } from '../../test/bodies.ts'
import { countStatements } from '../../test/counted-statements.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { merchantsCommand } from './merchants.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const KEY = '22222222-2222-4222-8222-222222222222'
const { run, json, readJson } = commandRunner([merchantsCommand], () => ({
  ...operatorDeps(payments),
  generateApiKey: () => KEY,
}))

/** Returns the values that `merchants show` and `create` print for a merchant, by their labels. */
const linesOf = (lines: readonly string[]) =>
  Object.fromEntries(lines.filter(Boolean).map((line) => line.split(/ {2,}/, 2) as [string, string]))

let app: TestApp
let older: string
let newer: string
beforeAll(async () => {
  app = await createTestApp(payments)
  older = (await createTestMerchant(payments, app, { name: 'Northern coffee', currency: 'EUR' })).id
  newer = (await createTestMerchant(payments, app, { name: 'Tea\u001b[2J', currency: 'EUR', test: true })).id
})

describe('payments merchants list', () => {
  // Search for the email address of the two merchants above. Merchants of other tests have other addresses.
  const list = ['merchants', 'list', '--search', 'JOHN@'] as const
  const idsOf = async (...options: string[]) =>
    (await readJson(z.array(z.looseObject({ id: z.string() })), ...list, ...options)).map(({ id }) => id)

  it('prints merchants, newest first, with the members of the API', async () => {
    expect(await json(...list)).toEqual([
      (await payments.app.inject({ url: `/merchants/${newer}`, headers: app.headers })).json().merchant,
      (await payments.app.inject({ url: `/merchants/${older}`, headers: app.headers })).json().merchant,
    ])
  })

  it('sends one statement, whatever the number of merchants on the page', async () => {
    const { deps, count } = countStatements(operatorDeps(payments))
    const rows = await commandRunner([merchantsCommand], () => deps).run(...list)
    expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual(['ID', newer, older])
    expect(count()).toBe(1)
  })

  it('prints a table for people, in which no stored text moves the cursor', async () => {
    const rows = (await run(...list)).map((row) => row.split(/ {2,}/))
    expect(rows).toEqual([
      ['ID', 'NAME', 'MODE', 'BALANCE', 'EMAIL', 'CREATED'],
      [newer, String.raw`Tea\u{1b}[2J`, 'test', 'EUR 0.00', 'john@example.com', anyTime],
      [older, 'Northern coffee', 'live', 'EUR 0.00', 'john@example.com', anyTime],
    ])
  })

  it('filters by mode and by a part of name, address or website, and pages', async () => {
    expect(await idsOf('--test')).toEqual([newer])
    expect(await idsOf('--live')).toEqual([older])
    expect(await idsOf('--search', 'NORTHERN')).toEqual([older])
    expect(await idsOf()).toEqual([newer, older])
    expect(await idsOf('--search', '%')).toEqual([])
    expect(await idsOf('--limit', '1')).toEqual([newer])
    expect(await idsOf('--limit', '1', '--before', newer.toUpperCase())).toEqual([older])
    expect(await run('merchants', 'list', '--before', older)).toEqual(['nothing'])
  })

  it.each([
    [
      ['--limit', '0'],
      "error: option '--limit <rows>' argument '0' is invalid. It must be a whole number from 1 to 1000.",
    ],
    [
      ['--limit', '1001'],
      "error: option '--limit <rows>' argument '1001' is invalid. It must be a whole number from 1 to 1000.",
    ],
    [['--before', 'x'], '--before must be 24 hexadecimal digits'],
    [['--test', '--live'], "error: option '--test' cannot be used with option '--live'"],
  ])('refuses %j', async (options, message) => {
    await expect(run('merchants', 'list', ...options)).rejects.toHaveProperty('message', message)
  })
})

describe('payments merchants show', () => {
  it('prints the merchant with its apps and webhooks', async () => {
    const hook = { method: 'POST', url: `/merchants/${older}/webhooks`, headers: app.headers } as const
    const created = await payments.app.inject({ ...hook, payload: { url: 'https://shop.example/hook' } })
    const { secret: _, ...webhook } = created.json().webhook
    expect(await json('merchants', 'show', older.toUpperCase())).toEqual({
      ...(await payments.app.inject({ url: `/merchants/${older}`, headers: app.headers })).json().merchant,
      apps: [{ id: app.id, name: null }],
      webhooks: [webhook],
    })
    const lines = await run('merchants', 'show', older)
    expect(lines.slice(lines.indexOf('apps:'))).toEqual([
      'apps:',
      'ID                        NAME',
      `${app.id}  -`,
      '',
      'webhooks:',
      'ID                        URL                        EVENTS  CREATED',
      `${webhook.id}  https://shop.example/hook  all     ${webhook.created}`,
    ])
    expect(linesOf(lines.slice(0, lines.indexOf('apps:')))).toEqual({
      id: older,
      name: 'Northern coffee',
      mode: 'live',
      balance: 'EUR 0.00',
      email: 'john@example.com',
      created: anyTime,
      key: anyUuid,
      website: 'https://example.com',
      descriptor: expect.any(String),
      company: 'DK',
      iban: '-',
      holder: '-',
      fees: expect.stringMatching(/^\d+(\.\d+)? % \+ \w{3} [\d.]+ a capture, \w{3} [\d.]+ a lost dispute$/),
      withheld: 'canTransferToCard',
      tds: 'attempt',
      acquirer: '-',
    })
  })

  it.each([
    [UNKNOWN_ID, `there is no merchant ${UNKNOWN_ID}`],
    ['shop', 'the id must be 24 hexadecimal digits'],
  ])('refuses %s', async (id, message) => {
    await expect(run('merchants', 'show', id)).rejects.toHaveProperty('message', message)
  })
})

describe('payments merchants create', () => {
  const LIVE = [
    ...['--currency', 'DKK', '--email', 'a@shop.example', '--website', 'https://shop.example'],
    ...['--descriptor', 'Shop', '--country', 'DK', '--iban', 'dk50 0040 0440 1162 43'],
  ]

  it('makes a test merchant with defaults and an app, whose key is good, and records it', async () => {
    const created = await readJson(
      z.looseObject({ id: z.string(), app: z.looseObject({ id: z.string() }) }),
      'merchants',
      'create',
      '--test',
    )
    const { app: member, ...merchant } = created
    const headers = { authorization: `Basic ${Buffer.from(`:${KEY}`).toString('base64')}` }
    const answer = await payments.app.inject({ url: `/merchants/${created.id}`, headers })
    expect(answer.json().merchant).toEqual(merchant)
    expect(merchant).toEqual(
      shownMerchant({
        ...{ id: created.id, name: 'Test shop', test: true, currency: 'EUR', descriptor: 'Test shop' },
        ...{ email: 'merchant@example.com', bank: { iban: 'DK5000400440116243' } },
      }),
    )
    expect(member).toEqual({ id: anyId, key: KEY })
    const audit = payments.database.db.selectFrom('audit').select(['action', 'payload']).orderBy('action')
    expect(await audit.where('merchant_id', '=', created.id).execute()).toEqual([
      { action: 'app.added', payload: { appId: member.id } },
      { action: 'merchant.created', payload: { appId: member.id } },
    ])
  })

  it('makes a live merchant for an app that exists', async () => {
    const created = linesOf(await run('merchants', 'create', ...LIVE, '--app', app.id, '--company-number', '42'))
    expect(created).toEqual({
      id: anyId,
      name: '-',
      mode: 'live',
      balance: 'DKK 0.00',
      email: 'a@shop.example',
      created: anyTime,
      key: anyUuid,
      app: app.id,
    })
    const shown = await payments.app.inject({ url: `/merchants/${created.id}`, headers: app.headers })
    expect(shown.json().merchant).toEqual(
      shownMerchant({
        ...{ id: created.id, email: 'a@shop.example', website: 'https://shop.example', descriptor: 'Shop' },
        ...{ company: { country: 'DK', number: '42' }, bank: { iban: 'DK5000400440116243' } },
      }),
    )
  })

  it.each([
    [[], '--currency is required'],
    [['--test', '--currency', 'eur'], '--currency must be three upper-case letters'],
    [['--test', '--email', 'shop'], '--email must be an e-mail address'],
    [['--test', '--website', 'no site'], '--website must be an http or https URL or a host name'],
    [['--test', '--descriptor', 'x'], '--descriptor must be at least 2 characters'],
    [['--test', '--country', 'XX'], '--country must be a country code of ISO 3166-1'],
    [['--test', '--name', ''], '--name must be at least 1 characters'],
    [[...LIVE, '--iban', 'DK5100400440116243'], '--iban must have right check digits'],
    [[...LIVE, '--iban', 'DE5137040044053201300'], '--iban must be an IBAN of its country'],
    [['--test', '--app', 'x'], '--app must be 24 hexadecimal digits'],
    [['--test', '--app', UNKNOWN_ID], `there is no app ${UNKNOWN_ID} with a good key`],
  ])('refuses %j, and makes nothing', async (options, message) => {
    const count = async () => (await readJson(z.array(z.looseObject({})), 'merchants', 'list')).length
    const before = await count()
    await expect(run('merchants', 'create', ...options)).rejects.toHaveProperty('message', message)
    expect(await count()).toBe(before)
  })
})

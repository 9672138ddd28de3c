import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNames } from '@trestle/database/names.ts'
import { anyId, anyTime } from '@trestle/testing/any-value.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { deletedRows, merchantJson, refusals, shownMerchant, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { hashToken } from '../members/invitation.ts'
import { appsCommand } from './apps.ts'
import { fxCommand } from './fx.ts'
import { merchantsCommand } from './merchants.ts'
import { cleanUpCommand, tasksCommand } from './tasks.ts'

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

const { run } = commandRunner([appsCommand, merchantsCommand, fxCommand, tasksCommand, cleanUpCommand], () => ({
  ...operatorDeps(payments),
  createKey: () => '11111111-1111-4111-8111-111111111111',
}))

const lastAudit = () =>
  payments.database.db.selectFrom('audit').select(['action', 'payload']).orderBy('id', 'desc').limit(1).execute()
const me = (headers: object) => payments.app.inject({ url: '/me', headers: { ...headers } })

describe('payments apps', () => {
  it('create: prints the key, and it is good', async () => {
    const [line = '', ...rest] = await run('apps', 'create', '--name', 'Shop', '--json')
    const app: unknown = JSON.parse(line)
    expect(app).toEqual({ id: expect.any(String), name: 'Shop', key: '11111111-1111-4111-8111-111111111111' })
    expect(rest).toEqual([])
    expect((await me(basic('11111111-1111-4111-8111-111111111111'))).statusCode).toBe(200)
  })

  it('invite: prints a code, and stores only its digest', async () => {
    const [line = ''] = await run('apps', 'invite', '--note', 'for the shop', '--json')
    const { code } = JSON.parse(line)
    expect(code).toMatch(/^[\w-]{43}$/)
    const { db } = payments.database
    const [kept] = await db.selectFrom('app_invitations').selectAll().execute()
    expect(kept).toEqual({
      code_hash: hashToken(code),
      note: 'for the shop',
      used: null,
      app_id: null,
      created: expect.any(Date),
      expires: expect.any(Date),
    })
    expect(Number(kept?.expires) - Number(kept?.created)).toBe(14 * 86_400_000)
    expect(await lastAudit()).toEqual([{ action: 'app.invited', payload: { note: 'for the shop', expires: anyTime } }])
  })

  it('hide, unhide: marks the app, and adds to the audit log', async () => {
    const { id } = await createTestApp(payments)
    const hidden = async () =>
      (await payments.database.db.selectFrom('apps').select('hidden').where('id', '=', id).executeTakeFirst())?.hidden
    expect(await run('apps', 'hide', id)).toEqual([`id      ${id}`, 'hidden  true'])
    expect(await hidden()).toBe(true)
    expect(await lastAudit()).toEqual([{ action: 'app.hidden', payload: { appId: id } }])
    expect(await run('apps', 'unhide', id, '--json')).toEqual([`{"id":"${id}","hidden":false}`])
    expect(await hidden()).toBe(false)
  })

  it('revoke-keys: no key is good for the next request', async () => {
    const { id, headers } = await createTestApp(payments)
    await payments.app.inject({ method: 'POST', url: '/me/keys', headers })
    expect(await run('apps', 'revoke-keys', id, '--json')).toEqual([`{"id":"${id}","revoked":2}`])
    expect(statusAndBody(await me(headers))).toEqual(refusals.unauthorized)
    expect(await lastAudit()).toEqual([{ action: 'app.keys-revoked', payload: { appId: id } }])
  })

  it('fails for objects that do not exist, and for wrong arguments', async () => {
    for (const word of ['hide', 'unhide', 'revoke-keys']) {
      await expect(run('apps', word, UNKNOWN_ID)).rejects.toHaveProperty('message', `there is no app ${UNKNOWN_ID}`)
    }
    await expect(run('apps', 'hide')).rejects.toHaveProperty('code', 'commander.missingArgument')
    await expect(run('apps', 'none')).rejects.toHaveProperty('code', 'commander.unknownCommand')
  })
})

describe('payments merchants', () => {
  const claim = { canChargeCard: true, canSaveCard: true, canCapture: true, canRefund: true, canVoid: true }

  it('pricing, claim, tds, acquirer: change only what was named, write an event and add to the audit log', async () => {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app)
    const shown = async () =>
      (await payments.app.inject({ url: `/merchants/${id}`, headers: app.headers })).json().merchant
    await run('merchants', 'pricing', id, '--rate', '90', '--dispute', 'DKK:10000')
    await run('merchants', 'claim', id, 'canRefund=no', 'canVoid=no')
    await run('merchants', 'claim', id, 'canVoid=yes')
    await run('merchants', 'tds', id, 'full')
    const [line = ''] = await run('merchants', 'acquirer', id, 'nordic-1', '--json')
    const pricing = { rate: 90, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'DKK', amount: 10000 } }
    const changed = { ...claim, canTransferToCard: false, canRefund: false }
    expect(JSON.parse(line)).toEqual({ id, claim: changed, pricing, tdsMode: 'full', acquirer: 'nordic-1' })
    expect(await shown()).toEqual(
      shownMerchant({ id, created: createdOf(id), claim: changed, pricing, tds: { mode: 'full' } }),
    )
    expect(JSON.parse((await run('merchants', 'acquirer', id, 'none', '--json'))[0] ?? '')).toEqual({
      acquirer: null,
      id,
      claim: {
        canVoid: true,
        canRefund: false,
        canCapture: true,
        canSaveCard: true,
        canChargeCard: true,
        canTransferToCard: false,
      },
      pricing: { flat: { amount: 25, currency: 'EUR' }, rate: 90, dispute: { amount: 10_000, currency: 'DKK' } },
      tdsMode: 'full',
    })
    const { db } = payments.database
    const events = await db.selectFrom('events').selectAll().where('merchant_id', '=', id).orderBy('id').execute()
    expect(events.map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => 'merchant.updated'))
    expect(events[0]?.data).toEqual(merchantJson({ id, balance: 0, pricing, tds_mode: 'attempt' }))
    const audit = await db.selectFrom('audit').selectAll().where('merchant_id', '=', id).orderBy('id').execute()
    expect(audit[1]).toEqual({
      action: 'merchant.changed',
      identity_id: null,
      payload: { pricing: { rate: 90, dispute: { currency: 'DKK', amount: 10000 } } },
      merchant_id: id,
      id: anyId,
      created: expect.any(Date),
    })
  })

  it('pricing: the new fees are charged from then on', async () => {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
    const transaction = await customerPayment(payments, id, { currency: 'EUR', amount: 1_000 })
    await run('merchants', 'pricing', id, '--rate', '100', '--flat', 'EUR:7', '--refund', 'EUR:10')
    const feeOf = async (operation: string) => {
      const url = `/transactions/${transaction}/${operation}`
      const response = await payments.app.inject({
        method: 'POST',
        url,
        headers: app.headers,
        payload: { amount: 500 },
      })
      return response.json().transaction.trail.at(-1)?.fee
    }
    expect([await feeOf('captures'), await feeOf('refunds')]).toEqual([
      { flat: 7, rate: 5 },
      { flat: 10, rate: 0 },
    ])
  })

  it.each([
    [['pricing', '--rate', '10001'], '--rate is 0 to 10000 basis points'],
    [['pricing', '--rate', '1.5'], '--rate is 0 to 10000 basis points'],
    [['pricing', '--flat', 'EUR'], '--flat is a currency and minor units, such as EUR:25'],
    [['pricing', '--refund', 'XXX:1'], '--refund is a currency and minor units, such as EUR:25'],
    [['claim', 'canFly=yes'], 'canFly=yes is no permission, such as canRefund=no'],
    [['claim', 'canTransferToCard=yes'], 'canTransferToCard=yes is no permission, such as canRefund=no'],
    [['claim', 'canVoid=maybe'], 'canVoid=maybe is no permission, such as canRefund=no'],
    [['tds', 'none'], 'the mode is attempt or full'],
    [['acquirer', 'Nordic 1'], 'a name has lower-case letters, digits and -'],
    [['tds', 'full'], `there is no merchant ${UNKNOWN_ID}`],
  ])('fails on %j', async ([word = '', ...rest], message) => {
    await expect(run('merchants', word, UNKNOWN_ID, ...rest)).rejects.toHaveProperty('message', message)
  })
})

describe('payments tasks', () => {
  const { jobSchema } = createNames('payments')
  /** A job as a worker has left it. */
  const addJob = async (name: string, state: string, message = 'no room') => {
    await sql`
      INSERT INTO ${sql.id(jobSchema, 'job')} (name, state, source_name, source_output, data)
      VALUES (${name}, ${state}, 'clean_up', ${JSON.stringify({ message })}::jsonb, '{}')`.execute(payments.database.db)
  }

  beforeEach(() => sql`DELETE FROM ${sql.id(jobSchema, 'job')}`.execute(payments.database.db))

  it('list: counts waiting and dead jobs; retry: puts dead jobs back', async () => {
    await addJob('clean_up', 'retry')
    await addJob('clean_up_dead', 'created')
    const list = async () => JSON.parse((await run('tasks', 'list', '--json'))[0] ?? '')
    const retrying = { task: 'clean_up', state: 'retry', count: 1, oldest: expect.any(String) }
    const dead = { task: 'clean_up', state: 'dead', count: 1, last: expect.any(String), reason: 'no room' }
    expect(await list()).toEqual([retrying, dead])
    expect(await run('tasks', 'retry', 'clean_up')).toEqual(['task     clean_up', 'retried  1'])
    expect(await lastAudit()).toEqual([{ action: 'tasks.retried', payload: { task: 'clean_up', retried: 1 } }])
    expect(await list()).toEqual([retrying, { ...retrying, state: 'waiting' }])
    await expect(run('tasks', 'retry', 'none')).rejects.toHaveProperty(
      'message',
      'there is no task none; there are acquirer, acquirer_events, attempt_sweep, confirmation, rejection_mail, expiry, inquiry, invitation_mail, clean_up, webhook_delivery, payout, simulated_dispute, snapshot',
    )
  })

  it('list: escapes control characters in texts of jobs', async () => {
    const message = '\u001b]0;title\u0007 \u009b31m \u202egpj'
    await addJob('clean_up_dead', 'created', message)
    const [text, json] = [await run('tasks', 'list'), await run('tasks', 'list', '--json')]
    expect(text.join()).toContain(String.raw`\u{1b}]0;title\u{7} \u{9b}31m \u{202e}gpj`)
    expect([...text, ...json].join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(JSON.parse(json[0] ?? '')).toEqual([
      { task: 'clean_up', state: 'dead', count: 1, last: anyTime, reason: message },
    ])
  })
})

describe('the command that deletes old rows', () => {
  it('prints how many rows it has deleted', async () => {
    const [line = ''] = await run('prune', '--json')
    expect(JSON.parse(line)).toEqual(deletedRows({ idempotency: 0, events: 0 }))
  })
})

describe('payments fx', () => {
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }

  it('import: stores rates of listed currencies, and may be repeated; list: prints the rates that apply', async () => {
    const path = await file(
      'rates.xml',
      `<Cube><Cube time='2026-03-02'><Cube currency='USD' rate='1.0838'/><Cube currency='CYP' rate='0.58'/></Cube>
       <Cube time='2026-02-27'><Cube currency='USD' rate='1.08'/></Cube></Cube>`,
    )
    for (const _ of [1, 2]) expect(await run('fx', 'import', path, '--json')).toEqual(['{"imported":2,"skipped":1}'])
    expect(await lastAudit()).toEqual([
      { action: 'fx.imported', payload: { rates: 2, from: '2026-02-27', to: '2026-03-02' } },
    ])
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
    const long = await file('long.xml', ' '.repeat(5_242_881))
    await expect(run('fx', 'import', long)).rejects.toHaveProperty('message', `${long} has more than 5 MB`)
    const foreign = "<Cube time='2026-03-02'><Cube currency='CYP' rate='1'/></Cube>"
    await expect(run('fx', 'import', await file('x.xml', foreign))).rejects.toHaveProperty(
      'message',
      'none of the currencies is listed',
    )
    await expect(run('fx', 'import', await file('y.xml', '<a/>'))).rejects.toHaveProperty(
      'message',
      'there are no rates: <Cube time=…><Cube currency=… rate=…/> was expected',
    )
    const none = join(folder, 'none.xml')
    await expect(run('fx', 'import', none)).rejects.toHaveProperty(
      'message',
      `ENOENT: no such file or directory, stat '${none}'`,
    )
    await expect(run('fx', 'list', '--date', 'today')).rejects.toHaveProperty('message', '--date is no date')
  })
})

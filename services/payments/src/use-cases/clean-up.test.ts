import type { Jobs } from '@trestle/jobs/jobs.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deletedRows, refusals, statusAndBody } from '../../test/bodies.ts'
import {
  createTestApp,
  createTestMerchant,
  placement,
  startPayments,
  type TestPayments,
} from '../../test/payments-app.ts'
import { cleanUp, startCleanUp } from './clean-up.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const KEEP = { placement, config: { unusedAppDays: 0 } }
const HOUR_MS = 3_600_000
const ago = (hours: number) => new Date(Date.now() - hours * HOUR_MS)
const bytes = Buffer.alloc(32)
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')

describe('cleanUp', () => {
  it('deletes stale rows and keeps others', async () => {
    const { db } = payments.database
    const app = await createTestApp(payments)
    const { id: merchant_id } = await createTestMerchant(payments, app)
    const keyed = (key: string, created: Date) => ({ identity_id: app.id, key, fingerprint: bytes, created })
    await db
      .insertInto('idempotency')
      .values([ago(25), ago(23)].map((at, i) => ({ merchant_id, method: 'POST', path: '/', ...keyed(`k${i}`, at) })))
      .execute()
    await db
      .insertInto('merchant_creations')
      .values([keyed('old', ago(25)), keyed('new', ago(23))])
      .execute()
    await db
      .insertInto('spent_tokens')
      .values([ago(1), ago(-1)].map((expires, i) => ({ merchant_id, jti: `t${i}`, expires })))
      .execute()
    await db
      .insertInto('token_merchants')
      .values([ago(1), ago(-1)].map((expires, i) => ({ merchant_id, jti: `t${i}`, expires })))
      .execute()
    const eventAt = (at: Date, n: number) => ({
      merchant_id,
      id: `${hex(Math.floor(at.getTime() / 1_000), 8)}${hex(n, 8)}${merchant_id.slice(16)}`,
      created: at,
      type: 'app.added',
    })
    const old = Array.from({ length: 2_500 }, (_, n) => eventAt(ago(31 * 24), n))
    await db
      .insertInto('events')
      .values([...old, eventAt(ago(29 * 24), 0), eventAt(ago(0), 0)])
      .execute()
    expect(await cleanUp({ db: payments.service.db, ...KEEP })).toEqual({
      idempotency: 1,
      merchant_creations: 1,
      spent_tokens: 1,
      events: 2_500,
      payment_sessions: 0,
      invitations: 0,
      token_merchants: 1,
      app_invitations: 0,
      apps: 0,
    })
    expect(await db.selectFrom('idempotency').select('key').execute()).toEqual([{ key: 'k1' }])
    expect(await db.selectFrom('merchant_creations').select('key').execute()).toEqual([{ key: 'new' }])
    expect(await db.selectFrom('spent_tokens').select('jti').execute()).toEqual([{ jti: 't1' }])
    expect(await db.selectFrom('token_merchants').select('jti').execute()).toEqual([{ jti: 't1' }])
    expect(await db.selectFrom('events').select('id').execute()).toHaveLength(2)
    expect(await cleanUp({ db: payments.service.db, ...KEEP })).toEqual(deletedRows({ idempotency: 0, events: 0 }))
  })

  it('deletes invitations that expired more than 30 days ago, as the role of the service', async () => {
    const { db } = payments.database
    const member = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, member)
    const emails = ['old@example.com', 'new@example.com']
    for (const email of emails) {
      await payments.app.inject({
        ...{ method: 'POST', url: `/merchants/${id}/users`, headers: member.headers, payload: { email } },
      })
    }
    const users = await db.selectFrom('users').select(['id', 'email']).where('email', 'in', emails).execute()
    for (const user of users) {
      const expires = ago((user.email === 'old@example.com' ? 31 : 29) * 24)
      await db.updateTable('invitations').set({ expires }).where('user_id', '=', user.id).execute()
    }
    expect(await cleanUp({ db: payments.service.db, ...KEEP })).toEqual(deletedRows({ invitations: 1 }))
    const left = await db.selectFrom('invitations').select('user_id').execute()
    expect(left).toEqual([{ user_id: users.find(({ email }) => email === 'new@example.com')?.id }])
  })

  it('deletes apps that nobody uses, where the setting says so', async () => {
    const { db } = payments.database
    const [unused, used, fresh, member] = await Promise.all([1, 2, 3, 4].map(() => createTestApp(payments)))
    if (!unused || !used || !fresh || !member) throw new Error('no apps')
    await createTestMerchant(payments, member)
    const old = { created: ago(31 * 24) }
    for (const { id } of [unused, used, member]) {
      await db.updateTable('apps').set(old).where('id', '=', id).execute()
      await db.updateTable('app_keys').set(old).where('app_id', '=', id).execute()
    }
    await db
      .updateTable('app_keys')
      .set({ last_used: ago(24) })
      .where('app_id', '=', used.id)
      .execute()
    const ask = ({ headers }: { headers: { authorization: string } }) =>
      payments.app.inject({ url: '/me', headers: { ...headers } })
    expect(await cleanUp({ db: payments.service.db, ...KEEP })).toEqual(deletedRows({ apps: 0 }))
    expect(await cleanUp({ db: payments.service.db, placement, config: { unusedAppDays: 30 } })).toEqual(
      deletedRows({ apps: 1 }),
    )
    expect(statusAndBody(await ask(unused))).toEqual(refusals.unauthorized)
    for (const valid of [used, fresh, member]) expect((await ask(valid)).statusCode).toBe(200)
  })

  it('keeps the app in events of a merchant, also in the answer to a repeat', async () => {
    const { db } = payments.database
    const [member, partner] = [await createTestApp(payments), await createTestApp(payments)]
    const { id } = await createTestMerchant(payments, member)
    const created = ago(31 * 24)
    await db.updateTable('apps').set({ created }).where('id', '=', partner.id).execute()
    await db.updateTable('app_keys').set({ created }).where('app_id', '=', partner.id).execute()
    const url = `/merchants/${id}/apps`
    const headers = { ...member.headers, 'idempotency-key': 'k' }
    const add = () => payments.app.inject({ method: 'POST', url, headers, payload: { appId: partner.id } })
    const first = await add()
    await payments.app.inject({ method: 'DELETE', url: `${url}/${partner.id}`, headers: { ...member.headers } })
    expect(await cleanUp({ db: payments.service.db, placement, config: { unusedAppDays: 30 } })).toEqual(
      deletedRows({ apps: 1 }),
    )
    const events = await payments.app.inject({ url: `/merchants/${id}/events?limit=9`, headers: { ...member.headers } })
    const app = { id: partner.id, created: created.toISOString() }
    expect([
      events.statusCode,
      events.json().map(({ type, data }: { readonly type: string; readonly data: unknown }) => ({ type, data })),
    ]).toEqual([200, ['app.revoked', 'app.added'].map((type) => ({ type, data: { app } }))])
    const repeat = await add()
    expect([repeat.statusCode, repeat.body]).toEqual([201, first.body])
  })

  it('leaves locked rows for the next run', async () => {
    const { db } = payments.database
    const { id } = await createTestApp(payments)
    await db
      .insertInto('merchant_creations')
      .values({ identity_id: id, key: 'k', fingerprint: bytes, created: ago(25) })
      .execute()
    await db.transaction().execute(async (trx) => {
      await trx.selectFrom('merchant_creations').select('key').where('identity_id', '=', id).forUpdate().execute()
      expect(await cleanUp({ db: payments.service.db, ...KEEP })).toEqual(deletedRows({ merchant_creations: 0 }))
    })
    expect(await cleanUp({ db: payments.service.db, ...KEEP })).toEqual(deletedRows({ merchant_creations: 1 }))
  })
})

describe('startCleanUp', () => {
  it('runs in minute 17 of each hour, and logs how many rows of each table it has deleted', async () => {
    const works: unknown[] = []
    const schedules: unknown[] = []
    const logged: unknown[] = []
    const jobs: Pick<Jobs, 'work' | 'schedule'> = {
      work: async ({ name }, handler) => {
        const outcome: unknown = await Reflect.apply(handler, undefined, [])
        works.push({ name, outcome })
      },
      schedule: async ({ name }, cron) => {
        schedules.push({ name, cron })
      },
    }
    const logger = { info: (...line: unknown[]) => logged.push(line) }
    await startCleanUp({ db: payments.service.db, jobs, logger, ...KEEP })
    expect({ works, schedules, logged }).toEqual({
      works: [{ name: 'clean_up', outcome: 'done' }],
      schedules: [{ name: 'clean_up', cron: '17 * * * *' }],
      logged: [[{ rows: deletedRows() }, 'cleaned up']],
    })
  })
})

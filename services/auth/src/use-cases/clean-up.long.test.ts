import { randomBytes, randomUUID } from 'node:crypto'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { factorRow } from '../../test/factor-row.ts'
import { mailTask } from '../messages/mail-job.ts'
import { lostMessagesStatement } from '../messages/message-repository.ts'
import { smsTask } from '../messages/sms-job.ts'
import { authNames } from '../migrations.ts'
import { batchStatement, listCleanUps } from '../retention/clean-up-repository.ts'
import { type CleanUpRuns, cleanUp, MESSAGE_JOB_MS } from './clean-up.ts'

const { deps, clock, database, close } = await openTestApp({
  settings: { AUTH_SESSIONS_TIMEBOX: '2h', AUTH_SESSIONS_INACTIVITY_TIMEOUT: '1h', AUTH_DB_NAMESPACE: 'app' },
})
const { db } = deps
afterAll(close)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The lifetime of a code that is generated just before its link expires. */
const FLOW_MS = 300_000
const CHALLENGE_MS = 300_000
const ago = (ms: number) => new Date(clock.now().getTime() - ms)
const user = (values = {}) =>
  db
    .insertInto('users')
    .values({ id: randomUUID(), aud: 'authenticated', role: 'authenticated', ...values })
    .returning('id')
    .executeTakeFirstOrThrow()
/** Session ids are ordered by time. */
const newSessionId = sql<string>`${sql.table('uuid_v7')}()`
const session = (userId: string, values = {}) =>
  db
    .insertInto('sessions')
    .values({ id: newSessionId, user_id: userId, created_at: clock.now(), updated_at: clock.now(), ...values })
    .returning('id')
    .executeTakeFirstOrThrow()
/** Returns a function that cleans up once and returns the removed rows of each table. */
function openCleanUp(
  sparseBatchesMax?: number,
  others: Pick<CleanUpRuns, 'refusedRowsMax' | 'reportRefusedRows'> = {},
) {
  const removed = new Map<string, number>()
  const countRows = (table: string, rows: number) => removed.set(table, (removed.get(table) ?? 0) + rows)
  const runs = { countRows, places: new Map(), sparseBatchesMax, ...others }
  return async () => {
    removed.clear()
    await cleanUp({ ...deps, ...runs })
    return Object.fromEntries([...removed].filter(([, rows]) => rows > 0))
  }
}
const run = openCleanUp()

describe('clean-up', () => {
  it('removes expired rows and keeps rows that are one moment younger', async () => {
    const { id } = await user({ created_at: ago(0) })
    for (const [pendingSinceAgo, anonymousAgo] of [
      [2 * DAY_MS + 1, 30 * DAY_MS + 1],
      [2 * DAY_MS, 30 * DAY_MS],
    ] as const) {
      await user({ staged_at: ago(pendingSinceAgo), created_at: ago(pendingSinceAgo) })
      await user({ is_anonymous: true, created_at: ago(anonymousAgo) })
    }
    for (const age of [DAY_MS + 1, DAY_MS]) {
      const kept = await session(id)
      await session(id, { not_after: ago(age) })
      await session(id, { created_at: ago(age + 2 * HOUR_MS), refreshed_at: ago(0).toISOString() })
      await session(id, { created_at: ago(age + HOUR_MS), refreshed_at: null })
      const token = { user_id: id, session_id: kept.id, counter: 1n, created_at: ago(age), updated_at: ago(age) }
      await db
        .insertInto('refresh_tokens')
        .values([
          { ...token, token_hash: randomBytes(32), revoked: true },
          { ...token, token_hash: randomBytes(32), revoked: false, counter: 2n },
        ])
        .execute()
      await db
        .insertInto('flow_state')
        .values({ provider_type: 'email', authentication_method: 'magiclink', created_at: ago(age + FLOW_MS) })
        .execute()
      const [, verified] = await db
        .insertInto('mfa_factors')
        .values(
          [
            { user_id: id, factor_type: 'totp', created_at: ago(age) },
            { user_id: id, factor_type: 'totp', created_at: ago(age), status: 'verified' },
          ].map(factorRow),
        )
        .returning('id')
        .execute()
      await db
        .insertInto('mfa_challenges')
        .values({ id: randomUUID(), factor_id: verified?.id ?? '', created_at: ago(age + CHALLENGE_MS) })
        .execute()
      const passkeyChallenge = { id: randomUUID(), challenge: 'x', expires_at: ago(age) }
      await db.insertInto('webauthn_challenges').values(passkeyChallenge).execute()
      await db
        .insertInto('one_time_tokens')
        .values({ user_id: id, kind: age > DAY_MS ? 'recovery' : 'sms', relates_to: 'x', expires_at: ago(age) })
        .execute()
      await db
        .insertInto('send_throttle')
        .values({ key_hash: randomBytes(32), kind: 'sms', sent_at: ago(age) })
        .execute()
    }
    expect(await run()).toEqual({
      refresh_tokens: 1,
      sessions: 3,
      flow_state: 1,
      mfa_factors: 1,
      mfa_challenges: 1,
      webauthn_challenges: 1,
      one_time_tokens: 1,
      send_throttle: 1,
      users: 2,
    })
    expect(await run()).toEqual({})
  })

  it('removes audit entries after a year', async () => {
    const YEAR_MS = 365 * DAY_MS
    const event = { action: 'login', log_type: 'account', payload: {} }
    await db
      .insertInto('audit_log_entries')
      .values({ ...event, created_at: ago(YEAR_MS + 1) })
      .execute()
    const kept = await db
      .insertInto('audit_log_entries')
      .values({ ...event, created_at: ago(YEAR_MS) })
      .returning('id')
      .executeTakeFirstOrThrow()
    expect(await run()).toEqual({ audit_log_entries: 1 })
    expect(await db.selectFrom('audit_log_entries').select('id').execute()).toEqual([kept])
  })

  it('removes what operators see of messages after 30 days', async () => {
    const message = { kind: 'mail', purpose: 'recovery', user_id: randomUUID(), recipient: 'a…@example.com' }
    const [gone, kept] = [randomUUID(), randomUUID()]
    await db
      .insertInto('messages')
      .values([
        { ...message, id: gone, channel: null, created_at: ago(30 * DAY_MS + 1) },
        { ...message, id: kept, channel: null, created_at: ago(30 * DAY_MS) },
      ])
      .execute()
    expect(await run()).toEqual({ messages: 1 })
    expect(await db.selectFrom('messages').select('id').execute()).toEqual([{ id: kept }])
  })

  it('removes unconfirmed users after a month', async () => {
    const old = { confirmation_sent_at: ago(30 * DAY_MS + 1) }
    const gone = await user(old)
    const stay = await Promise.all(
      [
        { confirmation_sent_at: ago(30 * DAY_MS) },
        { ...old, phone_confirmed_at: ago(0) },
        { ...old, invited_at: ago(40 * DAY_MS) },
        { ...old, last_sign_in_at: ago(0) },
        { ...old, banned_until: ago(-DAY_MS) },
        { ...old, keep_unconfirmed: true },
      ].map((values) => user(values)),
    )
    expect(await run()).toEqual({ users: 1 })
    const users = db.selectFrom('users').select('id')
    const kept = await users
      .where(
        'id',
        'in',
        [gone, ...stay].map(({ id }) => id),
      )
      .execute()
    expect(new Set(kept)).toEqual(new Set(stay.map(({ id }) => ({ id }))))
  })

  it('keeps anonymous users that supabase/auth has made or an admin has changed', async () => {
    const old = { is_anonymous: true, created_at: ago(31 * DAY_MS) }
    const [gone, kept] = [await user(old), await user({ ...old, keep_unconfirmed: true })]
    expect(await run()).toEqual({ users: 1 })
    const users = db.selectFrom('users').select('id')
    expect(await users.where('id', 'in', [gone.id, kept.id]).execute()).toEqual([kept])
  })

  it('keeps audit entries and users when the settings switch their removal off', async () => {
    const { database } = deps.config
    const off = {
      ...database,
      anonymousRetentionMs: 'off',
      auditRetentionMs: 'off',
      unconfirmedRetentionMs: 'off',
    } as const
    const users = [
      await user({ is_anonymous: true, created_at: ago(31 * DAY_MS) }),
      await user({ confirmation_sent_at: ago(31 * DAY_MS) }),
    ]
    const entry = await db
      .insertInto('audit_log_entries')
      .values({ action: 'login', log_type: 'account', payload: {}, created_at: ago(400 * DAY_MS) })
      .returning('id')
      .executeTakeFirstOrThrow()
    await cleanUp({ ...deps, config: { ...deps.config, database: off }, countRows: () => {}, places: new Map() })
    const ids = users.map(({ id }) => id)
    expect(await db.selectFrom('users').select('id').where('id', 'in', ids).orderBy('created_at').execute()).toEqual(
      users,
    )
    expect(await db.selectFrom('audit_log_entries').select('id').where('id', '=', entry.id).execute()).toEqual([entry])
    expect(await run()).toEqual({ users: 2, audit_log_entries: 1 })
  })

  it('removes rows in batches of a hundred and skips locked rows', async () => {
    const rows = Array.from({ length: 250 }, () => ({
      provider_type: 'email',
      authentication_method: 'recovery',
      created_at: ago(3 * DAY_MS),
    }))
    await db.insertInto('flow_state').values(rows).execute()
    await db.transaction().execute(async (trx) => {
      const some = trx.selectFrom('flow_state').select('id').where('authentication_method', '=', 'recovery')
      await some.limit(20).forUpdate().execute()
      expect(await run()).toEqual({ flow_state: 230 })
    })
    expect(await run()).toEqual({ flow_state: 20 })
  })

  it('skips rows that stay, a thousand at a time, and continues where it stopped', async () => {
    const { id } = await user()
    const kept = await session(id)
    await sql`
      INSERT INTO ${sql.table('refresh_tokens')}
        (session_id, user_id, token_hash, counter, revoked, created_at, updated_at)
      SELECT ${kept.id}, ${id}, int4send(n), n, n % 4 = 3 OR n > 2000, ${ago(2 * DAY_MS)}, ${ago(2 * DAY_MS)}
      FROM generate_series(1, 22000) n`.execute(db)
    // Of the first 2,000 rows every fourth is expired, of the others every row, so one run removes all.
    expect(await run()).toEqual({ refresh_tokens: 20_500 })
    await sql`
      INSERT INTO ${sql.table('refresh_tokens')} (session_id, user_id, token_hash, counter, revoked, created_at, updated_at)
      SELECT ${kept.id}, ${id}, int4send(n), n, n IN (30000, 59999), ${ago(2 * DAY_MS)}, ${ago(2 * DAY_MS)}
      FROM generate_series(30000, 60000) n`.execute(db)
    // Only two rows are expired, 30,000 rows apart. A run reads 20,000 rows and leaves the second to the next run.
    const patient = openCleanUp(20)
    expect(await patient()).toEqual({ refresh_tokens: 1 })
    expect(await patient()).toEqual({ refresh_tokens: 1 })
    expect(await patient()).toEqual({})
    await sql`UPDATE ${sql.table('refresh_tokens')} SET revoked = true WHERE counter = 59000`.execute(db)
    expect(await run()).toEqual({ refresh_tokens: 1 })
  })

  it('removes the rows around those that a foreign key of an application keeps, and says how many stay', async () => {
    const told: unknown[] = []
    const reportRefusedRows: CleanUpRuns['reportRefusedRows'] = (table, { rows, cause }) =>
      told.push([table, rows, cause instanceof Error && 'constraint' in cause ? cause.constraint : cause])
    const toldSince = () => told.splice(0)
    const { id } = authNames(deps.config)
    const expired = (at: number) => user({ is_anonymous: true, created_at: ago(31 * DAY_MS - at) })
    const users = await Promise.all(Array.from({ length: 160 }, (_, at) => expired(Math.floor(at / 50))))
    const loneUsers = users.filter((_, at) => at % 16 === 8)
    const owner = await user()
    const [kept, gone] = await Promise.all([0, 1].map(() => session(owner.id, { created_at: ago(3 * DAY_MS) })))
    await withDatabase({ url: database.directUrl }, async (owned) => {
      await sql`CREATE TABLE public.orders (buyer uuid REFERENCES ${id('users')}, seen uuid REFERENCES ${id('sessions')})`.execute(
        owned,
      )
      const buyers = users.filter((each) => !loneUsers.includes(each)).map((each) => each.id)
      await sql`INSERT INTO public.orders (buyer) SELECT unnest(${buyers}::uuid[])`.execute(owned)
      await sql`INSERT INTO public.orders (seen) VALUES (${kept?.id})`.execute(owned)
    })
    const bold = openCleanUp(undefined, { reportRefusedRows })
    expect(await bold()).toEqual({ users: loneUsers.length, sessions: 1 })
    const sessions = ['sessions', 1, 'orders_seen_fkey']
    expect(toldSince()).toEqual([sessions, ['users', 150, 'orders_buyer_fkey']])
    expect(
      await db
        .selectFrom('sessions')
        .select('id')
        .where('id', 'in', [kept?.id ?? '', gone?.id ?? ''])
        .execute(),
    ).toEqual([kept])
    // A run stops after 100 refused rows. The next run continues behind them, and starts again after the last row.
    await expired(DAY_MS / 2)
    const careful = openCleanUp(undefined, { reportRefusedRows, refusedRowsMax: 100 })
    const outcomes: unknown[] = []
    for (let turn = 0; turn < 3; turn += 1) outcomes.push([await careful(), toldSince()])
    expect(outcomes).toEqual([
      [{}, [sessions, ['users', 100, 'orders_buyer_fkey']]],
      [{ users: 1 }, [sessions, ['users', 50, 'orders_buyer_fkey']]],
      [{}, [sessions, ['users', 100, 'orders_buyer_fkey']]],
    ])
    await withDatabase({ url: database.directUrl }, (owned) => sql`DROP TABLE public.orders`.execute(owned))
    expect(await run()).toEqual({ users: 150, sessions: 1 })
  })

  it('keeps rows that have the place of an expired row of a table that inherits', async () => {
    const { id } = authNames(deps.config)
    await withDatabase({ url: database.directUrl }, async (owned) => {
      await sql`CREATE TABLE public.sessions_gone () INHERITS (${id('sessions')})`.execute(owned)
      await sql`CREATE TABLE public.users_gone () INHERITS (${id('users')})`.execute(owned)
    })
    const owner = await user()
    const kept = await Promise.all(Array.from({ length: 60 }, () => session(owner.id)))
    await withDatabase({ url: database.directUrl }, async (owned) => {
      await sql`INSERT INTO public.sessions_gone (id, user_id, not_after, created_at)
        SELECT ${id('uuid_v7')}(), ${owner.id}, ${ago(3 * DAY_MS)}, now() FROM generate_series(1, 2000)`.execute(owned)
      await sql`INSERT INTO public.users_gone (id, is_anonymous, created_at)
        SELECT gen_random_uuid(), true, ${ago(40 * DAY_MS)} FROM generate_series(1, 2000)`.execute(owned)
    })
    expect(await run()).toEqual({})
    const sessions = db.selectFrom('sessions').select('id').where('user_id', '=', owner.id)
    expect((await sessions.where('not_after', 'is', null).execute()).length).toBe(kept.length)
    await withDatabase({ url: database.directUrl }, (owned) =>
      sql`DROP TABLE public.sessions_gone, public.users_gone`.execute(owned),
    )
  })

  it('runs in several processes at once', async () => {
    const { id } = await user()
    const rows = Array.from({ length: 500 }, () => ({ id: newSessionId, user_id: id, not_after: ago(DAY_MS + 1) }))
    await db.insertInto('sessions').values(rows).execute()
    const runs = await Promise.all([openCleanUp()(), openCleanUp()(), openCleanUp()()])
    expect(runs.reduce((sum, { sessions = 0 }) => sum + sessions, 0)).toBe(500)
  })

  it('fails messages that wait for longer than a job lasts, and keeps why they were not taken', async () => {
    const wait = (age: number, values: { status?: string; error?: string } = {}) => {
      const id = randomUUID()
      const to = { purpose: 'recovery', kind: 'mail', user_id: randomUUID(), recipient: 'a…@example.com' } as const
      const row = { id, ...to, created_at: ago(age), attempts: 3, ...values }
      return db.insertInto('messages').values(row).returning('id').executeTakeFirstOrThrow()
    }
    const [young, lost, refused, sent] = [
      await wait(2 * DAY_MS),
      await wait(2 * DAY_MS + 1),
      await wait(2 * DAY_MS + 1, { error: 'SMTP ETIMEDOUT' }),
      await wait(2 * DAY_MS + 1, { status: 'sent' }),
    ]
    expect(await run()).toEqual({})
    const found = db.selectFrom('messages').select(['id', 'status', 'error', 'attempts'])
    const rows = await found.where('attempts', '=', 3).execute()
    expect(new Map(rows.map(({ id, ...noted }) => [id, noted]))).toEqual(
      new Map([
        [young.id, { status: 'waiting', error: null, attempts: 3 }],
        [lost.id, { status: 'failed', error: 'no attempt has ended', attempts: 3 }],
        [refused.id, { status: 'failed', error: 'SMTP ETIMEDOUT', attempts: 3 }],
        [sent.id, { status: 'sent', error: null, attempts: 3 }],
      ]),
    )
  })

  it.each([mailTask, smsTask])('gives the job of $name the time for all its attempts', (task) => {
    const { retryLimit, delaySecondsMax, timeoutSeconds } = task
    const longestSeconds = retryLimit * delaySecondsMax + (retryLimit + 1) * timeoutSeconds
    expect(longestSeconds * 1_000).toBeLessThan(MESSAGE_JOB_MS)
  })

  it('finds every batch by an index', async () => {
    const plans = await db.connection().execute(async (connection) => {
      // Force the index, because the planner does not use it for such small tables.
      await sql`SET enable_seqscan = off`.execute(connection)
      await sql`SET enable_bitmapscan = off`.execute(connection)
      const texts: string[] = []
      for (const target of listCleanUps(deps.config, deps.now())) {
        const { rows } = await sql<object>`EXPLAIN ${batchStatement(target)}`.execute(connection)
        texts.push(rows.flatMap(Object.values).join('\n'))
      }
      const { rows: lost } = await sql<object>`EXPLAIN ${lostMessagesStatement(deps.now())}`.execute(connection)
      texts.push(lost.flatMap(Object.values).join('\n'))
      await sql`RESET ALL`.execute(connection)
      return texts
    })
    expect(plans).toEqual(INDEXES.map((name) => expect.stringMatching(`Index Scan (Backward )?using app_${name} on`)))
    expect(plans.join()).not.toContain('Seq Scan')
  })
})

/** In the order of the clean-ups, followed by that of lost messages. */
const INDEXES = [
  'refresh_tokens_pkey',
  'sessions_not_after_idx',
  'sessions_pkey',
  'flow_state_created_idx',
  'mfa_factors_unverified_idx',
  'mfa_challenges_created_idx',
  'webauthn_challenges_end_idx',
  'one_time_tokens_expires_idx',
  'send_throttle_sent_at_idx',
  'code_guesses_since_idx',
  'messages_created_idx',
  'users_staged_at_idx',
  'users_anonymous_idx',
  'audit_log_created_at_idx',
  'users_unconfirmed_idx',
  'messages_unsent_idx',
]

import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { cleanUp } from './clean-up.ts'

const { deps, clock, close } = await openTestApp({
  settings: { AUTH_SESSIONS_TIMEBOX: '2h', AUTH_SESSIONS_INACTIVITY_TIMEOUT: '1h', AUTH_DB_NAMESPACE: 'app' },
})
const { db } = deps
afterAll(close)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ago = (ms: number) => new Date(clock.now().getTime() - ms)
const user = (values = {}) =>
  db
    .insertInto('users')
    .values({ aud: 'authenticated', role: 'authenticated', ...values })
    .returning('id')
    .executeTakeFirstOrThrow()
const session = (userId: string, values = {}) =>
  db
    .insertInto('sessions')
    .values({ user_id: userId, created_at: clock.now(), updated_at: clock.now(), ...values })
    .returning('id')
    .executeTakeFirstOrThrow()
const run = async () => {
  const removed: Record<string, number> = {}
  await cleanUp(deps, (table, rows) => {
    removed[table] = (removed[table] ?? 0) + rows
  })
  return removed
}
const nothing = {
  refresh_tokens: 0,
  sessions: 0,
  flow_state: 0,
  mfa_factors: 0,
  one_time_tokens: 0,
  send_throttle: 0,
  users: 0,
}

describe('cleanUp', () => {
  it('removes what is stale and leaves what is one moment younger', async () => {
    const { id } = await user({ created_at: ago(0) })
    for (const [stagedAgo, anonymousAgo] of [
      [2 * DAY_MS + 1, 30 * DAY_MS + 1],
      [2 * DAY_MS, 30 * DAY_MS],
    ] as const) {
      await user({ staged_at: ago(stagedAgo), created_at: ago(stagedAgo) })
      await user({ is_anonymous: true, created_at: ago(anonymousAgo) })
    }
    for (const age of [DAY_MS + 1, DAY_MS]) {
      const kept = await session(id)
      await session(id, { not_after: ago(age) })
      await session(id, { created_at: ago(age + 2 * HOUR_MS), refreshed_at: ago(0) })
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
        .values({ provider_type: 'email', authentication_method: 'magiclink', created_at: ago(age) })
        .execute()
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
      mfa_factors: 0,
      one_time_tokens: 1,
      send_throttle: 1,
      users: 2,
    })
    expect(await run()).toEqual(nothing)
  })

  it('keeps a flow whose link may still be followed, or whose code may still be exchanged', async () => {
    const old = { provider_type: 'email', authentication_method: 'email/signup', created_at: ago(3 * DAY_MS) }
    const flow = async (userId: string, values = {}) =>
      db
        .insertInto('flow_state')
        .values({ ...old, user_id: userId, ...values })
        .returning('id')
        .executeTakeFirstOrThrow()
    const { id } = await user()
    const linked = await flow(id)
    const token = { user_id: id, kind: 'confirmation', relates_to: 'x', flow_state_id: linked.id }
    await db
      .insertInto('one_time_tokens')
      .values({ ...token, expires_at: ago(-1) })
      .execute()
    await flow(id, { auth_code_issued_at: ago(0) })
    await flow(id, { auth_code_issued_at: ago(DAY_MS + 1) })
    expect(await run()).toMatchObject({ flow_state: 1 })
    await db
      .updateTable('one_time_tokens')
      .set({ expires_at: ago(0) })
      .where('user_id', '=', id)
      .execute()
    expect(await run()).toMatchObject({ flow_state: 1, one_time_tokens: 0 })
  })

  it('takes a hundred rows at a time, and none that somebody holds', async () => {
    const rows = Array.from({ length: 150 }, () => ({
      provider_type: 'email',
      authentication_method: 'recovery',
      created_at: ago(2 * DAY_MS),
    }))
    await db.insertInto('flow_state').values(rows).execute()
    await db.transaction().execute(async (trx) => {
      await trx
        .selectFrom('flow_state')
        .select('id')
        .where('authentication_method', '=', 'recovery')
        .limit(20)
        .forUpdate()
        .execute()
      expect(await run()).toMatchObject({ flow_state: 100 })
      expect(await run()).toMatchObject({ flow_state: 30 })
    })
    expect(await run()).toMatchObject({ flow_state: 20 })
  })
})

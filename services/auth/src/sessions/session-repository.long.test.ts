import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { anyTime } from '../../test/bodies.ts'
import { factorRow } from '../../test/factor-row.ts'
import { lenientRules } from '../../test/refresh-rules.ts'
import type { User } from '../users/user.ts'
import { insertUser } from '../users/user-change-repository.ts'
import { createSession, insertPasswordSession } from './create-session.ts'
import { type RefreshRules, updateSession } from './refresh-session.ts'
import { deriveChildToken, deriveRefreshTokenKey, hashRefreshToken } from './session.ts'
import { deleteSessionsInScope } from './session-repository.ts'

let database: TestDatabase
let count = 0

// This namespace gives every function its longest possible name.
beforeAll(async () => {
  database = await openTestDatabase('app')
})
afterAll(() => database.drop())

const key = deriveRefreshTokenKey('a secret')
const origin = { userAgent: 'test', ip: '192.0.2.1' }
const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
const noLimits: RefreshRules = { ...lenientRules, reuseSeconds: 10 }

function createUser(changes: Partial<Parameters<typeof insertUser>[1]> = {}): Promise<User> {
  const email = `user${++count}@example.com`
  const confirmed = '2026-01-01T00:00:00.000001+00:00'
  return insertUser(database.db, {
    aud: 'authenticated',
    role: 'authenticated',
    email,
    email_confirmed_at: confirmed,
    raw_user_meta_data: { full_name: 'A User' },
    ...changes,
  })
}

const open = (user: User) =>
  createSession(database.db, { randomBytes }, user, { ...origin, method: 'password', credentialSince: null })
const refresh = (token: string, rules: Partial<RefreshRules> = {}) =>
  updateSession(database.pools, {
    ...origin,
    ...noLimits,
    ...rules,
    tokenHash: hashRefreshToken(token),
    childHash: hashRefreshToken(deriveChildToken(key, token)),
  })

/** Moves a session into the past. */
async function age(sessionId: string, column: 'created_at' | 'refreshed_at', seconds: number): Promise<void> {
  await database.db
    .updateTable('sessions')
    .set({ [column]: sql`${sql.ref(column)} - make_interval(secs => ${seconds})` })
    .where('id', '=', sessionId)
    .execute()
}

const tokensOf = (sessionId: string) =>
  database.db.selectFrom('refresh_tokens').selectAll().where('session_id', '=', sessionId).orderBy('counter').execute()
const auditOf = (user: User) =>
  database.db
    .selectFrom('audit_log_entries')
    .select(['action', 'log_type', 'ip_address', 'session_id', 'payload'])
    .where('actor_id', '=', user.id)
    .orderBy('created_at')
    .orderBy('action')
    .execute()

describe('insertSession', () => {
  it('stores a session, its first token and its amr, and returns the updated user', async () => {
    const user = await createUser()
    const session = await open(user)
    expect(session).toEqual({
      sessionId: uuid,
      aal: 'aal1',
      startedAt: anyTime,
      amr: [{ method: 'password', timestamp: Math.floor(Date.parse(session.startedAt) / 1_000) }],
      refreshToken: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
      user: { ...user, lastSignInAt: session.startedAt, updatedAt: session.startedAt },
      identities: [],
      factors: [],
    })
    expect(await tokensOf(session.sessionId)).toEqual([
      {
        id: expect.any(BigInt),
        session_id: session.sessionId,
        user_id: user.id,
        token_hash: hashRefreshToken(session.refreshToken),
        counter: 0n,
        parent_id: null,
        revoked: false,
        created_at: session.startedAt,
        updated_at: session.startedAt,
      },
    ])
    expect(await database.db.selectFrom('sessions').selectAll().where('id', '=', session.sessionId).execute()).toEqual([
      {
        id: session.sessionId,
        user_id: user.id,
        aal: 'aal1',
        factor_id: null,
        not_after: null,
        refreshed_at: null,
        user_agent: 'test',
        ip: '192.0.2.1',
        last_ip: '192.0.2.1',
        label: null,
        tag: null,
        oauth_client_id: null,
        refresh_token_hmac_key: null,
        refresh_token_counter: null,
        scopes: null,
        created_at: session.startedAt,
        updated_at: session.startedAt,
      },
    ])
  })

  it('lists identities and factors, without their secrets', async () => {
    const user = await createUser()
    const data = { sub: user.id, email: user.email ?? '' }
    const { db } = database
    await db
      .insertInto('identities')
      .values({ user_id: user.id, provider: 'email', provider_id: user.id, identity_data: data })
      .execute()
    await db
      .insertInto('mfa_factors')
      .values(factorRow({ user_id: user.id, factor_type: 'totp', status: 'verified', friendly_name: 'phone app' }))
      .execute()
    const { identities, factors } = await open(user)
    expect({ identities, factors }).toEqual({
      identities: [
        {
          id: uuid,
          userId: user.id,
          provider: 'email',
          providerId: user.id,
          data,
          email: user.email,
          lastSignInAt: null,
          createdAt: anyTime,
          updatedAt: anyTime,
        },
      ],
      factors: [
        {
          id: uuid,
          friendlyName: 'phone app',
          factorType: 'totp',
          status: 'verified',
          phone: null,
          lastChallengedAt: null,
          createdAt: anyTime,
          updatedAt: anyTime,
        },
      ],
    })
  })

  it('throws when the user is deleted', async () => {
    const gone = { ...(await createUser()), id: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' }
    await expect(open(gone)).rejects.toThrow('no user')
  })
})

describe('updateSession', () => {
  // ASVS 7.2.2
  it('rotates the token, updates session and user, and writes the audit log', async () => {
    const user = await createUser()
    const session = await open(user)
    const result = await updateSession(database.pools, {
      ...noLimits,
      userAgent: 'other',
      ip: '2001:db8::1',
      tokenHash: hashRefreshToken(session.refreshToken),
      childHash: hashRefreshToken(deriveChildToken(key, session.refreshToken)),
    })
    if (result.verdict !== 'rotated') throw new Error(result.verdict)
    const { refreshToken: _token, ...stored } = session
    const signedInAt = result.session.user.lastSignInAt
    expect(result.session).toEqual({
      ...stored,
      user: { ...session.user, lastSignInAt: anyTime, updatedAt: signedInAt },
    })
    expect(Date.parse(signedInAt ?? '')).toBeGreaterThanOrEqual(Date.parse(session.startedAt))
    const row = await database.db
      .selectFrom('sessions')
      .select(['user_agent', 'ip', 'last_ip', sql<string>`refreshed_at AT TIME ZONE 'UTC'`.as('refreshed_at')])
      .where('id', '=', session.sessionId)
      .executeTakeFirst()
    expect(row).toEqual({
      user_agent: 'other',
      ip: '192.0.2.1',
      last_ip: '2001:db8::1',
      refreshed_at: signedInAt,
    })
    const tokens = await tokensOf(session.sessionId)
    expect(tokens.map(({ counter, revoked }) => [counter, revoked])).toEqual([
      [0n, true],
      [1n, false],
    ])
    expect(tokens[1]?.token_hash).toEqual(hashRefreshToken(deriveChildToken(key, session.refreshToken)))
    const entry = (action: string) => ({
      action,
      log_type: 'token',
      ip_address: '2001:db8::1',
      session_id: session.sessionId,
      payload: {
        actor_id: user.id,
        actor_username: user.email,
        actor_name: 'A User',
        actor_via_sso: false,
        action,
        log_type: 'token',
      },
    })
    expect(await auditOf(user)).toEqual([entry('token_refreshed'), entry('token_revoked')])
  })

  it('gives parallel refreshes of one token the same next token, in one new row', async () => {
    const session = await open(await createUser())
    const results = await Promise.all(Array.from({ length: 40 }, () => refresh(session.refreshToken)))
    expect(results.filter(({ verdict }) => verdict === 'rotated')).toHaveLength(1)
    expect(results.filter(({ verdict }) => verdict === 'reused')).toHaveLength(39)
    expect(await tokensOf(session.sessionId)).toHaveLength(2)
  })

  it('ends the session of a replayed older token for good', async () => {
    const user = await createUser()
    const session = await open(user)
    const child = deriveChildToken(key, session.refreshToken)
    const grandchild = deriveChildToken(key, child)
    expect((await refresh(session.refreshToken)).verdict).toBe('rotated')
    expect((await refresh(child)).verdict).toBe('rotated')
    expect(await refresh(session.refreshToken)).toEqual({ verdict: 'stolen', userId: user.id })
    expect((await tokensOf(session.sessionId)).map(({ revoked }) => revoked)).toEqual([true, true, true])
    expect(await refresh(grandchild)).toEqual({ verdict: 'stolen', userId: user.id })
    expect(await refresh(child)).toEqual({ verdict: 'stolen', userId: user.id })
    const actions = (await auditOf(user)).map(({ action }) => action)
    expect(actions.slice(4)).toEqual(['token_revoked', 'token_revoked', 'token_revoked'])
  })

  it('refuses the token of aal1 after a second factor has rotated it', async () => {
    const user = await createUser()
    const session = await open(user)
    await refresh(session.refreshToken)
    await database.db
      .updateTable('refresh_tokens')
      .set({ updated_at: new Date(0) })
      .where('token_hash', '=', hashRefreshToken(session.refreshToken))
      .execute()
    expect(await refresh(session.refreshToken)).toEqual({ verdict: 'stolen', userId: user.id })
  })

  it('finds nothing for an unknown token and for a token of an ended session', async () => {
    const user = await createUser()
    const session = await open(user)
    expect(await refresh('x'.repeat(32))).toEqual({ verdict: 'token-not-found' })
    await database.db.deleteFrom('sessions').where('id', '=', session.sessionId).execute()
    expect(await refresh(session.refreshToken)).toEqual({ verdict: 'token-not-found' })
  })

  it('finds no token of a user whom SQL has deleted softly, though the session is still there', async () => {
    const user = await createUser()
    const session = await open(user)
    await database.db.updateTable('users').set({ deleted_at: new Date() }).where('id', '=', user.id).execute()
    expect(await refresh(session.refreshToken)).toEqual({ verdict: 'token-not-found' })
  })

  it('refuses a banned user until the ban has ended', async () => {
    const user = await createUser()
    const session = await open(user)
    const ban = (until: Date | null) =>
      database.db.updateTable('users').set({ banned_until: until }).where('id', '=', user.id).execute()
    await ban(new Date(Date.now() + 60_000))
    expect(await refresh(session.refreshToken)).toEqual({ verdict: 'user-banned' })
    await ban(new Date(Date.now() - 1_000))
    expect((await refresh(session.refreshToken)).verdict).toBe('rotated')
  })

  it('refuses a session past not_after, timebox or inactivity timeout', async () => {
    const { refreshToken, sessionId } = await open(await createUser())
    await age(sessionId, 'created_at', 100)
    expect(await refresh(refreshToken, { timeboxSeconds: 99 })).toEqual({ verdict: 'session-expired' })
    expect(await refresh(refreshToken, { inactivitySeconds: 99 })).toEqual({ verdict: 'session-inactive' })
    expect((await refresh(refreshToken, { timeboxSeconds: 120, inactivitySeconds: 120 })).verdict).toBe('rotated')
    const child = deriveChildToken(key, refreshToken)
    expect((await refresh(child, { inactivitySeconds: 50 })).verdict).toBe('rotated')
    await age(sessionId, 'refreshed_at', 60)
    const grandchild = deriveChildToken(key, child)
    expect(await refresh(grandchild, { inactivitySeconds: 50 })).toEqual({ verdict: 'session-inactive' })
    const past = new Date(Date.now() - 1_000)
    await database.db.updateTable('sessions').set({ not_after: past }).where('id', '=', sessionId).execute()
    expect(await refresh(grandchild)).toEqual({ verdict: 'session-expired' })
  })

  it('refreshes only the newest session when a user may have one', async () => {
    const user = await createUser()
    const older = await open(user)
    const newer = await open(user)
    const rules = { singlePerUser: true }
    expect(await refresh(older.refreshToken, rules)).toEqual({ verdict: 'session-superseded' })
    expect((await refresh(newer.refreshToken, rules)).verdict).toBe('rotated')
    // An expired session does not count as newer.
    const past = new Date(Date.now() - 1_000)
    await database.db.updateTable('sessions').set({ not_after: past }).where('id', '=', newer.sessionId).execute()
    expect((await refresh(older.refreshToken, rules)).verdict).toBe('rotated')
  })

  it('refuses an old session of aal1 only for a user with a verified factor', async () => {
    const user = await createUser()
    const session = await open(user)
    await age(session.sessionId, 'created_at', 100)
    const rules = { lowAalSeconds: 60 }
    const factor = { user_id: user.id, factor_type: 'totp' }
    await database.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
    expect((await refresh(session.refreshToken, rules)).verdict).toBe('rotated')
    await database.db.updateTable('mfa_factors').set({ status: 'verified' }).where('user_id', '=', user.id).execute()
    const child = deriveChildToken(key, session.refreshToken)
    expect(await refresh(child, rules)).toEqual({ verdict: 'session-low-aal' })
    await database.db.updateTable('sessions').set({ aal: 'aal2' }).where('id', '=', session.sessionId).execute()
    expect((await refresh(child, rules)).verdict).toBe('rotated')
  })

  it('locks the user before the session, and gives up without writing anything', async () => {
    const user = await createUser()
    const session = await open(user)
    const outcome = await database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('users').select('id').where('id', '=', user.id).forNoKeyUpdate().execute()
      const refreshing = refresh(session.refreshToken)
      await untilSomebodyWaits()
      // This would deadlock if the refresh locked the session before the user.
      await trx.selectFrom('sessions').select('id').where('id', '=', session.sessionId).forUpdate().execute()
      return refreshing
    })
    expect(outcome).toEqual({ verdict: 'busy' })
    const tokens = await tokensOf(session.sessionId)
    expect(tokens.map(({ counter, revoked }) => [counter, revoked])).toEqual([[0n, false]])
  })
})

/** Resolves when a statement waits for a lock. */
async function untilSomebodyWaits(): Promise<void> {
  const { rows } = await sql<{ waiting: bigint }>`
    SELECT count(*) AS waiting FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE NOT l.granted AND a.datname = current_database()`.execute(database.db)
  if (rows[0]?.waiting === 0n) return untilSomebodyWaits()
}

describe('insertPasswordSession', () => {
  const signIn = (
    user: User,
    changes: { verifiedHash?: string; newHash?: string; provider?: 'email' | 'phone' } = {},
  ) =>
    insertPasswordSession(
      database.pools,
      {
        ...origin,
        userId: user.id,
        verifiedHash: 'hash',
        newHash: null,
        provider: 'email',
        tokenHash: hashRefreshToken(randomBytes(8).toString('hex')),
        ...changes,
      },
      { audit: true },
    )

  it('stores a session, the last sign-in and an audit entry', async () => {
    const user = await createUser({ encrypted_password: 'hash' })
    const result = await signIn(user, { newHash: 'better hash' })
    if (result.verdict !== 'done') throw new Error(result.verdict)
    const { user: seen, sessionId } = result.session
    expect(seen).toEqual({ ...user, passwordHash: null, lastSignInAt: anyTime, updatedAt: seen.lastSignInAt })
    expect(await tokensOf(sessionId)).toHaveLength(1)
    expect(await auditOf(user)).toEqual([
      {
        action: 'login',
        log_type: 'account',
        ip_address: '192.0.2.1',
        session_id: sessionId,
        payload: {
          actor_id: user.id,
          actor_username: user.email,
          actor_name: 'A User',
          actor_via_sso: false,
          action: 'login',
          log_type: 'account',
          traits: { provider: 'email' },
        },
      },
    ])
    expect((await signIn(user)).verdict).toBe('password-changed')
    expect((await signIn(user, { verifiedHash: 'better hash' })).verdict).toBe('done')
  })

  it.each([
    ['password-changed', { encrypted_password: 'another' }],
    ['password-changed', { encrypted_password: null }],
    ['password-changed', { encrypted_password: 'hash', staged_at: new Date() }],
    ['password-changed', { encrypted_password: 'hash', deleted_at: new Date() }],
    [
      'user-banned',
      { encrypted_password: 'hash', banned_until: new Date(Date.now() + 60_000), email_confirmed_at: null },
    ],
    ['email-not-confirmed', { encrypted_password: 'hash', email_confirmed_at: null }],
  ])('opens no session, %s: %j', async (verdict, changes) => {
    const user = await createUser(changes)
    expect(await signIn(user)).toEqual({ verdict })
    expect(await database.db.selectFrom('sessions').selectAll().where('user_id', '=', user.id).execute()).toEqual([])
    expect(await auditOf(user)).toEqual([])
  })

  it('phone-not-confirmed: refuses a sign-in by phone where only the email is confirmed', async () => {
    expect(await signIn(await createUser({ encrypted_password: 'hash' }), { provider: 'phone' })).toEqual({
      verdict: 'phone-not-confirmed',
    })
  })
})

describe('deleteSessionsInScope', () => {
  const signOut = (
    user: User,
    sessionId: string | null,
    scope: 'global' | 'local' | 'others',
    { liveSessionOnly } = { liveSessionOnly: false },
  ) =>
    deleteSessionsInScope(database.pools, {
      userId: user.id,
      audience: null,
      sessionId,
      scope,
      liveSessionOnly,
      ip: '192.0.2.1',
      audit: true,
    })
  const sessionsOf = async (user: User) =>
    (await database.db.selectFrom('sessions').select('id').where('user_id', '=', user.id).orderBy('id').execute()).map(
      ({ id }) => id,
    )

  it.each([
    ['global', []],
    ['local', [1, 2]],
    ['others', [0]],
  ] as const)('scope %s ends the sessions that it names, with their tokens', async (scope, left) => {
    const user = await createUser()
    const stranger = await open(await createUser())
    const sessions = [await open(user), await open(user), await open(user)]
    const own = sessions[0]?.sessionId ?? ''
    expect(await signOut(user, own, scope)).toBe('done')
    // The ids of sessions created in the same millisecond have no order.
    expect(await sessionsOf(user)).toEqual(left.map((index) => sessions[index]?.sessionId).sort())
    expect(await tokensOf(own)).toHaveLength(scope === 'others' ? 1 : 0)
    expect(await tokensOf(stranger.sessionId)).toHaveLength(1)
    expect((await auditOf(user)).map(({ action }) => action)).toEqual(['logout'])
  })

  it('ends all sessions for a token without a session, also when repeated', async () => {
    const user = await createUser()
    await open(user)
    expect(await signOut(user, null, 'others')).toBe('done')
    expect(await sessionsOf(user)).toEqual([])
    expect(await signOut(user, null, 'global')).toBe('done')
  })

  it('refuses an unknown user, a banned user and, where asked, an ended session', async () => {
    const user = await createUser()
    const session = await open(user)
    const banned = await createUser({ banned_until: new Date(Date.now() + 60_000) })
    const deleted = await createUser({ deleted_at: new Date() })
    expect(await signOut({ ...user, id: session.sessionId }, null, 'global')).toBe('user-not-found')
    expect(await signOut(deleted, null, 'global')).toBe('user-not-found')
    expect(await signOut(banned, null, 'global')).toBe('user-banned')
    expect(await signOut(user, session.sessionId, 'local', { liveSessionOnly: true })).toBe('done')
    expect(await signOut(user, session.sessionId, 'local', { liveSessionOnly: true })).toBe('session-not-found')
    expect(await signOut(user, session.sessionId, 'local')).toBe('done')
  })
})

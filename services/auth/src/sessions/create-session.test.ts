import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { type CountedPools, countPools } from '../../test/counted-pools.ts'
import type { User } from '../users/user.ts'
import { insertUser } from '../users/user-change-repository.ts'
import {
  batchPasswordSignIns,
  type PasswordSignIn,
  type PasswordSignInResult,
  type SignInByPassword,
} from './create-session.ts'

let database: TestDatabase
let signInByPassword: SignInByPassword
let batches: CountedPools['batches']
let count = 0

// This namespace gives the function its longest possible name.
beforeAll(async () => {
  database = await openTestDatabase('app')
  const counted = countPools(database.pools)
  batches = counted.batches
  signInByPassword = batchPasswordSignIns(counted.pools, { audit: true })
})
afterAll(() => database.drop())
beforeEach(() => {
  batches.length = 0
})

const createUser = (changes: Partial<Parameters<typeof insertUser>[1]> = {}): Promise<User> =>
  insertUser(database.db, {
    aud: 'authenticated',
    role: 'authenticated',
    email: `user${++count}@example.com`,
    email_confirmed_at: '2026-01-01T00:00:00.000001+00:00',
    encrypted_password: 'hash',
    ...changes,
  })
const createUsers = (many: number) => Promise.all(Array.from({ length: many }, () => createUser()))

const signIn = (user: User, changes: Partial<PasswordSignIn> = {}) =>
  signInByPassword({
    userId: user.id,
    verifiedHash: 'hash',
    newHash: null,
    provider: 'email',
    tokenHash: randomBytes(32),
    userAgent: 'test',
    ip: '192.0.2.1',
    ...changes,
  })
const verdicts = (results: readonly PasswordSignInResult[]) => results.map(({ verdict }) => verdict)
const sessionOf = (result: PasswordSignInResult | undefined) =>
  result?.verdict === 'done' ? result.session : expect.fail(`no session: ${result?.verdict}`)

describe('batchPasswordSignIns', () => {
  it('stores sign-ins that arrive together in one call, each for its own user', async () => {
    const users = await createUsers(20)
    const changes = users.map((_, index) => ({
      userAgent: index === 7 ? null : `agent, "${index}" \\ {}`,
      ip: index === 8 ? '' : `10.0.0.${index}`,
      newHash: index % 2 ? `better ${index}` : null,
      tokenHash: randomBytes(32),
    }))
    const results = await Promise.all(users.map((user, index) => signIn(user, changes[index])))
    expect(batches).toEqual([20])
    const sessions = results.map(sessionOf)
    expect(sessions.map(({ user }) => user.id)).toEqual(users.map(({ id }) => id))
    const { rows } = await sql<{ session_id: string }>`
      SELECT s.id AS session_id, s.user_agent, s.ip, t.token_hash, u.encrypted_password, a.ip_address
      FROM ${sql.table('sessions')} s
      JOIN ${sql.table('refresh_tokens')} t ON t.session_id = s.id
      JOIN ${sql.table('users')} u ON u.id = s.user_id
      JOIN ${sql.table('audit_log_entries')} a ON a.session_id = s.id`.execute(database.db)
    const stored = new Map(rows.map((row) => [row.session_id, row]))
    expect(sessions.map(({ sessionId }) => stored.get(sessionId))).toEqual(
      sessions.map(({ sessionId }, index) => ({
        session_id: sessionId,
        user_agent: changes[index]?.userAgent,
        ip: changes[index]?.ip || null,
        token_hash: changes[index]?.tokenHash,
        encrypted_password: changes[index]?.newHash ?? 'hash',
        ip_address: changes[index]?.ip,
      })),
    )
  })

  it('creates a session for each sign-in of one user', async () => {
    const [one, other] = [await createUser(), await createUser()]
    const results = await Promise.all([...Array<User>(9).fill(one), other].map((user) => signIn(user)))
    expect(batches).toEqual([10])
    expect(new Set(results.map((result) => sessionOf(result).sessionId)).size).toBe(10)
  })

  it('stores one of two new hashes of one password', async () => {
    const user = await createUser()
    const results = await Promise.all(['one', 'other'].map((newHash) => signIn(user, { newHash })))
    expect(batches).toEqual([2])
    expect(verdicts(results)).toEqual(['done', 'done'])
    const stored = await database.db
      .selectFrom('users')
      .select('encrypted_password')
      .where('id', '=', user.id)
      .execute()
    expect(['one', 'other']).toContain(stored[0]?.encrypted_password)
  })

  it('stores a sign-in that arrives alone at once', async () => {
    expect((await signIn(await createUser())).verdict).toBe('done')
    expect(batches).toEqual([1])
  })

  it('refuses one sign-in of a batch, and stores the others', async () => {
    const gone = await createUser()
    await database.db.deleteFrom('users').where('id', '=', gone.id).execute()
    const users = [
      await createUser(),
      await createUser({ encrypted_password: 'another' }),
      await createUser({ banned_until: new Date(Date.now() + 60_000) }),
      gone,
      await createUser({ email_confirmed_at: null }),
      await createUser(),
    ]
    const results = await Promise.all(users.map((user) => signIn(user)))
    expect(verdicts(results)).toEqual([
      'done',
      'password-changed',
      'user-banned',
      'password-changed',
      'email-not-confirmed',
      'done',
    ])
    // The batch returns nothing for a deleted user, so another call decides.
    expect(batches).toEqual([6, 'alone'])
  })

  it('delays no other sign-in for a user that another transaction has locked', async () => {
    const [held, ...others] = await createUsers(4)
    if (!held) throw new Error('nobody')
    const { waiting } = await database.db.transaction().execute(async (trx) => {
      await sql`SELECT FROM ${sql.table('users')} WHERE id = ${held.id} FOR UPDATE`.execute(trx)
      let isDone = false
      const late = signIn(held).finally(() => {
        isDone = true
      })
      expect(verdicts(await Promise.all(others.map((user) => signIn(user))))).toEqual(Array(3).fill('done'))
      expect(verdicts(await Promise.all(others.map((user) => signIn(user))))).toEqual(Array(3).fill('done'))
      expect(isDone).toBe(false)
      return { waiting: late }
    })
    expect((await waiting).verdict).toBe('done')
    expect(batches).toEqual([4, 'alone', 3])
  })

  it('repeats each sign-in alone when PostgreSQL refuses the statement for one of them', async () => {
    const users = await createUsers(3)
    const twice = randomBytes(32)
    const results = await Promise.allSettled(
      [...users, await createUser()].map((user, index) =>
        signIn(user, { tokenHash: index < 2 ? twice : randomBytes(32) }),
      ),
    )
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
    // PostgreSQL reports the refusal before it releases the locks. A sign-in that meets these locks is called again, alone.
    expect(batches.filter((size) => size !== 'alone')).toEqual([4, 1, 1, 1, 1])
  })
})

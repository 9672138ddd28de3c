import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { lenientRules } from '../../test/refresh-rules.ts'
import { insertUser } from '../users/user-change-repository.ts'
import { createSession } from './create-session.ts'
import { rotate, type TokenFamily } from './refresh-session.model.ts'
import { type RefreshRules, updateSession } from './refresh-session.ts'
import { deriveChildToken, deriveRefreshTokenKey, hashRefreshToken } from './session.ts'

let database: TestDatabase
let userId: string
let seed = 0

beforeAll(async () => {
  database = await openTestDatabase()
  userId = (await insertUser(database.db, { aud: 'authenticated', role: 'authenticated', email: 'a@example.com' })).id
})
afterAll(() => database.drop())

const origin = { userAgent: 'test', ip: '192.0.2.1' }
const keys = ['first secret', 'second secret'].map(deriveRefreshTokenKey)
const randomBytes = (size: number) => Buffer.alloc(size, seed++ % 256).fill(String(seed), 0, 8)

const NEWEST = { kind: 'newest' as const }

/** A step of an honest or malicious client. Tokens are identified by their position in the chain. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant(NEWEST) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('nth' as const), back: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unknown' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(300, 1_100) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('new secret' as const) }) },
)

describe('refresh_session and its model', () => {
  it('decides as refresh_session does, whatever clients do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }).map((steps) => [NEWEST, NEWEST, ...steps]),
        fc.constantFrom(true, true, true, false),
        fc.constantFrom(1_000, 1_000, 1_000, 0),
        async (steps, revokeFamily, reuseSeconds) => {
          const rules: RefreshRules = { ...lenientRules, revokeFamily, reuseSeconds }
          const first = await createSession(
            database.db,
            { randomBytes },
            { id: userId },
            { ...origin, method: 'password', credentialSince: null },
          )
          let family: TokenFamily = [{ token: first.refreshToken, revoked: false, updatedAt: 0 }]
          let now = 0
          let key = keys[0] ?? deriveRefreshTokenKey('')
          for (const { kind, ...rest } of steps) {
            if (kind === 'new secret') key = key === keys[0] ? (keys[1] ?? key) : (keys[0] ?? key)
            else if (kind === 'wait' && 'seconds' in rest) {
              now += rest.seconds * 1_000
              await letPass(first.sessionId, rest.seconds)
            } else {
              const back = 'back' in rest ? rest.back : 0
              const token = kind === 'unknown' ? 'x'.repeat(32) : ((family.at(-1 - back) ?? family[0])?.token ?? '')
              const child = deriveChildToken(key, token)
              // The model's clock stands still while the database's clock runs. The total wait of a test stays below any interval
              const model = rotate(family, { token, child, now }, { revokeFamily, reuseMs: reuseSeconds * 1_000 - 1 })
              const actual = await refresh(token, child, rules)
              expect(actual.verdict).toBe(model.verdict)
              family = model.family
              expect(await storedFamily(first.sessionId)).toEqual(
                family.map((known) => ({
                  hash: hashRefreshToken(known.token).toString('hex'),
                  revoked: known.revoked,
                })),
              )
            }
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

function refresh(token: string, child: string, rules: RefreshRules) {
  return updateSession(database.pools, {
    ...origin,
    ...rules,
    tokenHash: hashRefreshToken(token),
    childHash: hashRefreshToken(child),
  })
}

async function letPass(sessionId: string, seconds: number): Promise<void> {
  await database.db
    .updateTable('refresh_tokens')
    .set({ updated_at: sql<string>`updated_at - make_interval(secs => ${seconds})` })
    .where('session_id', '=', sessionId)
    .execute()
}

async function storedFamily(sessionId: string) {
  const rows = await database.db
    .selectFrom('refresh_tokens')
    .select(['token_hash', 'revoked'])
    .where('session_id', '=', sessionId)
    .orderBy('counter')
    .execute()
  return rows.map(({ token_hash, revoked }) => ({ hash: token_hash.toString('hex'), revoked }))
}

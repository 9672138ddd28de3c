import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/auth-database.ts'
import { factorRow } from '../../test/factor-row.ts'
import { insertUser } from '../users/user-change-repository.ts'
import {
  claimFactorAnswer,
  countFactorAttempt,
  deleteExpiredFactors,
  hasVerifiedFactor,
  insertFactor,
  listFactors,
  lockFactor,
} from './factor-repository.ts'

const database = await openTestDatabase()
const { db } = database
afterAll(() => database.drop())

const now = new Date('2026-01-02T03:04:05Z')
const later = (seconds: number) => new Date(now.getTime() + seconds * 1_000)
let people = 0

interface Use {
  readonly before: number
  readonly after: number
  readonly id?: string
}

async function newUser(): Promise<string> {
  return (await insertUser(db, { aud: 'authenticated', role: 'authenticated', email: `owner${++people}@example.com` }))
    .id
}

/** Creates a user and stores a factor of this user. */
async function add(values: Omit<Parameters<typeof factorRow>[0], 'user_id'> = {}) {
  const userId = await newUser()
  return { userId, factor: await insertFactor(db, factorRow({ user_id: userId, created_at: now, ...values })) }
}

describe('an attempt at a factor', () => {
  it('has to wait after a hundred failures: a quarter of an hour, and twice as long after ten further failures', async () => {
    const { userId, factor } = await add()
    const attempt = (at: Date) => countFactorAttempt(db, { ...factor, userId }, { now: at, network: undefined })
    for (let i = 0; i < 100; i += 1) expect(await attempt(now)).toBe(true)
    expect([await attempt(later(899)), await attempt(later(900))]).toEqual([false, true])
    await db.updateTable('mfa_factors').set({ guesses: 110, guessed_at: now }).where('id', '=', factor.id).execute()
    expect([await attempt(later(1_799)), await attempt(later(1_800))]).toEqual([false, true])
    await db.updateTable('mfa_factors').set({ guesses: 10_000, guessed_at: now }).where('id', '=', factor.id).execute()
    expect([await attempt(later(86_399)), await attempt(later(86_400))]).toEqual([false, true])
  })

  it('does not wait in the network of a session with a second factor', async () => {
    const { userId, factor } = await add({ guesses: 10_000, guessed_at: now })
    const attempt = (network: string) => countFactorAttempt(db, { ...factor, userId }, { now, network })
    await sql`INSERT INTO ${sql.table('sessions')} (id, user_id, aal, ip) VALUES (gen_random_uuid(), ${userId}, 'aal1', '192.0.2.1')`.execute(
      db,
    )
    expect(await attempt('192.0.2.0/24')).toBe(false)
    await db.updateTable('sessions').set({ aal: 'aal2' }).where('user_id', '=', userId).execute()
    expect([await attempt('198.51.100.0/24'), await attempt('192.0.2.0/24')]).toEqual([false, true])
  })
})

describe('a right answer of a factor', () => {
  it('verifies its factor', async () => {
    const { userId, factor } = await add()
    expect(await hasVerifiedFactor(db, userId)).toBe(false)
    expect(await claimFactorAnswer(db, { id: factor.id, now })).toBe(true)
    expect(await hasVerifiedFactor(db, userId)).toBe(true)
  })

  it('is accepted once for each step of an authenticator app, however many arrive at once', async () => {
    const { factor } = await add()
    const accept = (step: number) => claimFactorAnswer(db, { id: factor.id, step, now })
    const accepted = await Promise.all(Array.from({ length: 10 }, () => accept(7)))
    expect(accepted.filter(Boolean)).toHaveLength(1)
    expect([await accept(6), await accept(7), await accept(8)]).toEqual([false, false, true])
  })

  it.each([
    ['accepted: a higher counter', { before: 5, after: 6 }, true],
    ['refused: the same counter', { before: 5, after: 5 }, false],
    ['refused: a lower counter', { before: 5, after: 4 }, false],
    ['accepted: an authenticator that never counts', { before: 0, after: 0 }, true],
    ['refused: an authenticator that counts no longer', { before: 5, after: 0 }, false],
    ['refused: another credential', { before: 5, after: 6, id: 'other' }, false],
  ])('of a credential is %s', async (_name, { before, after, id = 'key' }: Use, accepted) => {
    const { factor } = await add({ factor_type: 'webauthn' })
    const use = (name: string, counter: number) => {
      const credential = { id: name, publicKey: 'key', counter, transports: [], backupEligible: false }
      return claimFactorAnswer(db, { id: factor.id, credential, now })
    }
    expect([await use('key', before), await use(id, after)]).toEqual([true, accepted])
  })
})

describe('factors of a user', () => {
  it('are deleted as expired only while nobody has challenged or verified them', async () => {
    const { userId } = await add()
    const of = (values: object) => insertFactor(db, factorRow({ user_id: userId, created_at: now, ...values }))
    const verified = await of({ status: 'verified', friendly_name: 'verified' })
    const challenged = await of({ friendly_name: 'challenged' })
    await sql`INSERT INTO ${sql.table('mfa_challenges')} (id, factor_id, created_at) VALUES (gen_random_uuid(), ${challenged.id}, ${now})`.execute(
      db,
    )
    const fresh = await of({ friendly_name: 'fresh', created_at: later(1) })
    await deleteExpiredFactors(db, userId, later(1))
    const left = await listFactors(db, userId)
    expect(new Set(left.map(({ id }) => id))).toEqual(new Set([verified.id, challenged.id, fresh.id]))
  })

  it('are locked for their user alone', async () => {
    const { userId, factor } = await add()
    const stranger = await newUser()
    const lock = (owner: string) => db.transaction().execute((trx) => lockFactor(trx, owner, factor.id))
    expect([await lock(userId), await lock(stranger)]).toEqual([factor, undefined])
  })
})

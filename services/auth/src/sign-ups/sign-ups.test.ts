import { randomBytes, randomUUID } from 'node:crypto'
import type { Pools } from '@trestle/database/pools.ts'
import { compilePrepared } from '@trestle/database/prepare.ts'
import { CompiledQuery, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { type CountedPools, countPools } from '../../test/counted-pools.ts'
import {
  batchSignUps,
  type InsertSignUp,
  insertSignUps,
  type SignUp,
  type SignUpOutcome,
} from './sign-up-repository.ts'

let database: TestDatabase
let insert: InsertSignUp
let batches: CountedPools['batches']
let count = 0

// The namespace makes the name of the function as long as possible.
beforeAll(async () => {
  database = await openTestDatabase('app')
  const counted = countPools(database.pools)
  batches = counted.batches
  insert = batchSignUps(counted.pools)
})
afterAll(() => database.drop())
beforeEach(() => {
  batches.length = 0
})

function newSignUp(changes: Partial<SignUp> = {}): SignUp {
  count += 1
  const userId = randomUUID()
  return {
    userId,
    identityId: randomUUID(),
    email: `user${count}@example.com`,
    phone: null,
    audience: 'authenticated',
    role: 'authenticated',
    passwordHash: `hash ${count}`,
    data: {},
    identityData: { sub: userId },
    now: new Date(Date.UTC(2026, 0, 1) + count),
    confirmation: undefined,
    tokenHash: randomBytes(32),
    userAgent: 'test',
    ip: '192.0.2.1',
    audit: true,
    ...changes,
  }
}
const newSignUps = (many: number) => Array.from({ length: many }, () => newSignUp())
const signUp = (inputs: readonly SignUp[]) => Promise.all(inputs.map((input) => insert(input)))
const verdicts = (outcomes: readonly SignUpOutcome[]) => outcomes.map(({ verdict }) => verdict)

describe('batchSignUps', () => {
  it('stores sign-ups that arrive together in one call, each with its own values', async () => {
    const inputs = Array.from({ length: 20 }, (_, index) =>
      newSignUp({
        ...(index % 3 ? {} : { email: null, phone: `1415555${1000 + index}` }),
        data: { full_name: `A "User" \\ {${index}}`, nothing: null },
        userAgent: index === 7 ? null : `agent, "${index}" \\ {}`,
        ip: index === 8 ? '' : `10.0.0.${index}`,
        audit: index !== 9,
      }),
    )
    const outcomes = await signUp(inputs)
    expect(batches).toEqual([20])
    const { rows } = await sql<{ id: string }>`
      SELECT u.id, u.email, u.phone, u.encrypted_password, u.raw_user_meta_data, u.created_at, i.id AS identity_id,
        i.identity_data, s.id AS session_id, s.user_agent, s.ip, t.token_hash, a.action, a.ip_address
      FROM ${sql.table('users')} u
      JOIN ${sql.table('identities')} i ON i.user_id = u.id
      JOIN ${sql.table('sessions')} s ON s.user_id = u.id
      JOIN ${sql.table('refresh_tokens')} t ON t.session_id = s.id
      LEFT JOIN ${sql.table('audit_log_entries')} a ON a.actor_id = u.id`.execute(database.db)
    const stored = new Map(rows.map((row) => [row.id, row]))
    expect(inputs.map(({ userId }) => stored.get(userId))).toEqual(
      inputs.map((input, index) => {
        const outcome = outcomes[index]
        return {
          id: input.userId,
          email: input.email,
          phone: input.phone,
          encrypted_password: input.passwordHash,
          raw_user_meta_data: input.data,
          created_at: input.now.toISOString().replace('Z', '000+00:00'),
          identity_id: input.identityId,
          identity_data: input.identityData,
          session_id: outcome?.verdict === 'signed-in' ? outcome.session.sessionId : expect.fail(outcome?.verdict),
          user_agent: input.userAgent,
          ip: input.ip || null,
          token_hash: input.tokenHash,
          action: input.audit ? 'user_signedup' : null,
          ip_address: input.audit ? input.ip : null,
        }
      }),
    )
  })

  it('stores a sign-up in a call of its own when it arrives alone, has no identifier or needs a confirmation', async () => {
    expect(verdicts(await signUp([newSignUp()]))).toEqual(['signed-in'])
    expect(batches).toEqual([1])
    expect(verdicts(await signUp([newSignUp({ email: null })]))).toEqual(['signed-in'])
    expect(batches).toEqual([1, 'alone'])
    const secrets = {
      kind: 'confirmation',
      identifier: 'somebody@example.com',
      linkHash: randomBytes(32),
      codeHash: randomBytes(32),
      codeSalt: randomBytes(16),
      sentAt: new Date(),
      expiresAt: new Date(Date.now() + 60_000),
    } as const
    const interval = { key: randomBytes(32), kind: 'confirmation', dueBefore: new Date() } as const
    const confirmation = { interval, secrets, pkce: undefined, message: undefined, messageAgain: undefined }
    expect(verdicts(await signUp([newSignUp({ confirmation }), newSignUp({ confirmation })]))).toEqual(['sent', 'sent'])
    expect(batches).toEqual([1, 'alone', 'alone', 'alone'])
  })

  it('gives an identifier to one of several sign-ups in a batch', async () => {
    const email = 'wanted@example.com'
    const outcomes = await signUp([newSignUp({ email }), newSignUp(), newSignUp({ email }), newSignUp({ email })])
    expect(batches).toEqual([4, 'alone', 'alone'])
    expect(verdicts(outcomes).sort()).toEqual(['signed-in', 'signed-in', 'taken', 'taken'])
    const [first] = await database.db.selectFrom('users').select('id').where('email', '=', email).execute()
    expect(outcomes.filter(({ verdict }) => verdict === 'taken').map(({ actorId }) => actorId)).toEqual([
      first?.id,
      first?.id,
    ])
  })

  it('judges a sign-up with a taken identifier alone and delays no other', async () => {
    const owners = [newSignUp(), newSignUp({ email: null, phone: '14155550199' })]
    const [owner] = owners
    await signUp(owners)
    batches.length = 0
    const { waiting } = await database.db.transaction().execute(async (trx) => {
      await sql`SELECT FROM ${sql.table('users')} WHERE id = ${owner?.userId} FOR UPDATE`.execute(trx)
      const late = signUp(owners.map(({ email, phone }) => newSignUp({ email, phone })))
      expect(verdicts(await signUp(newSignUps(3)))).toEqual(Array(3).fill('signed-in'))
      return { waiting: late }
    })
    expect(verdicts(await waiting)).toEqual(['taken', 'taken'])
    expect(batches).toEqual([5, 'alone', 'alone'])
  })

  it('repeats each sign-up alone when PostgreSQL refuses the statement for one of them', async () => {
    const tokenHash = randomBytes(32)
    const outcomes = await Promise.allSettled(
      [newSignUp({ tokenHash }), newSignUp({ tokenHash }), newSignUp()].map((input) => insert(input)),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(batches).toEqual([3, 1, 1, 1])
  })

  it('waits half a second for an identifier that another transaction has locked, and then judges each sign-up alone', async () => {
    const inputs = newSignUps(3)
    const held = { id: randomUUID(), aud: 'authenticated', role: 'authenticated', email: inputs[1]?.email ?? null }
    const late = Promise.withResolvers<Promise<readonly SignUpOutcome[]>[]>()
    const rollback = database.db.transaction().execute(async (trx) => {
      await trx.insertInto('users').values(held).execute()
      const [first, second, third] = inputs.map((input) => signUp([input]))
      if (!first || !second || !third) throw new Error('nobody')
      late.resolve([second])
      expect(verdicts((await Promise.all([first, third])).flat())).toEqual(['signed-in', 'signed-in'])
      throw new Error('roll back')
    })
    await expect(rollback).rejects.toThrow('roll back')
    expect(verdicts((await Promise.all(await late.promise)).flat())).toEqual(['signed-in'])
    expect(batches).toEqual([3, 'alone', 'alone', 'alone'])
  })

  it('inserts in the order of the identifiers, so that two batches never deadlock', async () => {
    const inputs = newSignUps(9)
    const others = inputs.map(({ email }) => newSignUp({ email })).reverse()
    const middle = { id: randomUUID(), aud: 'authenticated', role: 'authenticated', email: inputs[4]?.email ?? null }
    const both = Promise.withResolvers<Promise<readonly (SignUpOutcome | undefined)[]>[]>()
    // Remove the lock timeout of half a second, so that the test does not depend on the speed of the other batch.
    await setLockTimeout('0')
    onTestFinished(() => setLockTimeout('500ms'))
    const rollback = database.db.transaction().execute(async (trx) => {
      await trx.insertInto('users').values(middle).execute()
      both.resolve([inputs, others].map((batch) => insertSignUps(withoutRepeats(), batch)))
      await untilBothWait()
      throw new Error('roll back')
    })
    await expect(rollback).rejects.toThrow('roll back')
    const outcomes = (await Promise.all(await both.promise)).flat()
    expect(outcomes.map((outcome) => outcome?.verdict).sort()).toEqual([
      ...Array(9).fill('signed-in'),
      ...Array(9).fill(undefined),
    ])
  })
})

/** Sets the lock timeout of `sign_ups`. */
async function setLockTimeout(timeout: string): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    // The functions belong to the role that connects, not to the role of the service.
    await sql`SET LOCAL ROLE NONE`.execute(trx)
    await sql`ALTER FUNCTION ${sql.table('sign_ups')} SET lock_timeout = ${sql.lit(timeout)}`.execute(trx)
  })
}

/** Returns pools that report a lost conflict instead of running the transaction again. */
function withoutRepeats(): Pools {
  const { db, pools } = database
  return {
    ...pools,
    write: {
      ...pools.write,
      all: async (query, input) => {
        const { text, values } = compilePrepared(query, db)
        const call = db.executeQuery<never>(CompiledQuery.raw(text, values(input)))
        const { rows } = await call.catch((cause: unknown) => {
          throw new Error('refused', { cause })
        })
        return rows
      },
    },
  }
}

async function untilBothWait(): Promise<void> {
  const waiting = async () => {
    const { rows } = await sql<{ count: bigint }>`
      SELECT count(DISTINCT l.pid) AS count FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE NOT l.granted AND a.datname = current_database()`.execute(database.db)
    return rows[0]?.count
  }
  await expect.poll(waiting, { interval: 5 }).toBe(2n)
}

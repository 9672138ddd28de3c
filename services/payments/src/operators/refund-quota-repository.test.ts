import { randomUUID } from 'node:crypto'
import type { Operator } from '@trestle/operators/operator.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actorOf } from '../../test/operators.ts'
import { openTestDatabase } from '../../test/payments-app.ts'
import type { Db, Trx } from '../database.ts'
import { callUseQuota, claimQuota, returnQuota, runWithinQuota } from './refund-quota-repository.ts'

let database: Awaited<ReturnType<typeof openTestDatabase>>
let db: Db
beforeAll(async () => {
  // The lock timeout is long, because parallel refunds of one operator wait for each other.
  database = await openTestDatabase({ lockTimeoutMs: 30_000 })
  db = database.operators.db
})
afterAll(() => database.close())

const wanted = (actorId: string, changes: object = {}) => ({
  actorId,
  key: randomUUID(),
  currency: 'EUR',
  amount: 300,
  daily: 1_000,
  ...changes,
})
const takenBy = async (actorId: string) => {
  const query = database.owner.db.selectFrom('operator_allowances').select(['currency', 'taken'])
  return (await query.where('actor_id', '=', actorId).orderBy('currency').execute()).map(({ currency, taken }) => [
    currency,
    Number(taken),
  ])
}

describe('a refund quota', () => {
  it('is taken up to the limit of the day, and says what is left', async () => {
    const ann = randomUUID()
    const verdicts = [
      await claimQuota(db, wanted(ann)),
      await claimQuota(db, wanted(ann)),
      await claimQuota(db, wanted(ann, { amount: 401 })),
      await claimQuota(db, wanted(ann, { amount: 400 })),
      await claimQuota(db, wanted(ann, { amount: 1 })),
    ]
    expect(verdicts).toEqual([
      { verdict: 'taken' },
      { verdict: 'taken' },
      { verdict: 'exceeded', remaining: 400 },
      { verdict: 'taken' },
      { verdict: 'exceeded', remaining: 0 },
    ])
    expect(await takenBy(ann)).toEqual([['EUR', 1_000]])
  })

  it('is not taken at first when the limit is below it', async () => {
    const ann = randomUUID()
    const refused = { verdict: 'exceeded', remaining: 1_000 }
    expect(await claimQuota(db, wanted(ann, { amount: 1_001 }))).toEqual(refused)
    expect(await takenBy(ann)).toEqual([])
  })

  it('belongs to one operator and one currency', async () => {
    const [ann, bob] = [randomUUID(), randomUUID()]
    for (const [actor, currency] of [
      [ann, 'EUR'],
      [ann, 'DKK'],
      [bob, 'EUR'],
    ] as const)
      expect(await claimQuota(db, wanted(actor, { currency, amount: 1_000 }))).toEqual({ verdict: 'taken' })
    expect([await takenBy(ann), await takenBy(bob)]).toEqual([
      [
        ['DKK', 1_000],
        ['EUR', 1_000],
      ],
      [['EUR', 1_000]],
    ])
  })

  it('is taken once under a key, however often it is asked for, and never for something else', async () => {
    const ann = randomUUID()
    const refund = wanted(ann)
    const repeats = await Promise.all(Array.from({ length: 8 }, () => claimQuota(db, refund)))
    expect(repeats).toEqual(Array.from({ length: 8 }, () => ({ verdict: 'taken' })))
    expect(await claimQuota(db, { ...refund, amount: 1 })).toEqual({ verdict: 'key-mismatch' })
    expect(await takenBy(ann)).toEqual([['EUR', 300]])
  })

  it('is kept by a refund that is made, whatever a repeat counts for', async () => {
    const ann = randomUUID()
    const refund = wanted(ann)
    await claimQuota(db, refund)
    await db.transaction().execute((trx) => callUseQuota(trx, refund))
    expect(await claimQuota(db, { ...refund, amount: 1 })).toEqual({ verdict: 'taken' })
    expect(await claimQuota(db, { ...refund, currency: 'DKK' })).toEqual({ verdict: 'key-mismatch' })
    expect(await takenBy(ann)).toEqual([['EUR', 300]])
  })

  it('is never passed by parallel refunds together', async () => {
    const ann = randomUUID()
    const verdicts = await Promise.all(Array.from({ length: 40 }, () => claimQuota(db, wanted(ann, { amount: 70 }))))
    expect(verdicts.filter(({ verdict }) => verdict === 'taken')).toHaveLength(14)
    expect(await takenBy(ann)).toEqual([['EUR', 980]])
  })

  it('is taken by both of two repeats, one of which gives back what an earlier refund has left', async () => {
    const ann = randomUUID()
    await claimQuota(db, wanted(ann))
    const { db: owner } = database.owner
    const aged = owner.updateTable('allowance_uses').set({ created: sql`created - interval '2 minutes'` })
    await aged.where('actor_id', '=', ann).execute()
    const waiting = async () => {
      const { rows } = await sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(owner)
      return rows.length
    }
    const held = await owner.startTransaction().execute()
    await held.selectFrom('operator_allowances').select('taken').where('actor_id', '=', ann).forUpdate().execute()
    const repeat = wanted(ann)
    const answers = []
    for (const count of [1, 2]) {
      answers.push(claimQuota(db, repeat))
      await expect.poll(waiting).toBe(count)
    }
    await held.commit().execute()
    expect(await Promise.all(answers)).toEqual([{ verdict: 'taken' }, { verdict: 'taken' }])
    expect(await takenBy(ann)).toEqual([['EUR', 300]])
  })

  it('is given back once, and not when it was used', async () => {
    const ann = randomUUID()
    const [refused, made] = [wanted(ann), wanted(ann)]
    for (const refund of [refused, made]) await claimQuota(db, refund)
    expect(await db.transaction().execute((trx) => callUseQuota(trx, made))).toBe(true)
    const given = [await returnQuota(db, refused), await returnQuota(db, refused), await returnQuota(db, made)]
    expect(given).toEqual([true, false, false])
    expect(await takenBy(ann)).toEqual([['EUR', 300]])
    expect(await db.transaction().execute((trx) => callUseQuota(trx, refused))).toBe(false)
  })
})

describe('a refund quota of an old key', () => {
  const isOld = ({ actorId, key }: { readonly actorId: string; readonly key: string }) =>
    sql`UPDATE ${sql.table('allowance_uses')} SET created = created - interval '25 hours', day = day - 1
      WHERE actor_id = ${actorId} AND key = ${key}`.execute(database.owner.db)

  it('is used once, so that a second refund by it is refused', async () => {
    const refund = wanted(randomUUID())
    await claimQuota(db, refund)
    const use = () => db.transaction().execute((trx) => callUseQuota(trx, refund))
    expect([await use(), await use()]).toEqual([true, false])
  })

  it('is taken of the new day a day later, also while more than a hundred older uses wait for their deletion', async () => {
    const ann = randomUUID()
    const old = Array.from({ length: 110 }, () => wanted(ann, { amount: 1 }))
    for (const each of old) {
      await claimQuota(db, each)
      await isOld(each)
    }
    const refund = wanted(ann, { amount: 500 })
    await claimQuota(db, refund)
    await isOld(refund)
    await sql`UPDATE ${sql.table('operator_allowances')} SET day = day - 1 WHERE actor_id = ${ann}`.execute(
      database.owner.db,
    )
    expect(await claimQuota(db, { ...refund, daily: 499 })).toEqual({ verdict: 'exceeded', remaining: 499 })
    expect(await claimQuota(db, refund)).toEqual({ verdict: 'taken' })
    const use = () => db.transaction().execute((trx) => callUseQuota(trx, refund))
    expect([await use(), await use()]).toEqual([true, false])
  })
})

describe('a refund within a refund quota', () => {
  const limits = { once: new Map([['EUR', 500]]), daily: new Map([['EUR', 1_000]]) }
  const support = (): Operator => ({
    key: 'desk',
    role: 'support',
    actor: { ...actorOf('support'), id: randomUUID() },
    address: '192.0.2.1',
  })
  const make = (use: (trx: Trx) => Promise<boolean>) => db.transaction().execute(use)
  const refuse = (): Promise<never> => Promise.reject(new Error('refused'))

  /** Runs `work` while the database fails to give quotas back. */
  const withoutReturn = async (work: () => Promise<void>) => {
    const { db: owner } = database.owner
    await sql`ALTER FUNCTION ${sql.table('return_allowance')}(text, text) RENAME TO return_nothing`.execute(owner)
    try {
      await work()
    } finally {
      await sql`ALTER FUNCTION ${sql.table('return_nothing')}(text, text) RENAME TO return_allowance`.execute(owner)
    }
  }

  it('is made, and keeps what it has taken', async () => {
    const operator = support()
    const refund = { operator, key: 'k', currency: 'EUR', amount: 500 }
    expect(await runWithinQuota(db, limits, refund, make)).toEqual({ verdict: 'done', done: true })
    expect(await takenBy(operator.actor.id)).toEqual([['EUR', 500]])
  })

  it('gives back what it has taken when it is refused', async () => {
    const operator = support()
    const refund = { operator, key: 'k', currency: 'EUR', amount: 500 }
    await expect(runWithinQuota(db, limits, refund, refuse)).rejects.toThrow('refused')
    expect(await takenBy(operator.actor.id)).toEqual([['EUR', 0]])
  })

  it('keeps the reason of its refusal when nothing can be given back, which the next refund does after a minute', async () => {
    const operator = support()
    const refund = { operator, key: 'k', currency: 'EUR', amount: 500 }
    await withoutReturn(async () => {
      await expect(runWithinQuota(db, limits, refund, refuse)).rejects.toThrow('refused')
    })
    const next = { actorId: operator.actor.id, key: 'next', currency: 'EUR', amount: 1_000, daily: 1_000 }
    expect(await claimQuota(db, next)).toEqual({ verdict: 'exceeded', remaining: 500 })
    await sql`UPDATE ${sql.table('allowance_uses')} SET created = created - interval '61 seconds'
      WHERE actor_id = ${operator.actor.id}`.execute(database.owner.db)
    expect(await claimQuota(db, next)).toEqual({ verdict: 'taken' })
    expect(await takenBy(operator.actor.id)).toEqual([['EUR', 1_000]])
    // The claim of the first refund is too old, so its quota was given back.
    expect(await db.transaction().execute((trx) => callUseQuota(trx, { ...next, key: 'k' }))).toBe(false)
  })

  it('is done also when nothing could be given back', async () => {
    const operator = support()
    const refund = { operator, key: 'k', currency: 'EUR', amount: 500 }
    const repeat = async () => 'the first answer'
    await withoutReturn(async () => {
      expect(await runWithinQuota(db, limits, refund, repeat)).toEqual({
        verdict: 'done',
        done: 'the first answer',
      })
    })
  })

  it('keeps what a used refund quota has taken, however old it is', async () => {
    const operator = support()
    await runWithinQuota(db, limits, { operator, key: 'k', currency: 'EUR', amount: 500 }, make)
    await sql`UPDATE ${sql.table('allowance_uses')} SET created = created - interval '1 hour'
      WHERE actor_id = ${operator.actor.id}`.execute(database.owner.db)
    await runWithinQuota(db, limits, { operator, key: 'next', currency: 'EUR', amount: 300 }, make)
    expect(await takenBy(operator.actor.id)).toEqual([['EUR', 800]])
  })

  it('keeps what a repeat has used while the first request was refused', async () => {
    const operator = support()
    const refund = { operator, key: 'k', currency: 'EUR', amount: 500 }
    const first = runWithinQuota(db, limits, refund, async () => {
      await runWithinQuota(db, limits, refund, make)
      return refuse()
    })
    await expect(first).rejects.toThrow('refused')
    expect(await takenBy(operator.actor.id)).toEqual([['EUR', 500]])
  })

  it('leaves nothing taken by a repeat of a refund that an older day paid for', async () => {
    const operator = support()
    const refund = { operator, key: 'k', currency: 'EUR', amount: 500 }
    // The answer and the quota claim are stored for the same time. Clean-up may delete either of them first.
    const repeat = async () => 'the first answer'
    expect(await runWithinQuota(db, limits, refund, repeat)).toEqual({ verdict: 'done', done: 'the first answer' })
    expect(await takenBy(operator.actor.id)).toEqual([['EUR', 0]])
  })

  it('is not made beyond a limit, or in a currency without one', async () => {
    const operator = support()
    const outcomeOf = (changes: object) =>
      runWithinQuota(db, limits, { operator, key: randomUUID(), currency: 'EUR', amount: 400, ...changes }, make)
    expect([
      await outcomeOf({ amount: 501 }),
      await outcomeOf({ currency: 'DKK' }),
      await outcomeOf({}),
      await outcomeOf({}),
      await outcomeOf({}),
    ]).toEqual([
      { verdict: 'exceeded', limit: 500, left: 1_000 },
      { verdict: 'not-allowed' },
      { verdict: 'done', done: true },
      { verdict: 'done', done: true },
      { verdict: 'exceeded', limit: 500, left: 200 },
    ])
  })

  it('needs no refund quota when an admin makes it', async () => {
    const operator: Operator = { ...support(), role: 'admin' }
    const refund = { operator, key: 'k', currency: 'GBP', amount: 100_000 }
    expect(await runWithinQuota(db, limits, refund, make)).toEqual({ verdict: 'done', done: true })
    expect(await takenBy(operator.actor.id)).toEqual([])
  })
})

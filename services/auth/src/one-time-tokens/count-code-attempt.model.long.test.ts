import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { createSession } from '../sessions/create-session.ts'
import { insertUser } from '../users/user-change-repository.ts'
import {
  type AttemptCounts,
  type CountedAttempts,
  countOne,
  isCompared,
  type ModelAttempt,
} from './count-code-attempt.model.ts'
import { countCodeAttempt, replaceToken } from './one-time-token-repository.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.drop())

const NOW = Date.parse('2026-01-02T03:04:05Z')
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const ago = (minutes: number) => NOW - minutes * MINUTE_MS

const fresh = { ofCode: 0, ofAddress: undefined, ofNetwork: undefined }
const attempt = { attemptsMax: 5, isKnownNetwork: false, now: NOW }
const spent = { ...fresh, ofAddress: { attempts: 100, since: ago(14) } }
const quarter = { ...fresh, ofAddress: { attempts: 100, since: ago(15) } }

/** Whether an attempt is compared, given the earlier counts. */
const cases: [string, boolean, AttemptCounts, ModelAttempt][] = [
  ['the first attempt', true, fresh, attempt],
  ['the last attempt at its code', true, { ...fresh, ofCode: 4 }, attempt],
  ['an attempt beyond those at its code', false, { ...fresh, ofCode: 5 }, attempt],
  ['any attempt where none is compared', false, fresh, { ...attempt, attemptsMax: 0 }],
  ['the hundredth attempt of a day', true, { ...fresh, ofAddress: { attempts: 99, since: NOW } }, attempt],
  ['the next one within a quarter of an hour', false, spent, attempt],
  ['the next one after a quarter of an hour', true, quarter, attempt],
  ['a second one after it', false, { ...quarter, ofAddress: { attempts: 101, since: ago(15) } }, attempt],
  ['the same from a network with two attempts', true, { ...quarter, ofNetwork: { attempts: 2, since: NOW } }, attempt],
  ['the same from a network with three', false, { ...quarter, ofNetwork: { attempts: 3, since: NOW } }, attempt],
  ['the same with three of yesterday', true, { ...quarter, ofNetwork: { attempts: 3, since: ago(1_440) } }, attempt],
  ['one from a network where the user has a session', true, spent, { ...attempt, isKnownNetwork: true }],
  ['one a day after the first', true, { ...fresh, ofAddress: { attempts: 500, since: ago(1_440) } }, attempt],
  ['one a moment earlier', false, { ...fresh, ofAddress: { attempts: 500, since: ago(1_440) + 1 } }, attempt],
]

describe('isCompared', () => {
  it.each(cases)('%s: compared is %s', (_, expected, counts, asked) => {
    expect(isCompared(counts, asked)).toBe(expected)
  })
})

/** The origin of an attempt. */
type Place = 'known network' | 'network' | 'many'

const counted = fc.option(
  fc.record({
    attempts: fc.oneof(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 97, max: 103 }),
      fc.integer({ min: 97, max: 200 }),
    ),
    since: fc.oneof(fc.integer({ min: 0, max: 61 }), fc.integer({ min: 1_430, max: 1_450 })).map(ago),
  }),
  { nil: undefined },
)
const start: fc.Arbitrary<AttemptCounts> = fc.record({
  ofCode: fc.integer({ min: 0, max: 6 }),
  ofAddress: counted,
  ofNetwork: counted,
})
const attempts = fc.array(
  fc.record({
    attemptsMax: fc.constantFrom(0, 5, 1_000),
    minutesLater: fc.constantFrom(0, 0, 1, 15, 61),
    place: fc.constantFrom<Place>('known network', 'network', 'many'),
  }),
  { minLength: 1, maxLength: 6 },
)

/** Stores a user with a code and a session, and the counts of attempts. */
async function store({ ofCode, ofAddress, ofNetwork }: AttemptCounts) {
  const { db } = database
  const [keyHash, networkHash, codeHash] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const email = `${keyHash.toString('hex').slice(0, 20)}@example.com`
  const { id: userId } = await insertUser(db, { aud: 'authenticated', role: 'authenticated', email })
  const origin = { userAgent: 'test', ip: '192.0.2.1', method: 'password', credentialSince: null } as const
  await createSession(db, { randomBytes }, { id: userId }, origin)
  const times = { sentAt: new Date(NOW), expiresAt: new Date(NOW + DAY_MS) }
  const secrets = { linkHash: randomBytes(32), codeHash, codeSalt: randomBytes(16), flowStateId: null }
  await db
    .transaction()
    .execute((trx) => replaceToken(trx, { userId, kind: 'recovery', identifier: email, ...secrets, ...times }))
  await db.updateTable('one_time_tokens').set({ guesses: ofCode }).where('user_id', '=', userId).execute()
  for (const [key, count] of [[keyHash, ofAddress] as const, [networkHash, ofNetwork] as const]) {
    if (count) await insertCount(key, count)
  }
  return { userId, email, keyHash, networkHash, codeHash }
}

const insertCount = (key: Buffer, { attempts, since }: CountedAttempts) =>
  sql`INSERT INTO ${sql.table('code_guesses')} (key_hash, guesses, since) VALUES (${key}, ${attempts}, ${new Date(since)})`.execute(
    database.db,
  )

async function readCount(key: Buffer): Promise<CountedAttempts | undefined> {
  const query = database.db.selectFrom('code_guesses').selectAll().where('key_hash', '=', key)
  const row = await query.executeTakeFirst()
  return row && { attempts: row.guesses, since: Date.parse(String(row.since)) }
}

/** The codes with which an attempt from a place is compared. */
async function attemptAt(
  { email, keyHash, networkHash }: Awaited<ReturnType<typeof store>>,
  place: Place,
  { attemptsMax, now }: Omit<ModelAttempt, 'isKnownNetwork'>,
) {
  const from = {
    'known network': { networkHash, network: '192.0.2.0/24' },
    network: { networkHash, network: '198.51.100.0/24' },
    many: { networkHash: undefined, network: undefined },
  }
  const at = { audience: 'authenticated', identifier: email, kinds: ['recovery' as const], keyHash }
  const found = await countCodeAttempt(database.db, { ...at, ...from[place], now: new Date(now) }, attemptsMax)
  return found.map(({ userId, codeHash }) => ({ userId, codeHash }))
}

describe('count_guess', () => {
  it.each(cases)('%s: compared is %s, as by the model', async (_, expected, counts, asked) => {
    const stored = await store(counts)
    const found = await attemptAt(stored, asked.isKnownNetwork ? 'known network' : 'network', asked)
    expect(found).toEqual(expected ? [{ userId: stored.userId, codeHash: stored.codeHash }] : [])
  })

  it('compares and counts the attempts that its model does, from any counts and any network', async () => {
    await fc.assert(
      fc.asyncProperty(start, attempts, async (counts, asked) => {
        const stored = await store(counts)
        let model = counts
        let now = NOW
        for (const { attemptsMax, minutesLater, place } of asked) {
          now += minutesLater * MINUTE_MS
          const hasNetwork = place !== 'many'
          const found = await attemptAt(stored, place, { attemptsMax, now })
          const seen = hasNetwork ? model : { ...model, ofNetwork: undefined }
          const expected = isCompared(seen, { attemptsMax, isKnownNetwork: place === 'known network', now })
          expect(found).toEqual(expected ? [{ userId: stored.userId, codeHash: stored.codeHash }] : [])
          if (!expected) continue
          model = {
            ofCode: model.ofCode + 1,
            ofAddress: countOne(model.ofAddress, now),
            ofNetwork: hasNetwork ? countOne(model.ofNetwork, now) : model.ofNetwork,
          }
        }
        const query = database.db.selectFrom('one_time_tokens').select('guesses').where('user_id', '=', stored.userId)
        expect({
          ofCode: (await query.executeTakeFirstOrThrow()).guesses,
          ofAddress: await readCount(stored.keyHash),
          ofNetwork: await readCount(stored.networkHash),
        }).toEqual(model)
      }),
      { numRuns: 60 },
    )
  })
})

import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/auth-database.ts'
import { insertUser } from '../users/user-change-repository.ts'
import type { TokenKind } from './one-time-token.ts'
import {
  claimToken,
  countCodeAttempt,
  deleteCodeAttempts,
  findTokenByLink,
  hasTokenSince,
  type NewOneTimeToken,
  replaceToken,
  returnCodeAttempt,
} from './one-time-token-repository.ts'

const database = await openTestDatabase()
const { db } = database
afterAll(() => database.drop())

const now = new Date('2026-01-02T03:04:05Z')
const hours = (count: number) => new Date(now.getTime() + count * 3_600_000)
const ATTEMPTS = Number(process.env.PARALLEL_GUESSES ?? 200)
let people = 0

/** Stores a user and a message to an address, by default the user's own. */
async function send(changes: Partial<Pick<NewOneTimeToken, 'identifier' | 'sentAt'>> = {}) {
  const email = `reader${++people}@example.com`
  const { id: userId } = await insertUser(db, { aud: 'authenticated', role: 'authenticated', email })
  const secrets = { linkHash: randomBytes(32), codeHash: randomBytes(32), codeSalt: randomBytes(16) }
  const times = { sentAt: now, expiresAt: hours(1) }
  const token = { userId, kind: 'recovery' as const, identifier: email, flowStateId: null, ...secrets, ...times }
  const message = { ...token, ...changes }
  await replace(message)
  return message
}
const replace = (token: NewOneTimeToken) => db.transaction().execute((trx) => replaceToken(trx, token))

/** Attempts the codes of an address. @returns the users whose codes the attempt is compared with */
async function attempt(
  identifier: string,
  changes: Partial<Parameters<typeof countCodeAttempt>[1]> = {},
  attemptsMax = 1_000,
) {
  const asked = { audience: 'authenticated', identifier, kinds: ['recovery'] as TokenKind[], now, network: undefined }
  const found = await countCodeAttempt(db, { ...asked, keyHash: Buffer.from(identifier), ...changes }, attemptsMax)
  return found.map(({ userId }) => userId)
}
const uses = (token: NewOneTimeToken, id: string) =>
  db.transaction().execute((trx) => claimToken(trx, { id, codeHash: token.codeHash }))
const idOf = async ({ userId }: NewOneTimeToken) =>
  (await db.selectFrom('one_time_tokens').select('id').where('user_id', '=', userId).executeTakeFirstOrThrow()).id

describe('a message', () => {
  it('replaces the last message of its kind and its attempts', async () => {
    const first = await send()
    expect(await attempt(first.identifier, {}, 1)).toEqual([first.userId])
    expect(await attempt(first.identifier, {}, 1)).toEqual([])
    const second = { ...first, linkHash: randomBytes(32), codeHash: randomBytes(32) }
    await replace(second)
    expect(await attempt(first.identifier, {}, 1)).toEqual([first.userId])
    expect(await findTokenByLink(db, first.linkHash, ['recovery'])).toBeUndefined()
    expect(await findTokenByLink(db, second.linkHash, ['recovery'])).toEqual({
      id: await idOf(second),
      userId: second.userId,
      kind: 'recovery',
      identifier: second.identifier,
      codeHash: second.codeHash,
      codeSalt: second.codeSalt,
      flowStateId: null,
      expiresAt: '2026-01-02T04:04:05.000000+00:00',
    })
  })

  it('is found by its link only among the kinds that the link may be of', async () => {
    const { linkHash } = await send()
    expect(await findTokenByLink(db, linkHash, ['reauthentication'])).toBeUndefined()
    expect(await findTokenByLink(db, linkHash, [])).toBeUndefined()
  })

  it('is used up once, and by its own secret only', async () => {
    const message = await send()
    const id = await idOf(message)
    expect(await uses({ ...message, codeHash: randomBytes(32) }, id)).toBe(false)
    const both = await Promise.all([uses(message, id), uses(message, id)])
    expect(both.sort()).toEqual([false, true])
  })

  it('counts as sent since any earlier time, and not since its own time', async () => {
    const { userId } = await send()
    expect(await hasTokenSince(db, userId, new Date(now.getTime() - 1))).toBe(true)
    expect(await hasTokenSince(db, userId, now)).toBe(false)
  })
})

describe('an attempt', () => {
  it('is compared with the code of the user who has the address, not with a newer code of a user who wants the address', async () => {
    const owner = await send()
    const stranger = await send({ identifier: owner.identifier, sentAt: hours(1) })
    expect(await attempt(owner.identifier)).toEqual([owner.userId])
    await db.deleteFrom('one_time_tokens').where('user_id', '=', owner.userId).execute()
    expect(await attempt(owner.identifier)).toEqual([stranger.userId])
  })

  it('is compared with no code of another audience or kind', async () => {
    const { identifier } = await send()
    expect(await attempt(identifier, { audience: 'elsewhere' })).toEqual([])
    expect(await attempt(identifier, { kinds: ['reauthentication'] })).toEqual([])
  })

  it('is never compared more often than its code admits, however many run at once', async () => {
    const { identifier } = await send()
    // Open connections first, so that the first attempts run concurrently.
    await Promise.all(Array.from({ length: 20 }, () => db.selectFrom('users').select('id').limit(1).execute()))
    const compared = await Promise.all(Array.from({ length: ATTEMPTS }, () => attempt(identifier, {}, 10)))
    expect(compared.flat()).toHaveLength(10)
  })

  it('is given back when the request could not use it', async () => {
    const message = await send()
    expect(await attempt(message.identifier, {}, 1)).toHaveLength(1)
    await returnCodeAttempt(db, await idOf(message))
    expect(await attempt(message.identifier, {}, 1)).toHaveLength(1)
  })
})

describe('the attempts of a day', () => {
  /** Makes all attempts that an address permits in a day. */
  async function exhaust(identifier: string): Promise<void> {
    for (let i = 0; i < 100; i += 1) expect(await attempt(identifier)).toHaveLength(1)
    expect(await attempt(identifier)).toEqual([])
  }

  it('end after a hundred, but for one further attempt in each quarter of an hour', async () => {
    const { identifier } = await send()
    await exhaust(identifier)
    const later = new Date(now.getTime() + 900_000)
    expect(await attempt(identifier, { now: later })).toHaveLength(1)
    expect(await attempt(identifier, { now: later })).toEqual([])
  })

  it('begin again a day later, and once the owner has entered a code', async () => {
    const { identifier } = await send()
    await exhaust(identifier)
    await deleteCodeAttempts(db, { keyHash: Buffer.from(identifier) })
    await exhaust(identifier)
    expect(await attempt(identifier, { now: hours(24) })).toHaveLength(1)
    expect(await attempt(identifier, { now: hours(24) })).toHaveLength(1)
  })

  it('grant a further attempt to no network that has had its share', async () => {
    const { identifier } = await send()
    const networkHash = Buffer.from(`network of ${identifier}`)
    for (let i = 0; i < 3; i += 1) await attempt(identifier, { networkHash })
    for (let i = 3; i < 100; i += 1) await attempt(identifier)
    const later = new Date(now.getTime() + 900_000)
    expect(await attempt(identifier, { now: later, networkHash })).toEqual([])
    expect(await attempt(identifier, { now: later })).toHaveLength(1)
  })
})

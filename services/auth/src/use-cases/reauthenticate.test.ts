import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { anyId } from '../../test/bodies.ts'
import {
  addressTooNew,
  emailNotVerified,
  emailTooSoon,
  phoneNotVerified,
  sessionNotFound,
  tokenUserNotFound,
} from '../errors.ts'
import { addressMissingAtReauthentication } from '../request-errors.ts'
import { insertUser, upsertAddressChange } from '../users/user-change-repository.ts'
import { reauthenticate } from './reauthenticate.ts'

const test = await openTestApp({
  settings: { AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true', AUTH_RATE_LIMIT_EMAIL_SENT: 'off' },
})
const { deps, clock, close } = test
await deps.jobs.open()
afterAll(async () => {
  await deps.jobs.close()
  await close()
})

const CONFIRMED = new Date(0)
let count = 0

async function createUser(values: object): Promise<string> {
  const { id } = await insertUser(deps.db, { aud: 'authenticated', role: 'authenticated', ...values })
  return id
}
const createByEmail = (values: object = {}) =>
  createUser({ email: `nonce-${++count}@example.com`, email_confirmed_at: CONFIRMED, ...values })

/** A mail limit that counts the mails taken and not given back. */
let taken = 0
const email = {
  ...deps.rateLimits.email,
  take: async () => {
    taken += 1
    return {
      giveBackUnsent: async () => {},
      giveBack: async () => {
        taken -= 1
      },
    }
  },
}
const counted = { ...deps, rateLimits: { ...deps.rateLimits, email } }

/** Requests a nonce. @returns `undefined`, or the thrown error */
const ask = (userId: string, sessionId: string | null = null) =>
  reauthenticate(counted, {
    caller: { userId, sessionId, aal: 'aal1', audiences: ['authenticated'], isAdmin: false },
    ip: '192.0.2.1',
    limitKey: undefined,
  }).catch((error: unknown) => error)

/** Returns what a request for a nonce has stored. */
async function storedOf(userId: string) {
  const { db } = deps
  const tokens = db.selectFrom('one_time_tokens').select(['kind', 'link_hash']).where('user_id', '=', userId)
  const user = db.selectFrom('users').select('reauthentication_sent_at').where('id', '=', userId)
  const audit = db.selectFrom('audit_log_entries').select('action').where('actor_id', '=', userId)
  const { reauthentication_sent_at } = await user.executeTakeFirstOrThrow()
  return {
    tokens: await tokens.execute(),
    sentAt: reauthentication_sent_at && new Date(reauthentication_sent_at),
    audit: (await audit.execute()).map(({ action }) => action),
  }
}
const NOTHING = { tokens: [], sentAt: null, audit: [] }

describe('reauthenticate', () => {
  it('stores a nonce without a link and takes one mail of the limit, once in an interval', async () => {
    const id = await createByEmail()
    const before = taken
    expect(await ask(id)).toEqual({ medium: 'email', messageId: anyId })
    const stored = {
      tokens: [{ kind: 'reauthentication', link_hash: null }],
      sentAt: clock.now(),
      audit: ['user_reauthenticate_requested'],
    }
    expect([await storedOf(id), taken - before]).toEqual([stored, 1])
    expect(await ask(id)).toEqual(emailTooSoon({ seconds: 60 }, { headers: { 'retry-after': '60' } }))
    expect([await storedOf(id), taken - before]).toEqual([stored, 1])
  })

  it.each<[why: string, values: object, error: Error]>([
    ['no address', {}, addressMissingAtReauthentication()],
    ['an email that is not confirmed', { email: 'a@example.com' }, emailNotVerified()],
    [
      'an email that is not confirmed beside a confirmed phone',
      { email: 'b@example.com', phone: '14155550191', phone_confirmed_at: CONFIRMED },
      emailNotVerified(),
    ],
    ['a phone that is not confirmed', { phone: '14155550192' }, phoneNotVerified()],
  ])('refuses %s, stores nothing and takes nothing of the limit', async (_why, values, error) => {
    const [id, before] = [await createUser(values), taken]
    expect(await ask(id)).toEqual(error)
    expect([await storedOf(id), taken - before]).toEqual([NOTHING, 0])
  })

  it('refuses an email that was changed within a day', async () => {
    const id = await createByEmail()
    await deps.db
      .transaction()
      .execute((trx) => upsertAddressChange(trx, { id, isAnonymous: false }, { kind: 'email', at: clock.now() }))
    expect(await ask(id)).toEqual(addressTooNew())
    expect(await storedOf(id)).toEqual(NOTHING)
  })

  it('refuses callers whose session or account is gone', async () => {
    const absent = '00000000-0000-4000-8000-000000000000'
    expect(await ask(await createByEmail(), absent)).toEqual(sessionNotFound())
    expect(await ask(absent)).toEqual(tokenUserNotFound())
  })
})

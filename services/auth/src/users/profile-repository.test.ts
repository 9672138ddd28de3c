import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/auth-database.ts'
import { factorRow } from '../../test/factor-row.ts'
import { userNotFound } from '../errors.ts'
import { insertIdentity } from '../identities/identity-repository.ts'
import {
  findOwnUser,
  findProfileById,
  getManagedProfile,
  getProfile,
  type ProfileJson,
  toProfileOfJson,
} from './profile-repository.ts'
import { insertUser } from './user-change-repository.ts'

const database = await openTestDatabase()
const { db, pools } = database
afterAll(() => database.drop())

const FIRST = '2026-01-02T03:04:05.100000+00:00'
const SECOND = '2026-01-02T03:04:05.100001+00:00'
const TIMES = {
  email_confirmed_at: FIRST,
  phone_confirmed_at: FIRST,
  invited_at: FIRST,
  confirmation_sent_at: FIRST,
  recovery_sent_at: FIRST,
  email_change_sent_at: FIRST,
  phone_change_sent_at: FIRST,
  reauthentication_sent_at: FIRST,
  last_sign_in_at: FIRST,
  banned_until: FIRST,
  deleted_at: FIRST,
  staged_at: FIRST,
}
const nowhere = randomUUID()

const add = (changes: Partial<Parameters<typeof insertUser>[1]> = {}) =>
  insertUser(db, { aud: 'authenticated', role: 'authenticated', ...changes })

/** Adds a user with two identities and two factors. The newer of each is stored first. */
async function addWhole() {
  const user = await add({ email: `${randomUUID()}@example.com`, created_at: FIRST, updated_at: SECOND })
  const [github, email, phone, totp] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const identity = { user_id: user.id, updated_at: SECOND }
  const data = { sub: user.id, email: user.email }
  await insertIdentity(db, {
    ...identity,
    ...{ id: github, provider: 'github', provider_id: github, identity_data: {} },
    ...{ last_sign_in_at: SECOND, created_at: SECOND },
  })
  await insertIdentity(db, {
    ...identity,
    ...{ id: email, provider: 'email', provider_id: user.id, identity_data: data, created_at: FIRST },
  })
  const factor = { user_id: user.id, updated_at: SECOND }
  await db
    .insertInto('mfa_factors')
    .values([
      factorRow({ ...factor, id: phone, factor_type: 'phone', phone: '14155550100', created_at: SECOND }),
      factorRow({ ...factor, id: totp, status: 'verified', friendly_name: 'App', created_at: FIRST }),
    ])
    .execute()
  return { user, github, email, phone, totp }
}

describe('a profile', () => {
  it('has no password hash, and identities and factors from the oldest to the newest', async () => {
    const { user, github, email, phone, totp } = await addWhole()
    await db.updateTable('users').set({ encrypted_password: 'hash' }).where('id', '=', user.id).execute()
    const identity = { userId: user.id, updatedAt: SECOND }
    const factor = { lastChallengedAt: null, updatedAt: SECOND }
    const own = { id: email, provider: 'email', providerId: user.id, data: { sub: user.id, email: user.email } }
    const external = { id: github, provider: 'github', providerId: github, data: {} }
    const app = { id: totp, factorType: 'totp', status: 'verified', friendlyName: 'App', phone: null }
    const sms = { id: phone, factorType: 'phone', status: 'unverified', friendlyName: null, phone: '14155550100' }
    expect(await findProfileById(db, user.id)).toEqual({
      user: { ...user, passwordHash: null },
      identities: [
        { ...identity, ...own, email: user.email, lastSignInAt: null, createdAt: FIRST },
        { ...identity, ...external, email: null, lastSignInAt: SECOND, createdAt: SECOND },
      ],
      factors: [
        { ...factor, ...app, createdAt: FIRST },
        { ...factor, ...sms, createdAt: SECOND },
      ],
    })
  })

  it('has every time in the form of RFC 3339, also from JSON of the database', async () => {
    const { user } = await addWhole()
    await db.updateTable('users').set(TIMES).where('id', '=', user.id).execute()
    const ofUser = sql`WHERE user_id = u.id) AS`
    const { rows } = await sql<ProfileJson>`SELECT to_json(u) AS user,
      (SELECT json_agg(i ORDER BY created_at) FROM ${sql.table('identities')} i ${ofUser} identities,
      (SELECT json_agg(f ORDER BY created_at) FROM ${sql.table('user_factors')} f ${ofUser} factors
      FROM ${sql.table('users')} u WHERE id = ${user.id}`.execute(db)
    const profile = await getProfile(db, user.id)
    expect(profile.user).toEqual({
      ...user,
      emailConfirmedAt: FIRST,
      phoneConfirmedAt: FIRST,
      confirmedAt: FIRST,
      invitedAt: FIRST,
      confirmationSentAt: FIRST,
      recoverySentAt: FIRST,
      emailChangeSentAt: FIRST,
      phoneChangeSentAt: FIRST,
      reauthenticationSentAt: FIRST,
      lastSignInAt: FIRST,
      bannedUntil: FIRST,
      deletedAt: FIRST,
      pendingSince: FIRST,
    })
    expect(rows.map(toProfileOfJson)).toEqual([profile])
  })

  it('is found by id also for a pending sign-up', async () => {
    const user = await add({ staged_at: FIRST })
    expect(await findProfileById(db, user.id)).toEqual({ user, identities: [], factors: [] })
  })

  it('is undefined for an unknown id, or an error where the caller knows that the user exists', async () => {
    expect(await findProfileById(db, nowhere)).toBeUndefined()
    await expect(getProfile(db, nowhere)).rejects.toThrow('no such user')
  })
})

describe('a request of an admin', () => {
  const get = (userId: string, audience?: string) => getManagedProfile(pools, { userId, audience })

  it('gets a deleted user, in the audience that it names or in any', async () => {
    const user = await add({ deleted_at: FIRST })
    const profile = { user, identities: [], factors: [] }
    expect([await get(user.id), await get(user.id, 'authenticated')]).toEqual([profile, profile])
  })

  it('404: gets no pending sign-up, and no user of another audience than the one that it names', async () => {
    const [pending, user] = [await add({ staged_at: FIRST }), await add()]
    await expect(get(pending.id)).rejects.toEqual(userNotFound())
    await expect(get(user.id, 'elsewhere')).rejects.toEqual(userNotFound())
    await expect(get(nowhere)).rejects.toEqual(userNotFound())
  })
})

describe('a request of a user', () => {
  const LIVE = { isBanned: false, isSessionLive: true }
  const newSession = (user_id: string) =>
    db
      .insertInto('sessions')
      .values({ id: randomUUID(), user_id, created_at: FIRST, updated_at: FIRST })
      .returning('id')
      .executeTakeFirstOrThrow()

  it('needs the session of its token, if the token has one', async () => {
    const [user, other] = [await add(), await add()]
    const [session, foreign] = [await newSession(user.id), await newSession(other.id)]
    const find = (sessionId: string | null) => findOwnUser(pools, { userId: user.id, sessionId })
    const profile = { user, identities: [], factors: [] }
    expect(await find(null)).toEqual({ ...profile, ...LIVE })
    expect(await find(session.id)).toEqual({ ...profile, ...LIVE })
    expect(await find(foreign.id)).toEqual({ ...profile, ...LIVE, isSessionLive: false })
    expect(await find(nowhere)).toEqual({ ...profile, ...LIVE, isSessionLive: false })
  })

  it.each([
    ['a ban that lasts', new Date(Date.now() + 3_600_000), true],
    ['a ban that is over', new Date(Date.now() - 1), false],
  ])('reports %s', async (_name, banned_until, isBanned) => {
    const user = await add({ banned_until })
    const { id } = await newSession(user.id)
    for (const sessionId of [null, id]) {
      const found = await findOwnUser(pools, { userId: user.id, sessionId })
      expect(found).toEqual({ user, identities: [], factors: [], ...LIVE, isBanned })
    }
  })

  it('finds no deleted user', async () => {
    const user = await add({ deleted_at: FIRST })
    const { id } = await newSession(user.id)
    expect(await findOwnUser(pools, { userId: user.id, sessionId: null })).toBeUndefined()
    expect(await findOwnUser(pools, { userId: user.id, sessionId: id })).toBeUndefined()
  })
})

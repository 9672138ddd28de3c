import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { openTestDatabase } from '../../test/auth-database.ts'
import { addReachable, newReach } from '../../test/reachable-user.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { userNotFound } from '../errors.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import { leaveToOperators } from './user.ts'
import {
  countPhonePairs,
  findPasswordUser,
  findUserByIdentifier,
  isIdentifierKept,
  isUnclaimed,
  lockManagedUser,
} from './user-repository.ts'

const database = await openTestDatabase()
const { db, pools } = database
afterAll(() => database.drop())

const at = new Date('2026-01-02T03:04:05Z')
let byEmail: UserIdentifier
let byPhone: UserIdentifier
beforeEach(() => {
  const reach = newReach()
  byEmail = reach.byEmail
  byPhone = reach.byPhone
})

const add = (changes: Parameters<typeof addReachable>[2] = {}) => addReachable(db, { byEmail, byPhone }, changes)
const find = (identifier: UserIdentifier, audience = 'authenticated') => findUserByIdentifier(db, audience, identifier)
const findByPassword = (identifier: UserIdentifier, audience = 'authenticated') =>
  findPasswordUser(pools, { ...identifier, audience })

describe('an identifier', () => {
  it('finds its user in the audience of the user, whatever the case of the email', async () => {
    const user = await add({ email: byEmail.value.toUpperCase() })
    expect([await find(byEmail), await find(byPhone)]).toEqual([user, user])
    expect([await find(byEmail, 'elsewhere'), await find(byPhone, 'elsewhere')]).toEqual([undefined, undefined])
  })

  it('finds nobody by the email of an SSO user, which several may have', async () => {
    await add({ is_sso_user: true, phone: null })
    expect([await find(byEmail), await isIdentifierKept(db, byEmail)]).toEqual([undefined, false])
  })

  it('is kept by a user who has claimed it, and neither by a pending sign-up nor by an unused account', async () => {
    const areKept = async () => [await isIdentifierKept(db, byEmail), await isIdentifierKept(db, byPhone)]
    await add({ staged_at: at })
    expect(await areKept()).toEqual([false, false])
    await db.updateTable('users').set({ staged_at: null }).where('email', '=', byEmail.value).execute()
    expect(await areKept()).toEqual([false, false])
    await db.updateTable('users').set({ claimed_at: at }).where('email', '=', byEmail.value).execute()
    expect(await areKept()).toEqual([true, true])
  })
})

describe('a sign-in by password', () => {
  it('finds the hash, the end of a ban, and whether the identifier in use is confirmed', async () => {
    const { id, bannedUntil } = await add({ encrypted_password: 'hash', email_confirmed_at: at, banned_until: at })
    expect(await findByPassword(byEmail)).toEqual({ id, passwordHash: 'hash', isConfirmed: true, bannedUntil })
    expect(await findByPassword(byPhone)).toEqual({ id, passwordHash: 'hash', isConfirmed: false, bannedUntil })
    expect(bannedUntil).not.toBeNull()
  })

  it.each([
    ['staged', { staged_at: at }],
    ['deleted', { deleted_at: at }],
    ['of another audience', { aud: 'elsewhere' }],
  ])('finds no user who is %s', async (_name, changes) => {
    await add({ encrypted_password: 'hash', ...changes })
    expect([await findByPassword(byEmail), await findByPassword(byPhone)]).toEqual([undefined, undefined])
  })
})

describe('a request of an admin', () => {
  const lock = (userId: string, audience?: string) =>
    db
      .transaction()
      .execute((trx) => lockManagedUser(trx, { userId, audience }, { requireMayManage: leaveToOperators }))

  it('finds a deleted user, in the audience that it names', async () => {
    const user = await add({ deleted_at: at })
    expect([await lock(user.id), await lock(user.id, 'authenticated')]).toEqual([user, user])
  })

  it('404: finds no pending sign-up, and no user of another audience than the one that it names', async () => {
    const { id } = await add()
    await expect(lock(id, 'elsewhere')).rejects.toEqual(userNotFound())
    await db.updateTable('users').set({ staged_at: at }).where('id', '=', id).execute()
    await expect(lock(id)).rejects.toEqual(userNotFound())
  })
})

describe('an account', () => {
  it('stays unclaimed until its first confirmation, and is claimed for good', async () => {
    const user = await add()
    expect(await isUnclaimed(db, user)).toBe(true)
    expect(await isUnclaimed(db, { ...user, confirmedAt: '2026-01-02T03:04:05.000000+00:00' })).toBe(false)
    await db.updateTable('users').set({ claimed_at: at }).where('id', '=', user.id).execute()
    expect(await isUnclaimed(db, user)).toBe(false)
  })
})

const { deps, close } = await openTestApp()
afterAll(close)

it('counts users whose number is that of another user when it is parsed', async () => {
  const add = async (phone: string | null, members: object = {}) =>
    (await createSignedUp(deps, { phone, ...members })).user.id
  expect(await countPhonePairs(deps.db)).toEqual({ count: 0, first: undefined })
  const [first, second] = [await add('447418084106'), await add('4407418084106')]
  // Nobody dials a number in either of these two forms, so they are no pair.
  await add('49015112345678')
  await add('490015112345678')
  // No other user has these numbers.
  for (const phone of ['440741808410', '14155550100', '4915', 'no phone', '', null]) await add(phone)
  await add('460701234567')
  await add('46701234567', { staged_at: new Date() })
  expect(await countPhonePairs(deps.db)).toEqual({ count: 2, first: [second, first] })
})

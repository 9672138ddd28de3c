import { hash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT, SERVICE } from '../../test/sample-context.ts'
import { createSignedIn, type SignedIn } from '../../test/signed-in.ts'
import { createSignedUp, type SignedUp } from '../../test/signed-up.ts'
import { runWorkAlone } from '../audit/audit-log.ts'
import { userNotFound, WEAKNESS_SENTENCES, weakPassword } from '../errors.ts'
import { passwordHashAtUpdate } from '../request-errors.ts'
import { type AdminUserFields, parseAdminUser } from '../users/admin-user-request.ts'
import { changeUserAsAdmin, type DeleteUserAsAdminInput, deleteUserAsAdmin } from './change-user-as-admin.ts'

const test = await openTestApp()
afterAll(() => test.close())
const { deps } = test

const update = ({ user }: SignedIn, fields: AdminUserFields) =>
  changeUserAsAdmin(
    deps,
    {
      ...{ userId: user.id, audience: undefined, admin: SERVICE, ip: CONTEXT.ip },
      wanted: parseAdminUser(test.deps.config, fields),
    },
    runWorkAlone,
  )
const countSessions = async ({ user }: SignedIn) =>
  (await deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id).execute()).length
const rowOf = ({ user }: SignedIn) =>
  deps.db.selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirstOrThrow()

describe('changeUserAsAdmin', () => {
  // ASVS 7.4.5
  it('ends every session by a new password, and voids every message except an invitation', async () => {
    const signedIn = await createSignedIn(test)
    const { user, email } = signedIn
    const kinds = ['recovery', 'reauthentication', 'confirmation']
    const tokens = kinds.map((kind) => ({ user_id: user.id, kind, relates_to: email, expires_at: deps.now() }))
    await deps.db.insertInto('one_time_tokens').values(tokens).execute()
    await update(signedIn, { password: 'another horse' })
    const left = deps.db.selectFrom('one_time_tokens').select('kind').where('user_id', '=', user.id)
    expect(await left.execute()).toEqual([{ kind: 'confirmation' }])
    expect(await countSessions(signedIn)).toBe(0)
    const { encrypted_password: stored } = await rowOf(signedIn)
    expect((await deps.passwords.verify(stored, 'another horse')).matches).toBe(true)
  })

  it.each<[string, 'ends' | 'keeps', AdminUserFields]>([
    ['a new role', 'ends', { role: 'editor' }],
    ['the same role', 'keeps', { role: 'authenticated' }],
    ['new metadata', 'keeps', { user_metadata: { a: 1 }, app_metadata: { b: 1 } }],
    ['a ban', 'keeps', { ban_duration: '1h' }],
    ['a new email', 'keeps', { email: 'changed@example.com' }],
  ])('by %s %s the sessions', async (_change, outcome, fields) => {
    const signedIn = await createSignedIn(test)
    await update(signedIn, fields)
    expect(await countSessions(signedIn)).toBe(outcome === 'ends' ? 0 : 1)
  })

  it('refuses a weak password and a password hash, and changes nothing', async () => {
    const signedIn = await createSignedIn(test)
    const before = await rowOf(signedIn)
    const weak = weakPassword({ sentences: WEAKNESS_SENTENCES.length(6) })
    await expect(update(signedIn, { role: 'editor', password: 'short' })).rejects.toThrow(weak.message)
    const bcryptHash = `$2b$10$${'a'.repeat(53)}`
    await expect(update(signedIn, { role: 'editor', password_hash: bcryptHash })).rejects.toThrow(
      passwordHashAtUpdate(),
    )
    expect(await rowOf(signedIn)).toEqual(before)
  })
})

const remove = ({ user }: Pick<SignedUp, 'user'>, manner: DeleteUserAsAdminInput['manner'], audience = user.audience) =>
  deleteUserAsAdmin(deps, { userId: user.id, audience, admin: SERVICE, manner, ip: '192.0.2.1' }, runWorkAlone)

const findRow = ({ user }: Pick<SignedUp, 'user'>) =>
  deps.db.selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirst()

const countIn = async (table: 'sessions' | 'identities', { user }: Pick<SignedUp, 'user'>) =>
  (await deps.db.selectFrom(table).select('id').where('user_id', '=', user.id).execute()).length

const deletionsOf = async ({ user }: Pick<SignedUp, 'user'>) => {
  const entries = await deps.db.selectFrom('audit_log_entries').select(['action', 'payload']).execute()
  return entries.filter(({ payload }) => JSON.stringify(payload).includes(user.id)).map(({ action }) => action)
}
const obscure = (id: string, value: string) => hash('sha256', `${id}${value}`, 'base64url')

describe('deleteUserAsAdmin', () => {
  it('hard: removes the row and everything that belongs to it', async () => {
    const signedIn = await createSignedIn(test)
    await remove(signedIn, 'hard')
    expect(await findRow(signedIn)).toBeUndefined()
    expect([await countIn('sessions', signedIn), await countIn('identities', signedIn)]).toEqual([0, 0])
    await expect(remove(signedIn, 'hard')).rejects.toThrow(userNotFound())
  })

  it('soft: keeps a row that identifies nobody', async () => {
    const signedIn = await createSignedIn(test, { phone: '14155550100', phone_change: '14155550101' })
    const { id } = signedIn.user
    const before = await findRow(signedIn)
    await remove(signedIn, 'soft')
    expect(await findRow(signedIn)).toEqual({
      ...before,
      email: obscure(id, signedIn.email),
      phone: obscure(id, '14155550100').slice(0, 15),
      phone_change: obscure(id, '14155550101').slice(0, 15),
      encrypted_password: null,
      raw_app_meta_data: {},
      raw_user_meta_data: {},
      deleted_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect([await countIn('sessions', signedIn), await countIn('identities', signedIn)]).toEqual([0, 1])
  })

  it('soft: changes nothing and records nothing the second time', async () => {
    const signedUp = await createSignedUp(deps)
    await remove(signedUp, 'soft')
    const [before, entries] = [await findRow(signedUp), await deletionsOf(signedUp)]
    await remove(signedUp, 'soft')
    expect([await findRow(signedUp), await deletionsOf(signedUp)]).toEqual([before, entries])
    expect(entries).toEqual(['user_deleted'])
  })

  it('frees the address for another user', async () => {
    const signedUp = await createSignedUp(deps)
    await remove(signedUp, 'soft')
    expect((await createSignedUp(deps, { email: signedUp.email })).user.email).toBe(signedUp.email)
  })

  it('refuses a user of another audience', async () => {
    const signedUp = await createSignedUp(deps)
    const before = await findRow(signedUp)
    expect(before?.id).toBe(signedUp.user.id)
    await expect(remove(signedUp, 'hard', 'other')).rejects.toThrow(userNotFound())
    expect(await findRow(signedUp)).toEqual(before)
  })
})

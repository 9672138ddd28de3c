import { hash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { SERVICE } from '../../test/sample-context.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import { createSignedUp, type SignedUp } from '../../test/signed-up.ts'
import { runWorkAlone } from '../audit/audit-log.ts'
import { userNotFound } from '../errors.ts'
import { type DeleteUserAsAdminInput, deleteUserAsAdmin } from './delete-user-as-admin.ts'

const test = await openTestApp()
const { deps, close } = test
afterAll(close)

const remove = ({ user }: Pick<SignedUp, 'user'>, manner: DeleteUserAsAdminInput['manner'], audience = user.audience) =>
  deleteUserAsAdmin(deps, { userId: user.id, audience, admin: SERVICE, manner, ip: '192.0.2.1' }, runWorkAlone)

const rowOf = ({ user }: Pick<SignedUp, 'user'>) =>
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
    expect(await rowOf(signedIn)).toBeUndefined()
    expect([await countIn('sessions', signedIn), await countIn('identities', signedIn)]).toEqual([0, 0])
    await expect(remove(signedIn, 'hard')).rejects.toThrow(userNotFound())
  })

  it('soft: keeps a row that identifies nobody', async () => {
    const signedIn = await createSignedIn(test, { phone: '14155550100', phone_change: '14155550101' })
    const { id } = signedIn.user
    const before = await rowOf(signedIn)
    await remove(signedIn, 'soft')
    expect(await rowOf(signedIn)).toEqual({
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
    const [before, entries] = [await rowOf(signedUp), await deletionsOf(signedUp)]
    await remove(signedUp, 'soft')
    expect([await rowOf(signedUp), await deletionsOf(signedUp)]).toEqual([before, entries])
    expect(entries).toEqual(['user_deleted'])
  })

  it('frees the address for another user', async () => {
    const signedUp = await createSignedUp(deps)
    await remove(signedUp, 'soft')
    expect((await createSignedUp(deps, { email: signedUp.email })).user.email).toBe(signedUp.email)
  })

  it('refuses a user of another audience', async () => {
    const signedUp = await createSignedUp(deps)
    const before = await rowOf(signedUp)
    expect(before?.id).toBe(signedUp.user.id)
    await expect(remove(signedUp, 'hard', 'other')).rejects.toThrow(userNotFound())
    expect(await rowOf(signedUp)).toEqual(before)
  })
})

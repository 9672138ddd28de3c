import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT, SERVICE } from '../../test/sample-context.ts'
import { createSignedIn, type SignedIn } from '../../test/signed-in.ts'
import { runWorkAlone } from '../audit/audit-log.ts'
import { WEAKNESS_SENTENCES, weakPassword } from '../errors.ts'
import { passwordHashAtUpdate } from '../request-errors.ts'
import { type AdminUserFields, parseAdminUser } from '../users/admin-user-request.ts'
import { changeUserAsAdmin } from './change-user-as-admin.ts'

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
    const { encrypted_password: hash } = await rowOf(signedIn)
    expect((await deps.passwords.verify(hash, 'another horse')).matches).toBe(true)
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
    const hash = `$2b$10$${'a'.repeat(53)}`
    await expect(update(signedIn, { role: 'editor', password_hash: hash })).rejects.toThrow(passwordHashAtUpdate())
    expect(await rowOf(signedIn)).toEqual(before)
  })
})

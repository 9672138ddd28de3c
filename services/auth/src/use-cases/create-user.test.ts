import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT, SERVICE } from '../../test/sample-context.ts'
import { runWorkAlone } from '../audit/audit-log.ts'
import { WEAKNESS_SENTENCES } from '../errors.ts'
import { passwordTooLong, passwordWithHash } from '../request-errors.ts'
import { type AdminUserFields, parseAdminUser } from '../users/admin-user-request.ts'
import { createUser } from './create-user.ts'

const { deps, close } = await openTestApp()
afterAll(close)

const BCRYPT = `$2b$10$${'a'.repeat(53)}`
let count = 0
const nextEmail = () => `made${++count}@example.com`
/** Creates a user and returns the row. */
async function create(fields: AdminUserFields, own = deps) {
  const wanted = parseAdminUser(deps.config, { email: nextEmail(), email_confirm: true, ...fields })
  const { user } = await createUser(own, { admin: SERVICE, id: undefined, wanted, context: CONTEXT }, runWorkAlone)
  const row = deps.db.selectFrom('users').selectAll().where('id', '=', user.id)
  return row.executeTakeFirstOrThrow()
}

describe('createUser', () => {
  it('stores a password hash of another system as it is', async () => {
    expect((await create({ password_hash: BCRYPT })).encrypted_password).toBe(BCRYPT)
    await expect(create({ password: 'correct horse', password_hash: BCRYPT })).rejects.toThrow(passwordWithHash())
  })

  it('gives a user without a password the hash of a password that nobody knows', async () => {
    const users = [await create({}), await create({ password: '' })]
    const [first, second] = users.map(({ encrypted_password: hash }) => hash)
    expect([first, second]).toEqual([expect.stringMatching(/^\$argon2id\$/), expect.stringMatching(/^\$argon2id\$/)])
    expect(first).not.toBe(second)
    expect((await deps.passwords.verify(second ?? null, '')).matches).toBe(false)
  })

  it('asks only that a password is not too long, unless the policy binds admins', async () => {
    expect((await create({ password: 'x' })).encrypted_password).toMatch(/^\$argon2id\$/)
    await expect(create({ password: 'x'.repeat(73) })).rejects.toThrow(passwordTooLong())
    const passwords = { ...deps.config.passwords, policyBindsAdmins: true }
    const strict = { ...deps, config: { ...deps.config, passwords } }
    await expect(create({ password: 'x' }, strict)).rejects.toThrow(WEAKNESS_SENTENCES.length(6))
  })

  it('deletes the pending sign-up of an email and makes a new user', async () => {
    const email = nextEmail()
    const pending = { id: randomUUID(), aud: 'authenticated', role: 'authenticated', email, staged_at: new Date() }
    await deps.db.insertInto('users').values(pending).execute()
    const { id } = await create({ email })
    const rows = await deps.db.selectFrom('users').select(['id', 'staged_at']).where('email', '=', email).execute()
    expect(rows).toEqual([{ id, staged_at: null }])
    expect(id).not.toBe(pending.id)
  })

  it('refuses a weak password before it looks for the address', async () => {
    const email = nextEmail()
    await create({ email })
    await expect(create({ email, password: 'x'.repeat(73) })).rejects.toThrow(passwordTooLong())
  })
})

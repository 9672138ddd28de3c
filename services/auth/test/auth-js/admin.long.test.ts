import { randomUUID } from 'node:crypto'
import { AuthApiError } from '@supabase/auth-js'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { anyId, anyTime, confirmedBody, emailIdentity, factorBody, phoneIdentity, userBody } from '../bodies.ts'
import { factorRow } from '../factor-row.ts'
import { dataOf, newCredentials, openClientService } from './client-service.ts'

const service = await openClientService()
const { admin } = service
afterAll(() => service.close())

const register = async (by = admin) => {
  const credentials = newCredentials()
  const { user } = dataOf(await by.createUser({ ...credentials, email_confirm: true }))
  return { ...credentials, user }
}

describe('admin.createUser, getUserById, updateUserById, deleteUser', () => {
  it('create, read, change and delete a user', async () => {
    const { email, password } = newCredentials()
    const id = randomUUID()
    const created = dataOf(
      await admin.createUser({
        id,
        email,
        password,
        email_confirm: true,
        user_metadata: { name: 'Ada' },
        app_metadata: { plan: 'pro' },
        role: 'editor',
      }),
    )
    expect(created.user).toEqual(
      confirmedBody(id, email, {
        role: 'editor',
        app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
        user_metadata: { name: 'Ada' },
      }),
    )
    expect(dataOf(await admin.getUserById(id)).user).toEqual(created.user)
    const changed = dataOf(await admin.updateUserById(id, { ban_duration: '24h', user_metadata: { name: null, x: 1 } }))
    expect(changed.user).toEqual(
      confirmedBody(id, email, {
        role: 'editor',
        app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
        user_metadata: { x: 1 },
        banned_until: expect.any(String),
      }),
    )
    const client = service.newClient()
    expect((await client.signInWithPassword({ email, password })).error).toEqual(
      new AuthApiError('User is banned', 400, 'user_banned'),
    )
    dataOf(await admin.updateUserById(id, { ban_duration: 'none', password: `new ${password}` }))
    dataOf(await client.signInWithPassword({ email, password: `new ${password}` }))
    dataOf(await admin.deleteUser(id))
    expect((await admin.getUserById(id)).error).toEqual(new AuthApiError('User not found', 404, 'user_not_found'))
  })

  it('delete softly and free the address', async () => {
    const { email, password, user } = await register()
    dataOf(await admin.deleteUser(user.id, true))
    expect((await service.newClient().signInWithPassword({ email, password })).error).toEqual(
      new AuthApiError('Invalid login credentials', 400, 'invalid_credentials'),
    )
    expect(dataOf(await admin.createUser({ email })).user.id).not.toBe(user.id)
  })

  it('return the code of each refusal', async () => {
    const { email } = await register()
    expect((await admin.createUser({ email })).error).toEqual(
      new AuthApiError('A user with this email address has already been registered', 422, 'email_exists'),
    )
    const nobody = service.newClient().admin
    expect((await nobody.listUsers()).error).toEqual(
      new AuthApiError('This endpoint requires a valid Bearer token', 401, 'no_authorization'),
    )
  })
})

describe('admin.listUsers', () => {
  it('returns pages, their number and the total', async () => {
    const own = await openClientService()
    onTestFinished(() => own.close())
    const { admin } = own
    for (let i = 0; i < 3; i += 1) await register(admin)
    const all = dataOf(await admin.listUsers())
    expect([all.users.length, all.total]).toEqual([3, 3])
    const first = dataOf(await admin.listUsers({ page: 1, perPage: 2 }))
    expect(first).toEqual({
      users: [
        userBody({
          email: expect.any(String),
          email_confirmed_at: anyTime,
          phone: expect.any(String),
          confirmed_at: anyTime,
          app_metadata: { provider: 'email', providers: ['email', 'phone'] },
          identities: [
            emailIdentity(anyId, expect.any(String), { email_verified: true }),
            phoneIdentity(anyId, expect.any(String)),
          ],
        }),
        userBody({
          email: expect.any(String),
          email_confirmed_at: anyTime,
          phone: expect.any(String),
          confirmed_at: anyTime,
          app_metadata: { provider: 'email', providers: ['email', 'phone'] },
          identities: [
            emailIdentity(anyId, expect.any(String), { email_verified: true }),
            phoneIdentity(anyId, expect.any(String)),
          ],
        }),
      ],
      aud: 'authenticated',
      nextPage: 2,
      lastPage: 2,
      total: 3,
    })
    const last = dataOf(await admin.listUsers({ page: first.lastPage, perPage: 2 }))
    expect(last.nextPage).toBeNull()
    expect(first.users.map(({ id }) => id)).toEqual(all.users.slice(0, 2).map(({ id }) => id))
  })
})

describe('admin.inviteUserByEmail', () => {
  it('sends a link that signs the invited user in', async () => {
    const { email } = newCredentials()
    const options = { data: { team: 'blue' }, redirectTo: 'https://app.example.com/invited' }
    const { user } = dataOf(await admin.inviteUserByEmail(email, options))
    expect(user).toEqual(
      userBody({
        email,
        invited_at: expect.any(String),
        confirmation_sent_at: anyTime,
        user_metadata: { team: 'blue' },
        identities: [emailIdentity(anyId, email, { team: 'blue' })],
      }),
    )
    const target = await service.open((await service.readMail(email)).link)
    expect(target.href).toMatch(/^https:\/\/app\.example\.com\/invited#access_token=/)
    expect((await admin.inviteUserByEmail(email)).error).toEqual(
      new AuthApiError('A user with this email address has already been registered', 422, 'email_exists'),
    )
  })
})

describe('admin.generateLink', () => {
  it.each(['signup', 'invite', 'magiclink', 'recovery'] as const)(
    '%s: returns a link and a code that sign in',
    async (type) => {
      for (const by of ['link', 'code'] as const) {
        const { email, password } = type === 'signup' || type === 'invite' ? newCredentials() : await register()
        const options = { redirectTo: 'https://app.example.com/there' }
        const { properties, user } = dataOf(await admin.generateLink({ type, email, password, options }))
        expect(user?.email).toBe(email)
        expect(properties).toEqual({
          action_link: expect.any(String),
          email_otp: expect.any(String),
          hashed_token: expect.any(String),
          redirect_to: options.redirectTo,
          verification_type: type,
        })
        if (by === 'link') {
          const target = await service.open(properties?.action_link ?? '')
          expect(target.href).toMatch(/^https:\/\/app\.example\.com\/there#access_token=/)
        } else {
          const token = properties?.email_otp ?? ''
          dataOf(await service.newClient().verifyOtp({ email, token, type }))
        }
      }
    },
  )

  it('changes an email by the links of both addresses and sends no mail', async () => {
    const { email } = await register()
    const { email: newEmail } = newCredentials()
    const hashes = []
    for (const type of ['email_change_current', 'email_change_new'] as const) {
      const { properties } = dataOf(await admin.generateLink({ type, email, newEmail }))
      hashes.push(properties?.hashed_token ?? '')
    }
    const client = service.newClient()
    for (const token_hash of hashes) dataOf(await client.verifyOtp({ token_hash, type: 'email_change' }))
    expect(dataOf(await client.getUser()).user?.email).toBe(newEmail)
  })

  it('returns user_not_found for an unknown address', async () => {
    const { error } = await admin.generateLink({ type: 'recovery', email: newCredentials().email })
    expect(error).toEqual(new AuthApiError('User with this email not found', 404, 'user_not_found'))
  })
})

describe('admin.signOut and admin.mfa', () => {
  it('end the session of an access token', async () => {
    const { email, password } = await register()
    const client = service.newClient()
    const { session } = dataOf(await client.signInWithPassword({ email, password }))
    expect(await admin.signOut(session.access_token, 'global')).toEqual({ data: null, error: null })
    expect((await client.refreshSession()).error).not.toBeNull()
  })

  it('list and unenrol the factors of a user', async () => {
    const { user } = await register()
    expect(dataOf(await admin.mfa.listFactors({ userId: user.id }))).toEqual({ factors: [] })
    const factor = { user_id: user.id, factor_type: 'totp', friendly_name: 'app' }
    const { id } = await service.deps.db
      .insertInto('mfa_factors')
      .values(factorRow(factor))
      .returning('id')
      .executeTakeFirstOrThrow()
    // The client wraps this response twice.
    expect(dataOf(await admin.mfa.deleteFactor({ id, userId: user.id }))).toEqual({
      data: factorBody({ id, status: 'unverified', friendly_name: 'app' }),
      error: null,
    })
    expect(dataOf(await admin.mfa.listFactors({ userId: user.id }))).toEqual({ factors: [] })
  })
})

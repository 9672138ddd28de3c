import { AuthApiError } from '@supabase/auth-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { totpCode } from '../authenticator-app.ts'
import { amrEntry, anyId, anyTime, confirmedBody, factorBody, sessionBody } from '../bodies.ts'
import { type ClientService, dataOf, newCredentials, openClientService } from './client-service.ts'

let service: ClientService
beforeAll(async () => {
  service = await openClientService({
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_MFA_PHONE_MAX_FREQUENCY: '0',
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
  })
})
afterAll(() => service.close())

async function signUp() {
  const client = service.newClient({ experimental: { recoveryCodes: true } })
  const { email, password, phone } = newCredentials()
  dataOf(await client.signUp({ email, password }))
  return { client, email, password, phone }
}

type Client = Awaited<ReturnType<typeof signUp>>['client']

async function addApp(client: Client) {
  const { id, totp } = dataOf(await client.mfa.enroll({ factorType: 'totp', friendlyName: 'app', issuer: 'Trestle' }))
  const code = (stepsFromNow = 0) => totpCode(totp.secret, new Date(), stepsFromNow)
  const challenged = dataOf(await client.mfa.challenge({ factorId: id }))
  const used = code()
  const session = dataOf(await client.mfa.verify({ factorId: id, challengeId: challenged.id, code: used }))
  return { id, totp, code, used, session }
}

const levelOf = async (client: Client) => {
  const { currentLevel, nextLevel } = dataOf(await client.mfa.getAuthenticatorAssuranceLevel())
  return [currentLevel, nextLevel]
}

describe('mfa with an authenticator app', () => {
  it('enrols, verifies, and needs the app again at the next sign-in', async () => {
    const { client, email, password } = await signUp()
    expect(await levelOf(client)).toEqual(['aal1', 'aal1'])
    const { id, totp, code, session } = await addApp(client)
    expect(totp.qr_code).toMatch(/^data:image\/svg\+xml;utf-8,<svg /)
    expect(totp.uri).toMatch(/^otpauth:\/\/totp\/Trestle:/)
    expect(session).toEqual(
      sessionBody(
        confirmedBody(anyId, email, {
          factors: [factorBody({ id, friendly_name: 'app', last_challenged_at: anyTime })],
        }),
      ),
    )
    expect(await levelOf(client)).toEqual(['aal2', 'aal2'])
    expect(dataOf(await client.refreshSession()).session).not.toBeNull()
    expect(await levelOf(client)).toEqual(['aal2', 'aal2'])

    const other = service.newClient()
    dataOf(await other.signInWithPassword({ email, password }))
    expect(await levelOf(other)).toEqual(['aal1', 'aal2'])
    const factors = dataOf(await other.mfa.listFactors())
    expect(factors.totp).toEqual([factorBody({ id, friendly_name: 'app', last_challenged_at: anyTime })])
    expect(factors.phone).toEqual([])
    dataOf(await other.mfa.challengeAndVerify({ factorId: id, code: code(1) }))
    expect(await levelOf(other)).toEqual(['aal2', 'aal2'])
    const { currentAuthenticationMethods } = dataOf(await other.mfa.getAuthenticatorAssuranceLevel())
    expect(currentAuthenticationMethods).toEqual([amrEntry('totp'), amrEntry('password')])
  })

  it('refuses a wrong code and a replayed one', async () => {
    const { client } = await signUp()
    const { id, totp, used } = await addApp(client)
    const wrong = totpCode(totp.secret, new Date(), 1_000)
    const answers = [used, wrong].map((code) => client.mfa.challengeAndVerify({ factorId: id, code }))
    const refused = new AuthApiError('Invalid TOTP code entered', 422, 'mfa_verification_failed')
    expect((await Promise.all(answers)).map(({ error }) => error)).toEqual([refused, refused])
  })

  it('unenrols a factor only in a session that has verified it', async () => {
    const { client, email, password } = await signUp()
    const { id } = await addApp(client)
    const other = service.newClient()
    dataOf(await other.signInWithPassword({ email, password }))
    expect((await other.mfa.unenroll({ factorId: id })).error).toEqual(
      new AuthApiError('AAL2 required to unenroll verified factor', 422, 'insufficient_aal'),
    )
    expect((await other.updateUser({ password: 'another horse' })).error).toEqual(
      new AuthApiError(
        'AAL2 session is required to update email or password when MFA is enabled.',
        401,
        'insufficient_aal',
      ),
    )
    expect(dataOf(await client.mfa.unenroll({ factorId: id }))).toEqual({ id })
    dataOf(await client.refreshSession())
    expect(await levelOf(client)).toEqual(['aal1', 'aal1'])
    expect(dataOf(await client.mfa.listFactors()).all).toEqual([])
  })

  it('refuses a client without a session', async () => {
    const { error } = await service.newClient().mfa.enroll({ factorType: 'totp' })
    expect(error?.message).toContain('Bearer token')
  })
})

describe('mfa with a phone', () => {
  it('enrols, sends a code and verifies it', async () => {
    const { client, phone } = await signUp()
    const enrolled = dataOf(await client.mfa.enroll({ factorType: 'phone', friendlyName: 'mine', phone: `+${phone}` }))
    expect(enrolled).toEqual({ id: anyId, type: 'phone', friendly_name: 'mine', phone })
    const challenged = dataOf(await client.mfa.challenge({ factorId: enrolled.id, channel: 'sms' }))
    const { code } = await service.sms.read(phone)
    dataOf(await client.mfa.verify({ factorId: enrolled.id, challengeId: challenged.id, code }))
    expect(await levelOf(client)).toEqual(['aal2', 'aal2'])
    expect(dataOf(await client.mfa.listFactors()).phone).toEqual([
      factorBody({ id: enrolled.id, friendly_name: 'mine', factor_type: 'phone', phone, last_challenged_at: anyTime }),
    ])
  })
})

describe('mfa.recoveryCodes', () => {
  it('creates, counts, uses, replaces and deletes codes', async () => {
    const { client, email, password } = await signUp()
    expect((await client.mfa.recoveryCodes.getStatus()).error).toEqual(
      new AuthApiError('Factor not found', 404, 'mfa_factor_not_found'),
    )
    await addApp(client)
    const made = dataOf(await client.mfa.recoveryCodes.generate({ friendlyName: 'Paper' }))
    expect(made).toEqual({
      id: anyId,
      type: 'recovery_code',
      friendly_name: 'Paper',
      total: 10,
      codes: Array(10).fill(expect.any(String)),
    })
    expect(dataOf(await client.mfa.recoveryCodes.getStatus())).toEqual({
      id: made.id,
      type: 'recovery_code',
      total: 10,
      remaining: 10,
    })

    const other = service.newClient({ experimental: { recoveryCodes: true } })
    dataOf(await other.signInWithPassword({ email, password }))
    const wrong = await other.mfa.recoveryCodes.verify({ code: 'nonsense' })
    expect(wrong.error).toEqual(new AuthApiError('Invalid recovery code entered', 422, 'mfa_verification_failed'))
    const session = dataOf(await other.mfa.recoveryCodes.verify({ code: made.codes[0]?.toUpperCase() ?? '' }))
    expect(session.user.factors?.map(({ factor_type }) => factor_type)).toEqual(['totp', 'recovery_code'])
    expect(await levelOf(other)).toEqual(['aal2', 'aal2'])
    expect(dataOf(await other.mfa.listFactors()).recovery_code).toEqual([
      factorBody({ id: made.id, friendly_name: 'Paper', factor_type: 'recovery_code' }),
    ])
    expect(dataOf(await other.mfa.recoveryCodes.getStatus()).remaining).toBe(9)

    const replaced = dataOf(await other.mfa.recoveryCodes.regenerate())
    expect(replaced).toEqual({
      id: made.id,
      type: 'recovery_code',
      friendly_name: 'Paper',
      total: 10,
      codes: Array(10).fill(expect.any(String)),
    })
    expect(replaced.codes).not.toEqual(made.codes)
    expect(dataOf(await other.mfa.recoveryCodes.unenroll())).toEqual({ id: made.id })
  })
})

describe('admin.mfa', () => {
  it('unenrols a factor and lowers the session to aal1', async () => {
    const { client } = await signUp()
    const { id, session } = await addApp(client)
    const userId = session.user.id
    expect(dataOf(await service.admin.mfa.listFactors({ userId })).factors).toEqual([
      factorBody({ id, friendly_name: 'app', last_challenged_at: anyTime }),
    ])
    dataOf(await service.admin.mfa.deleteFactor({ id, userId }))
    dataOf(await client.refreshSession())
    expect(await levelOf(client)).toEqual(['aal1', 'aal1'])
  })
})

import { afterAll, describe, expect, it } from 'vitest'
import { dataOf, newPerson, openClientService } from './client-service.ts'

const redirectTo = 'https://app.example.com/after'
const service = await openClientService({
  AUTH_PROFILE: 'strict',
  AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
  AUTH_URI_ALLOW_LIST: redirectTo,
  // Its page is tried elsewhere: here the link is opened by no browser.
  AUTH_MAILER_LINK_MODE: 'direct',
})
afterAll(() => service.close())

describe('a client with PKCE, in the strict profile', () => {
  it('signs up by a code, sets a password, signs out and in again', async () => {
    const { email, password } = newPerson()
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.signUp({ email, password }))
    const { code } = await service.readMail(email)
    dataOf(await client.verifyOtp({ email, token: code, type: 'email' }))
    // What was typed at the sign-up counts for nothing: it may have been a stranger's.
    const early = await service.newClient().signInWithPassword({ email, password })
    expect(early.error).toMatchObject({ code: 'invalid_credentials' })
    dataOf(await client.updateUser({ password }))
    const { session } = dataOf(await client.signInWithPassword({ email, password }))
    expect((await client.signOut()).error).toBeNull()
    const { error } = await service.newClient().getUser(session?.access_token)
    expect(error?.name).toBe('AuthSessionMissingError')
    expect(dataOf(await client.signInWithPassword({ email, password })).user?.email).toBe(email)
  })

  it('signs in by the link of a mail, which ends in a code at a listed address', async () => {
    const { email } = newPerson()
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.signInWithOtp({ email, options: { emailRedirectTo: redirectTo } }))
    const landed = await service.open((await service.readMail(email)).link)
    expect([landed.origin + landed.pathname, landed.hash]).toEqual([redirectTo, ''])
    const { user } = dataOf(await client.exchangeCodeForSession(landed.searchParams.get('code') ?? ''))
    expect(user?.email).toBe(email)
  })

  it('tells what a weak password lacks, and sets another after a recovery without the old one', async () => {
    const { email, password } = newPerson()
    await service.admin.createUser({ email, password, email_confirm: true })
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.resetPasswordForEmail(email, { redirectTo }))
    const landed = await service.open((await service.readMail(email)).link)
    dataOf(await client.exchangeCodeForSession(landed.searchParams.get('code') ?? ''))
    const { error } = await client.updateUser({ password: 'passwordpassword' })
    expect(error).toMatchObject({ code: 'weak_password', reasons: ['pwned'] })
    dataOf(await client.updateUser({ password: 'a staple of batteries' }))
    expect(dataOf(await client.signInWithPassword({ email, password: 'a staple of batteries' })).user?.email).toBe(
      email,
    )
  })
})

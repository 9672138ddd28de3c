import { canTestWith } from '@trestle/testing/find-program.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { totpCode } from '../authenticator-app.ts'
import { type BrowserApp, openBrowserApp } from './browser-app.ts'
import { dataOf, newCredentials } from './client-service.ts'

/** Many times what a test needs on an idle machine. */
const TIMEOUT_MS = 60_000

describe.runIf(canTestWith('chromium'))('createClient(url, key) of supabase-js, in Chromium without a gateway', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await openBrowserApp()
  })
  afterAll(() => app.close())

  const userOf = async (tab: Page) => dataOf(await tab.evaluate(() => client.auth.getUser())).user
  const eventsOf = (tab: Page) => tab.evaluate(() => events)
  const levelOf = async (tab: Page) =>
    dataOf(await tab.evaluate(() => client.auth.mfa.getAuthenticatorAssuranceLevel())).currentLevel

  /** Opens the link of the newest mail to an address. The service redirects to the page of the application. */
  async function openLink(tab: Page, email: string): Promise<void> {
    await tab.goto((await app.readMail(email)).link.href)
    expect(tab.url().startsWith(app.url)).toBe(true)
  }

  /** A user with a confirmed address, signed in on a new device. */
  async function signUp() {
    const { email, password } = newCredentials()
    const tab = await app.newDevice()
    const { user, session } = dataOf(
      await tab.evaluate((credentials) => client.auth.signUp(credentials), { email, password }),
    )
    expect([user?.email, session]).toEqual([email, null])
    await openLink(tab, email)
    expect((await userOf(tab)).id).toBe(user?.id)
    return { tab, email, password, id: user?.id ?? '' }
  }

  const signIn = (tab: Page, credentials: { readonly email: string; readonly password: string }) =>
    tab.evaluate((given) => client.auth.signInWithPassword(given), credentials)

  it(
    'signs up by the link of a mail, and signs in by password',
    async () => {
      const { id, email, password } = await signUp()
      const tab = await app.newDevice()
      const refused = await signIn(tab, { email, password: 'another one' })
      expect(refused.error?.message).toBe('Invalid login credentials')
      expect(dataOf(await signIn(tab, { email, password })).user?.id).toBe(id)
      expect(await eventsOf(tab)).toEqual(['INITIAL_SESSION', 'SIGNED_IN'])
    },
    TIMEOUT_MS,
  )

  it(
    'signs in by the link and by the code of a mail',
    async () => {
      const { email } = newCredentials()
      const tab = await app.newDevice()
      const ask = (on: Page) => on.evaluate((given) => client.auth.signInWithOtp({ email: given }), email)
      dataOf(await ask(tab))
      await openLink(tab, email)
      const { id } = await userOf(tab)
      const other = await app.newDevice()
      dataOf(await ask(other))
      const { code } = await app.readMail(email)
      const verified = await other.evaluate((given) => client.auth.verifyOtp({ ...given, type: 'email' }), {
        email,
        token: code,
      })
      expect(dataOf(verified).user?.id).toBe(id)
    },
    TIMEOUT_MS,
  )

  it(
    'signs in by the code of an SMS',
    async () => {
      const { phone } = newCredentials()
      const tab = await app.newDevice()
      dataOf(await tab.evaluate((given) => client.auth.signInWithOtp({ phone: given }), phone))
      const { code } = await app.sms.read(phone)
      const verified = await tab.evaluate((given) => client.auth.verifyOtp({ ...given, type: 'sms' }), {
        phone,
        token: code,
      })
      expect(dataOf(verified).user?.phone).toBe(phone)
    },
    TIMEOUT_MS,
  )

  it(
    'signs in anonymously, and gives the user an address later',
    async () => {
      const { email } = newCredentials()
      const tab = await app.newDevice()
      const { user } = dataOf(await tab.evaluate(() => client.auth.signInAnonymously()))
      expect(user?.is_anonymous).toBe(true)
      dataOf(await tab.evaluate((given) => client.auth.updateUser({ email: given }), email))
      await openLink(tab, email)
      const shown = await userOf(tab)
      expect([shown.id, shown.email, shown.is_anonymous]).toEqual([user?.id, email, false])
    },
    TIMEOUT_MS,
  )

  describe('a provider', () => {
    const newAccount = () => ({ sub: newCredentials().email, email: newCredentials().email, email_verified: true })
    /** Waits until the client has read the session from the URL of the redirect. */
    const comeBack = async (tab: Page) => {
      await tab.waitForURL((url) => url.href.startsWith(app.url))
      await tab.waitForFunction(() => typeof events === 'object' && events.includes('SIGNED_IN'))
    }

    it(
      'signs in by a redirect, and by an id_token',
      async () => {
        app.openId.account = newAccount()
        const tab = await app.newDevice()
        await tab.evaluate(() => client.auth.signInWithOAuth({ provider: 'keycloak' }))
        await comeBack(tab)
        const user = await userOf(tab)
        expect(user.email).toBe(app.openId.account.email)
        const token = await app.openId.sign({ ...app.openId.account, aud: 'realm-client' })
        const other = await app.newDevice()
        const signedIn = await other.evaluate(
          (given) => client.auth.signInWithIdToken({ provider: 'keycloak', token: given }),
          token,
        )
        expect(dataOf(signedIn).user?.id).toBe(user.id)
      },
      TIMEOUT_MS,
    )

    it(
      'is linked by a redirect, and unlinked',
      async () => {
        const { tab, id } = await signUp()
        app.openId.account = newAccount()
        await tab.evaluate(() => client.auth.linkIdentity({ provider: 'keycloak' }))
        await comeBack(tab)
        const { identities } = dataOf(await tab.evaluate(() => client.auth.getUserIdentities()))
        expect(identities.map(({ provider }) => provider)).toEqual(['email', 'keycloak'])
        const linked = identities[1] ?? expect.fail('nothing was linked')
        dataOf(await tab.evaluate((given) => client.auth.unlinkIdentity(given), linked))
        const shown = await userOf(tab)
        expect([shown.id, shown.identities?.map(({ provider }) => provider)]).toEqual([id, ['email']])
      },
      TIMEOUT_MS,
    )
  })

  it(
    'registers a passkey, signs in by it, lists, renames and deletes it',
    async () => {
      const { tab, id } = await signUp()
      const devtools = await tab.context().newCDPSession(tab)
      await devtools.send('WebAuthn.enable')
      const authenticator = { protocol: 'ctap2', transport: 'internal' } as const
      const abilities = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true }
      await devtools.send('WebAuthn.addVirtualAuthenticator', { options: { ...authenticator, ...abilities } })
      const passkey = dataOf(await tab.evaluate(() => client.auth.registerPasskey()))
      const list = async () => dataOf(await tab.evaluate(() => client.auth.passkey.list()))
      expect(await list()).toEqual([passkey])
      await tab.evaluate(() => client.auth.signOut())
      expect(dataOf(await tab.evaluate(() => client.auth.signInWithPasskey())).user?.id).toBe(id)
      const change = { passkeyId: passkey.id, friendlyName: 'Laptop' }
      dataOf(await tab.evaluate((given) => client.auth.passkey.update(given), change))
      expect(await list()).toEqual([{ ...passkey, friendly_name: 'Laptop', last_used_at: expect.any(String) }])
      dataOf(await tab.evaluate((given) => client.auth.passkey.delete(given), { passkeyId: passkey.id }))
      expect(await list()).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'keeps three tabs signed in that wake up with one expired session, and that refresh at once',
    async () => {
      const { tab, id } = await signUp()
      const tabs = [tab, await app.newTab(tab), await app.newTab(tab)]
      const everywhere = <T>(act: (each: Page) => Promise<T>) => Promise.all(tabs.map(act))
      await tab.evaluate(() => {
        // While other tabs load, they test the storage with their own keys, so find the key of the session.
        const key = Object.keys(localStorage).find((name) => name.startsWith('sb-')) ?? ''
        const session = JSON.parse(localStorage.getItem(key) ?? '')
        localStorage.setItem(key, JSON.stringify({ ...session, expires_at: 1 }))
      })
      await everywhere((each) => each.reload())
      expect(await everywhere(async (each) => (await userOf(each)).id)).toEqual([id, id, id])
      // The library discards a response if another tab was faster, so ignore these results.
      await everywhere((each) => each.evaluate(() => client.auth.refreshSession()))
      expect(await everywhere(async (each) => (await userOf(each)).id)).toEqual([id, id, id])
      for (const seen of await everywhere(eventsOf)) expect(seen).not.toContain('SIGNED_OUT')
    },
    TIMEOUT_MS,
  )

  it(
    'sets a new password by the link of a mail',
    async () => {
      const { id, email } = await signUp()
      const tab = await app.newDevice()
      dataOf(await tab.evaluate((given) => client.auth.resetPasswordForEmail(given), email))
      await openLink(tab, email)
      await tab.waitForFunction(() => typeof events === 'object' && events.includes('PASSWORD_RECOVERY'))
      const password = 'battery staple 4'
      dataOf(await tab.evaluate((given) => client.auth.updateUser({ password: given }), password))
      expect(dataOf(await signIn(await app.newDevice(), { email, password })).user?.id).toBe(id)
    },
    TIMEOUT_MS,
  )

  it(
    'changes the address by the links of two mails',
    async () => {
      const { tab, id, email } = await signUp()
      const { email: next } = newCredentials()
      dataOf(await tab.evaluate((given) => client.auth.updateUser({ email: given }), next))
      await openLink(tab, email)
      expect(new URL(tab.url()).hash).toContain('message=')
      expect((await userOf(tab)).email).toBe(email)
      await openLink(tab, next)
      const shown = await userOf(tab)
      expect([shown.id, shown.email]).toEqual([id, next])
    },
    TIMEOUT_MS,
  )

  it(
    'enrols an authenticator app, and needs its code at the next sign-in',
    async () => {
      const { tab, email, password } = await signUp()
      const { id, totp } = dataOf(await tab.evaluate(() => client.auth.mfa.enroll({ factorType: 'totp' })))
      const show = (on: Page, stepsFromNow: number) =>
        on.evaluate((given) => client.auth.mfa.challengeAndVerify(given), {
          factorId: id,
          code: totpCode(totp.secret, new Date(), stepsFromNow),
        })
      dataOf(await show(tab, 0))
      expect(await levelOf(tab)).toBe('aal2')
      const other = await app.newDevice()
      dataOf(await signIn(other, { email, password }))
      expect(await levelOf(other)).toBe('aal1')
      // A code is accepted only once.
      dataOf(await show(other, 1))
      expect(await levelOf(other)).toBe('aal2')
      dataOf(await other.evaluate((factorId) => client.auth.mfa.unenroll({ factorId }), id))
      expect(dataOf(await other.evaluate(() => client.auth.mfa.listFactors())).all).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'signs out everywhere',
    async () => {
      const { tab, email, password } = await signUp()
      const other = await app.newDevice()
      dataOf(await signIn(other, { email, password }))
      expect((await tab.evaluate(() => client.auth.signOut())).error).toBeNull()
      const refused = await other.evaluate(() => client.auth.getUser())
      expect(refused.error?.message).toBe('Auth session missing!')
      for (const each of [tab, other]) {
        expect(await each.evaluate(() => client.auth.getSession())).toEqual({ data: { session: null }, error: null })
        expect(await eventsOf(each)).toContain('SIGNED_OUT')
      }
    },
    TIMEOUT_MS,
  )
})

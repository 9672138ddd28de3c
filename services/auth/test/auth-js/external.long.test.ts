import { AuthApiError } from '@supabase/auth-js'
import { afterAll, describe, expect, it } from 'vitest'
import { accountBody, externalBody } from '../bodies.ts'
import { type OpenIdServer, startOpenIdServer } from '../external/openid-server.ts'
import { type ClientService, dataOf, newCredentials, openClientService } from './client-service.ts'

const openId: OpenIdServer = await startOpenIdServer()
const service: ClientService = await openClientService(
  {
    AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
    AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'realm-client',
    AUTH_EXTERNAL_KEYCLOAK_SECRET: 'secret',
    AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: 'http://localhost:8081/callback',
    AUTH_EXTERNAL_KEYCLOAK_URL: openId.realm,
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_CUSTOM_OAUTH_ENABLED: 'true',
  },
  openId.replace,
)
afterAll(async () => {
  await service.close()
  await openId.stop()
})

const redirectTo = 'https://app.example.com/after'
const newProfile = () => ({
  sub: newCredentials().email,
  email: newCredentials().email,
  email_verified: true,
  name: 'Ada',
})

/** Follows the URL of a sign-in like a browser, and returns the last URL. */
async function follow(url: string | null | undefined): Promise<URL> {
  const authorize = url?.includes('/authorize?') ? await service.open(url) : new URL(url ?? '')
  return service.open(await openId.agree(authorize))
}

describe('signInWithOAuth', () => {
  it("implicit flow: returns a session and the provider's token in the fragment", async () => {
    openId.account = newProfile()
    const client = service.newClient()
    const { url, provider } = dataOf(
      await client.signInWithOAuth({ provider: 'keycloak', options: { redirectTo, scopes: 'openid groups' } }),
    )
    expect(provider).toBe('keycloak')
    const landed = await follow(url)
    expect(landed.origin + landed.pathname).toBe(redirectTo)
    const {
      access_token = '',
      refresh_token = '',
      provider_token,
    } = Object.fromEntries(new URLSearchParams(landed.hash.slice(1)))
    expect(provider_token).toMatch(/^ey/)
    const { user } = dataOf(await client.setSession({ access_token, refresh_token }))
    expect(user).toEqual(
      externalBody(
        'keycloak',
        accountBody({
          iss: openId.realm,
          sub: openId.account.sub,
          name: 'Ada',
          email: openId.account.email,
          full_name: 'Ada',
        }),
      ),
    )
  })

  it('PKCE flow: returns a code that exchangeCodeForSession accepts once', async () => {
    openId.account = newProfile()
    const client = service.newClient({ flowType: 'pkce' })
    const { url } = dataOf(await client.signInWithOAuth({ provider: 'keycloak', options: { redirectTo } }))
    const landed = await follow(url)
    const code = landed.searchParams.get('code') ?? ''
    const { session, user } = dataOf(await client.exchangeCodeForSession(code))
    expect(user?.email).toBe(openId.account.email)
    expect(session?.provider_token).toMatch(/^ey/)
    expect(session?.provider_refresh_token).toBeDefined()
    expect((await client.exchangeCodeForSession(code)).error).not.toBeNull()
  })
})

describe('linkIdentity and unlinkIdentity', () => {
  it('links an identity by a redirect and unlinks it', async () => {
    const { email, password } = newCredentials()
    await service.admin.createUser({ email, password, email_confirm: true })
    const client = service.newClient()
    dataOf(await client.signInWithPassword({ email, password }))
    openId.account = newProfile()
    const { url } = dataOf(await client.linkIdentity({ provider: 'keycloak', options: { redirectTo } }))
    expect(new URL(url ?? '').origin).toBe(openId.realm)
    expect((await follow(url)).hash).toContain('access_token=')
    const { identities } = dataOf(await client.getUserIdentities())
    expect(identities.map(({ provider }) => provider)).toEqual(['email', 'keycloak'])
    const [, linked] = identities
    if (!linked) throw new Error('nothing was linked')
    dataOf(await client.unlinkIdentity(linked))
    expect(dataOf(await client.getUserIdentities()).identities).toHaveLength(1)
  })

  it('links an identity by an id_token', async () => {
    const { email, password } = newCredentials()
    await service.admin.createUser({ email, password, email_confirm: true })
    const client = service.newClient()
    dataOf(await client.signInWithPassword({ email, password }))
    const token = await openId.sign({ ...newProfile(), aud: 'realm-client' })
    const { user } = dataOf(await client.linkIdentity({ provider: 'keycloak', token }))
    expect(user?.app_metadata.providers).toEqual(['email', 'keycloak'])
  })
})

describe('signInWithIdToken', () => {
  it('signs in, and returns the code of each refusal', async () => {
    const profile = newProfile()
    const client = service.newClient()
    const token = await openId.sign({ ...profile, aud: 'realm-client' })
    expect(dataOf(await client.signInWithIdToken({ provider: 'keycloak', token })).user?.email).toBe(profile.email)
    const foreign = await openId.sign({ ...profile, aud: 'somebody.else' })
    expect((await client.signInWithIdToken({ provider: 'keycloak', token: foreign })).error).toEqual(
      new AuthApiError('Unacceptable audience in id_token', 400, 'validation_failed'),
    )
    expect((await client.signInWithIdToken({ provider: 'google', token })).error).toEqual(
      new AuthApiError('Provider (issuer "https://accounts.google.com") is not enabled', 400, 'provider_disabled'),
    )
  })
})

describe('admin.customProviders', () => {
  it('adds, reads, changes, lists and deletes a provider', async () => {
    const { customProviders } = service.admin
    const provider = {
      provider_type: 'oauth2',
      identifier: 'custom:company',
      name: 'Company',
      client_id: 'client',
      client_secret: 'secret',
      authorization_url: 'https://idp.example.com/auth',
      token_url: 'https://idp.example.com/token',
      userinfo_url: 'https://idp.example.com/me',
    } as const
    expect(dataOf(await customProviders.createProvider(provider)).identifier).toBe('custom:company')
    expect(dataOf(await customProviders.updateProvider('custom:company', { name: 'New' })).name).toBe('New')
    expect(dataOf(await customProviders.getProvider('custom:company')).name).toBe('New')
    expect(dataOf(await customProviders.listProviders({ type: 'oauth2' })).providers).toHaveLength(1)
    expect((await customProviders.deleteProvider('custom:company')).error).toBeNull()
    expect(dataOf(await customProviders.listProviders()).providers).toEqual([])
  })
})

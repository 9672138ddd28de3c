import { describe, expect, it } from 'vitest'
import { PROVIDERS, type ProviderName } from '../config/external.ts'
import { isOAuth1 } from './custom-provider.ts'
import { builtInProviders } from './find-provider.ts'

const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const OTHER = '11111111-2222-3333-4444-555555555555'
const MICROSOFT = 'https://login.microsoftonline.com'

/** Returns a provider with this URL setting. */
function withUrl(name: ProviderName, url: string | undefined) {
  const config = {
    enabled: true,
    clientIds: ['client'],
    secret: 'secret',
    redirectUri: 'https://auth.example.com/callback',
    url,
    extraAudiences: [],
    trustedConnections: [],
    emailOptional: false,
    checksNonce: true,
  }
  const [configured] = builtInProviders({ providers: new Map([[name, config]]) })
  if (configured === undefined) throw new Error('the provider is off')
  return configured
}

/** Returns the addresses of a provider: the browser's first, then those that this service calls until an answer is missing. */
async function addressesOf(name: ProviderName, url: string | undefined): Promise<readonly string[]> {
  const configured = withUrl(name, url)
  const called: string[] = []
  const get = (address: string) => {
    called.push(address)
    return Promise.reject(new Error('no answer'))
  }
  if (isOAuth1(configured)) {
    const { provider } = configured
    await provider.identify({ get }).catch(() => undefined)
    return [provider.requestTokenUrl, provider.authorizeUrl, provider.accessTokenUrl, ...called]
  }
  const { provider } = configured
  const grant = { accessToken: 'a', refreshToken: undefined, idToken: undefined, answer: {}, userField: undefined }
  const refuse = { idTokenClaims: () => Promise.reject(new Error('no answer')) }
  await provider.identify(Object.assign(refuse, { get, getClaims: get }), grant).catch(() => undefined)
  return [provider.authorizeUrl, provider.tokenUrl, ...called]
}

/** Whether azure with this URL setting accepts id_tokens of an issuer. */
const azureTakes = (url: string | undefined, issuer: string): boolean => {
  const configured = withUrl('azure', url)
  return !isOAuth1(configured) && configured.provider.idTokens?.keysOf(issuer) !== undefined
}

describe('EXTERNAL_<X>_URL', () => {
  it.each(PROVIDERS.filter((name) => name !== 'apple' && name !== 'google'))(
    'replaces every address of %s',
    async (name) => {
      const hosts = (await addressesOf(name, 'https://own.example.com/')).map((address) => new URL(address).origin)
      expect(hosts.length).toBeGreaterThan(1)
      expect(new Set(hosts)).toEqual(new Set(['https://own.example.com']))
    },
  )

  it('has the API of a GitHub Enterprise Server below the site', async () => {
    expect(await addressesOf('github', 'https://github.mycorp.example')).toEqual([
      'https://github.mycorp.example/login/oauth/authorize',
      'https://github.mycorp.example/login/oauth/access_token',
      'https://github.mycorp.example/api/v3/user',
    ])
    const usual = await addressesOf('github', undefined)
    expect(usual.at(-1)).toBe('https://api.github.com/user')
    expect(await addressesOf('github', 'https://github.com')).toEqual(usual)
  })

  it('sends users of azure to their tenant', async () => {
    expect(await addressesOf('azure', `${MICROSOFT}/${TENANT}`)).toEqual([
      `${MICROSOFT}/${TENANT}/oauth2/v2.0/authorize`,
      `${MICROSOFT}/${TENANT}/oauth2/v2.0/token`,
    ])
  })

  it.each([
    [undefined, `${MICROSOFT}/${OTHER}/v2.0`, true],
    [`${MICROSOFT}/common`, `${MICROSOFT}/${OTHER}/v2.0`, true],
    [`${MICROSOFT}/organizations/`, `https://sts.windows.net/${OTHER}/`, true],
    [`${MICROSOFT}/${TENANT}`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/${TENANT.toUpperCase()}/`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/${TENANT}`, `https://sts.windows.net/${TENANT}/`, true],
    [`${MICROSOFT}/${TENANT}`, `${MICROSOFT}/${OTHER}/v2.0`, false],
    [`${MICROSOFT}/${TENANT}`, `https://sts.windows.net/${OTHER}/`, false],
    [`${MICROSOFT}/${TENANT}`, `${MICROSOFT}/common/v2.0`, false],
    [`${MICROSOFT}/contoso.example`, `${MICROSOFT}/${TENANT}/v2.0`, false],
    [`${MICROSOFT}/consumers`, `${MICROSOFT}/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0`, true],
    [`${MICROSOFT}/consumers`, `${MICROSOFT}/${TENANT}/v2.0`, false],
    [`https://shop.ciamlogin.com/${TENANT}`, `https://shop.ciamlogin.com/${TENANT}/v2.0`, true],
    [`https://shop.ciamlogin.com/${TENANT}`, `${MICROSOFT}/${TENANT}/v2.0`, false],
    [`https://login.microsoftonline.us/${TENANT}`, `${MICROSOFT}/${TENANT}/v2.0`, false],
    [undefined, 'https://login.microsoftonline.com.evil.example/v2.0', false],
  ])('with %s for azure, judges a token of %s: %s', (url, issuer, isTaken) => {
    expect(azureTakes(url, issuer)).toBe(isTaken)
  })
})

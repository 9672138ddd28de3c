import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { OAuth2Server } from 'oauth2-mock-server'
import type { AuthDeps } from '../../src/deps.ts'
import { createKeySets } from '../../src/external-providers/key-sets.ts'

/** The path of Keycloak's endpoints. */
const PATH = '/protocol/openid-connect'
/** The issuer at a public host. */
export const ISSUER = 'https://idp.example.com'

/** A real OpenID provider with keys, PKCE and signatures. It runs on loopback as a Keycloak realm, and replaces other hosts. */
export interface OpenIdServer {
  /** The loopback address for the setting of Keycloak. */
  readonly realm: string
  /** The claims of the next tokens and of the profile. */
  account: Record<string, unknown>
  /** Signs a token with any claims and header parameters. */
  sign(claims: JWTPayload, header?: Readonly<Record<string, string>>): Promise<string>
  /** Consents for the user, as in a browser. @returns the address of the provider's redirect */
  agree(authorizeUrl: URL): Promise<URL>
  /** Dependencies with which a service reaches this provider under public host names. */
  replace(): Pick<AuthDeps, 'outbound' | 'keySets' | 'now'>
  /** The called URLs, without scheme and query. */
  readonly called: readonly string[]
  stop(): Promise<void>
}

type JWTPayload = Readonly<Record<string, unknown>>

/** Starts the OpenID provider of a library on a free loopback port. */
export async function startOpenIdServer(): Promise<OpenIdServer> {
  const server = new OAuth2Server(undefined, undefined, {
    endpoints: {
      authorize: `${PATH}/auth`,
      token: `${PATH}/token`,
      userinfo: `${PATH}/userinfo`,
      jwks: `${PATH}/certs`,
    },
  })
  await server.issuer.keys.generate('RS256')
  await server.start(0, '127.0.0.1')
  const realm = `http://127.0.0.1:${server.address().port}`
  server.issuer.url = realm
  const called: string[] = []
  const openId: OpenIdServer = {
    realm,
    account: {},
    called,
    sign: (claims, parameters = {}) =>
      server.issuer.buildToken({
        scopesOrTransform: (header, payload) => {
          Object.assign(header, parameters)
          Object.assign(payload, claims)
        },
      }),
    agree: async (url) => {
      const local = url.origin === realm ? url : `${realm}${PATH}/auth${url.search}`
      const answer = await fetch(local, { redirect: 'manual' })
      return new URL(answer.headers.get('location') ?? 'about:blank')
    },
    replace: () => {
      const outbound = divert(realm, called)
      return { outbound, keySets: createKeySets(outbound, () => new Date()), now: () => new Date() }
    },
    stop: () => server.stop(),
  }
  server.service.on('beforeTokenSigning', (token) => Object.assign(token.payload, openId.account))
  server.service.on('beforeUserinfo', (answer) => {
    answer.body = { ...openId.account }
  })
  // The issuer is different at the public host and on loopback.
  server.service.on('beforeWellKnownOpenIdConfiguration', (answer) => {
    answer.body = JSON.parse(JSON.stringify(answer.body).replaceAll(realm, ISSUER))
  })
  return openId
}

/** Sends calls for public hosts to this server, and leaves all others unchanged. */
function divert(realm: string, called: string[]): AuthDeps['outbound'] {
  const outbound = createOutbound([])
  return {
    ...outbound,
    send: async (request) => {
      const { origin, hostname, pathname } = new URL(request.url)
      called.push(hostname + pathname)
      if (origin === ISSUER) return outbound.send({ ...request, url: realm + pathname, origin: 'operator' })
      if (origin === realm || hostname === '127.0.0.1') return outbound.send(request)
      const place = placeOf(request.url)
      if (!place) throw new Error(`nobody knows ${hostname}`)
      const answer = await outbound.send({ ...request, url: realm + place.path, origin: 'operator' })
      return place.issuer === undefined ? answer : { ...answer, body: answer.body.replaceAll(ISSUER, place.issuer) }
    },
  }
}

interface Place {
  readonly path: string
  readonly issuer?: string
}

/** Returns the server's path for the keys, tokens or metadata of a built-in provider. */
function placeOf(address: string): Place | undefined {
  const [issuer, metadata] = address.split('/.well-known/openid-configuration')
  if (issuer?.startsWith('https://accounts.snapchat.com/') && metadata === '') {
    return { path: '/.well-known/openid-configuration', issuer }
  }
  if (address === 'https://oauth2.googleapis.com/token') return { path: `${PATH}/token` }
  return /\.com\/.*(certs|keys|jwks\/)$/.test(address) ? { path: `${PATH}/certs` } : undefined
}

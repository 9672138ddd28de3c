import { CompactSign } from 'jose'
import { z } from 'zod'
import { OPERATOR } from '../forged-token.ts'
import { type ExternalApp, type Landing, openExternalApp } from './external-app.ts'
import { ACCESS_TOKEN, CODE, JWKS, signText } from './provider-stub.ts'

/** The issuer of the custom providers, and the host of their endpoints. */
const CUSTOM_ISSUER = 'https://idp.example.com'
/** The service's client account at the custom providers. */
export const CUSTOM_CLIENT = {
  client_id: 'custom-client',
  client_secret: 'a secret of at least thirty-two bytes',
} as const

/** The answers of a custom provider. A string is sent as it is. */
export interface CustomAnswers {
  readonly token?: unknown
  readonly tokenStatus?: number
  readonly userinfo?: unknown
  /** The claims of the id_token as JSON. `claimsText` adds the others. */
  readonly idToken?: string
  /** Further members of the metadata. */
  readonly metadata?: object
}

/** The service with custom providers that admins add. */
export interface CustomApp extends ExternalApp {
  /** Plays the provider of `CUSTOM_ISSUER`. */
  play(answers: CustomAnswers): void
  add(members: object): Promise<{ readonly status: number; readonly body: unknown }>
  change(identifier: string, members: object): Promise<{ readonly status: number; readonly body: unknown }>
  /** Goes to the provider and comes back. @returns the page where the browser ends */
  signIn(identifier: string, more?: Readonly<Record<string, string>>): Promise<Landing>
  /** The subjects of all identities, and the ids of their users. */
  identities(): Promise<readonly { readonly provider_id: string; readonly user_id: string }[]>
}

/** An oauth2 provider whose user id is the member `id`. */
export const oauth2 = (identifier: string, members: object = {}): object => ({
  provider_type: 'oauth2',
  identifier,
  name: 'Custom',
  ...CUSTOM_CLIENT,
  authorization_url: `${CUSTOM_ISSUER}/authorize`,
  token_url: `${CUSTOM_ISSUER}/token`,
  userinfo_url: `${CUSTOM_ISSUER}/userinfo`,
  attribute_mapping: { sub: 'id' },
  ...members,
})

export const oidc = (identifier: string, members: object = {}): object => ({
  provider_type: 'oidc',
  identifier,
  name: 'Custom',
  ...CUSTOM_CLIENT,
  issuer: CUSTOM_ISSUER,
  ...members,
})

/** Returns the claims of an id_token for this service as JSON text, valid at `now`. */
export function claimsText(now: Date, claims: string): string {
  const iat = Math.floor(now.getTime() / 1_000)
  const common = { iss: CUSTOM_ISSUER, aud: CUSTOM_CLIENT.client_id, iat, exp: iat + 3_600 }
  return JSON.stringify(common).replace(/\}$/, `,${claims.replace(/^\{/, '')}`)
}

/** Signs a token with the client secret. */
export function signBySecret(
  text: string | Uint8Array,
  secret: string = CUSTOM_CLIENT.client_secret,
  header = {},
): Promise<string> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  const signer = new CompactSign(bytes).setProtectedHeader({ alg: 'HS256', ...header })
  return signer.sign(new TextEncoder().encode(secret))
}

export async function openCustomApp(settings: Readonly<Record<string, string>> = {}): Promise<CustomApp> {
  const service = await openExternalApp({ AUTH_CUSTOM_OAUTH_ENABLED: 'true', ...settings })
  const ask = async (method: 'POST' | 'PUT', path: string, payload: object) => {
    const answer = await service.app.inject({
      method,
      url: `/admin/custom-providers${path}`,
      payload,
      headers: OPERATOR,
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  return {
    ...service,
    play: ({ token = {}, tokenStatus: status = 200, userinfo, idToken, metadata }) =>
      service.answer(async (call) => {
        if (call === `GET ${CUSTOM_ISSUER}/.well-known/openid-configuration`) return { body: toMetadata(metadata) }
        if (call === `GET ${CUSTOM_ISSUER}/keys`) return { body: JWKS }
        if (call === `GET ${CUSTOM_ISSUER}/userinfo`)
          return userinfo === undefined ? { status: 404 } : { body: userinfo }
        if (call !== `POST ${CUSTOM_ISSUER}/token`) return undefined
        if (typeof token === 'string') return { status, body: token }
        const text = idToken?.startsWith('{') ? await signText(claimsText(service.clock.now(), idToken)) : idToken
        return {
          status,
          body: { access_token: ACCESS_TOKEN, token_type: 'bearer', id_token: text, ...Members.parse(token) },
        }
      }),
    add: (members) => ask('POST', '', members),
    change: (identifier, members) => ask('PUT', `/${identifier}`, members),
    signIn: async (identifier, more = {}) => {
      const { url, state } = await service.begin(identifier)
      const { pathname } = new URL(url.searchParams.get('redirect_uri') ?? '')
      return service.comeBack({ state, code: CODE, ...more }, pathname)
    },
    identities: () =>
      service.deps.db.selectFrom('identities').select(['provider_id', 'user_id']).orderBy('provider_id').execute(),
  }
}

const Members = z.record(z.string(), z.unknown())

function toMetadata(metadata: object = {}): object {
  return {
    issuer: CUSTOM_ISSUER,
    authorization_endpoint: `${CUSTOM_ISSUER}/authorize`,
    token_endpoint: `${CUSTOM_ISSUER}/token`,
    userinfo_endpoint: `${CUSTOM_ISSUER}/userinfo`,
    jwks_uri: `${CUSTOM_ISSUER}/keys`,
    ...metadata,
  }
}

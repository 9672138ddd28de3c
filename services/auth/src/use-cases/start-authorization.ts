import { randomUUID } from 'node:crypto'
import type { AuthDeps } from '../deps.ts'
import { validationFailed } from '../errors.ts'
import { exchangeFailed, inviteUnknown } from '../external-errors.ts'
import {
  insertAuthorizationFlow,
  type LinkingTarget,
  type NewAuthorizationFlow,
} from '../flows/authorization-flow-repository.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { authorizationUrl } from '../providers/authorization-url.ts'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from '../providers/configured-provider.ts'
import { describeFailure } from '../providers/describe-failure.ts'
import { requestToken } from '../providers/oauth1-client.ts'
import type { OAuth1Provider } from '../providers/provider.ts'
import { hashLinkToken } from '../one-time-tokens/one-time-token.ts'
import { findTokenByLink } from '../one-time-tokens/one-time-token-repository.ts'
import { sealSecret } from '../secrets/sealed-secret.ts'
import { lockLinkingUser } from './find-caller.ts'
import { findProvider } from './find-provider.ts'

/** A wish to sign in at a provider. */
export interface StartAuthorization {
  readonly provider: string
  /** Beside those that the provider is always asked for; comma or space separated. */
  readonly scopes: string
  /** A permitted target. */
  readonly redirectTo: string
  readonly pkce: PkceChallenge | undefined
  /** Of a mail's link; undefined: nobody accepts an invitation. */
  readonly inviteToken: string | undefined
  /** The whole query of the request: what is not ours is passed on. */
  readonly query: Readonly<Record<string, string>>
  /** Whose account the identity will be for; null signs in whoever comes back. */
  readonly linking: LinkingTarget | null
}

const VERIFIER_BYTES = 32
const NONCE_BYTES = 12

/**
 * Begins a sign-in at a provider: stores the flow and answers where the browser has to go (reference: GET /authorize).
 * @throws validationFailed, inviteUnknown, exchangeFailed
 */
export async function startAuthorization(deps: AuthDeps, wish: StartAuthorization): Promise<string> {
  const { provider: name, redirectTo, pkce, linking } = wish
  const configured = await findProvider(deps, name)
  if (!configured) throw validationFailed({ message: unsupported(name) })
  const id = randomUUID()
  const inviteTokenHash = await findInvitation(deps, wish.inviteToken)
  const begun = await begin(deps, configured, { ...wish, id })
  const seal = (secret: string | undefined) =>
    secret === undefined ? null : sealSecret(deps.encryptionKeys, id, secret, deps.randomBytes(NONCE_BYTES))
  await remember(deps, {
    ...{ id, provider: name, redirectTo, pkce, linking, inviteTokenHash, at: deps.now() },
    codeVerifier: seal(begun.codeVerifier),
    requestToken: seal(begun.requestToken),
  })
  return begun.url
}

/** One that links is of a session, which may have ended meanwhile. @throws what lockLinkingUser throws */
async function remember(deps: AuthDeps, flow: NewAuthorizationFlow): Promise<void> {
  const { linking } = flow
  if (linking === null) return insertAuthorizationFlow(deps.db, flow)
  await deps.db.transaction().execute(async (trx) => {
    await lockLinkingUser(trx, deps, linking)
    await insertAuthorizationFlow(trx, flow)
  })
}

/** Where the browser goes, and what has to be known when it comes back. */
interface Begun {
  readonly url: string
  readonly codeVerifier?: string
  /** JSON of an `OAuth1Token`. */
  readonly requestToken?: string
}

function begin(
  deps: AuthDeps,
  configured: AnyConfiguredProvider,
  wish: StartAuthorization & { readonly id: string },
): Begun | Promise<Begun> {
  if (isOAuth1(configured)) return beginOAuth1(deps, configured, wish.id)
  const { id: state, scopes, query } = wish
  if (!configured.provider.usesPkce) return { url: authorizationUrl(configured, { state, scopes, query }) }
  const codeVerifier = deps.randomBytes(VERIFIER_BYTES).toString('base64url')
  return { url: authorizationUrl(configured, { state, scopes, query, codeVerifier }), codeVerifier }
}

/** The provider gives a token first, which stands for the whole request. The state is a part of where it returns to. */
async function beginOAuth1(
  deps: AuthDeps,
  configured: ConfiguredProvider<OAuth1Provider>,
  state: string,
): Promise<Begun> {
  const callback = new URL(configured.account.redirectUri)
  callback.searchParams.set('state', state)
  const token = await requestToken(deps, configured, callback.href).catch((error) => {
    throw exchangeFailed({ cause: describeFailure(error) })
  })
  const url = new URL(configured.provider.authorizeUrl)
  url.searchParams.set('oauth_token', token.token)
  return { url: url.href, requestToken: JSON.stringify(token) }
}

/** The hash of the token of an invitation that still holds. @throws inviteUnknown */
async function findInvitation({ db, now }: AuthDeps, token: string | undefined): Promise<Buffer | null> {
  if (token === undefined) return null
  const hash = hashLinkToken(token)
  const found = await findTokenByLink(db, hash, ['confirmation'])
  if (!found || Date.parse(found.expiresAt) <= now().getTime()) throw inviteUnknown()
  return hash
}

function unsupported(name: string): string {
  return `Unsupported provider: ${name === '' ? 'no provider is named' : 'provider is not enabled'}`
}

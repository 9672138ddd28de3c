import { randomUUID } from 'node:crypto'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import { allowInsecureRequests, customFetch, protectedResourceRequest } from 'oauth4webapi'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { authorizationCodeMissing, profileFailed, providerRefused, requestTokenWrong } from '../external-errors.ts'
import { exchangeCode } from '../external-providers/begin-sign-in.ts'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from '../external-providers/custom-provider.ts'
import { matchesAccessToken, verifyIdToken, verifyUserinfo } from '../external-providers/id-token.ts'
import type { KeySets } from '../external-providers/key-sets.ts'
import {
  exchangeVerifier,
  type OAuth1Deps,
  OAuth1Token,
  readOAuth1Profile,
} from '../external-providers/oauth1-client.ts'
import {
  describeFailure,
  type ExternalProfile,
  failExchange,
  type Grant,
  type OAuth1Provider,
  type OAuth2Provider,
  type ProviderApi,
  parseForeignJson,
} from '../external-providers/provider.ts'
import type { AuthorizationFlow } from '../flows/flow-repository.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { askBeforeUserCreated } from '../hooks/user-created-job.ts'
import { type ExternalAccount, toExternalAccount, trustedEmails } from '../identities/identity.ts'
import { findExternalIdentity, listOwnersOfEmails } from '../identities/identity-repository.ts'
import { toTimestamp } from '../records/timestamp.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { decryptSecret, type EncryptionKeys, equalSecrets } from '../secrets/encrypted-secret.ts'
import { buildUnconfirmedUser } from '../users/claim-identifier.ts'

export interface AskProviderDeps extends ProfileDeps, OAuth1Deps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'security'>
  readonly encryptionKeys: EncryptionKeys
}

/** The answer that a browser brings from a provider, as a query or as Apple's form. */
export interface ProviderAnswer {
  readonly code?: string | undefined
  readonly error?: string | undefined
  readonly error_description?: string | undefined
  /** Only Apple sends it. */
  readonly user?: string | undefined
  /** Only OAuth 1.0a uses it. */
  readonly oauth_token?: string | undefined
  readonly oauth_verifier?: string | undefined
  readonly denied?: string | undefined
}

/** The external account of the sign-in, and the tokens of the provider. */
export interface ProviderSignIn {
  readonly account: ExternalAccount
  readonly tokens: { readonly access: string; readonly refresh: string | undefined }
}

/** The id of a flow, and its stored secrets for the answer of the provider. */
type ReturnedFlow = Pick<AuthorizationFlow, 'id' | 'codeVerifier' | 'requestToken'>

/** Requests the signed-in account from a provider, without holding a database connection. */
export async function askProvider(
  deps: AskProviderDeps,
  configured: AnyConfiguredProvider,
  flow: ReturnedFlow,
  answer: ProviderAnswer,
): Promise<ProviderSignIn> {
  refuseDenied(answer)
  const { profile, tokens } = isOAuth1(configured)
    ? await askOAuth1(deps, configured, flow, answer)
    : await askOAuth2(deps, configured, flow, answer)
  try {
    return { account: toExternalAccount(configured, profile, deps.config), tokens }
  } catch (error) {
    return failProfile(error)
  }
}

const OAUTH_ERROR = /^[a-z0-9._-]{1,64}$/i
const DESCRIPTION_LENGTH_MAX = 300

/**
 * Refuses an answer with an error, because the user or the provider declined. The client gets the name of the error, but its
 * description is only logged. Anybody can write a description into a URL, and an application would show it as its own text.
 */
function refuseDenied({ error, error_description: description, denied }: ProviderAnswer): void {
  if (error === undefined && denied === undefined) return
  const cause = new Error(description?.slice(0, DESCRIPTION_LENGTH_MAX) ?? 'the provider gives no reason')
  const name = error ?? 'access_denied'
  throw providerRefused({ cause, details: { error: OAUTH_ERROR.test(name) ? name : 'server_error' } })
}

interface ProviderProfile {
  readonly profile: ExternalProfile
  readonly tokens: ProviderSignIn['tokens']
}

async function askOAuth2(
  deps: AskProviderDeps,
  configured: ConfiguredProvider<OAuth2Provider>,
  flow: ReturnedFlow,
  { code, user: userField }: ProviderAnswer,
): Promise<ProviderProfile> {
  if (!code) throw authorizationCodeMissing()
  const codeVerifier = flow.codeVerifier ? decryptSecret(deps.encryptionKeys, flow.id, flow.codeVerifier) : undefined
  const grant = await exchangeCode(deps.outbound, configured, { code, codeVerifier, userField }).catch(failExchange)
  const profile = await readProfile(deps, configured, grant).catch(failProfile)
  return { profile, tokens: { access: grant.accessToken, refresh: grant.refreshToken } }
}

async function askOAuth1(
  deps: AskProviderDeps,
  configured: ConfiguredProvider<OAuth1Provider>,
  { id, requestToken }: ReturnedFlow,
  { oauth_token: token, oauth_verifier: verifier }: ProviderAnswer,
): Promise<ProviderProfile> {
  const issued = requestToken && OAuth1Token.parse(JSON.parse(decryptSecret(deps.encryptionKeys, id, requestToken)))
  if (!issued || !verifier || !token || !equalSecrets(token, issued.token)) throw requestTokenWrong()
  const granted = await exchangeVerifier(deps, configured, { token: issued, verifier }).catch(failExchange)
  const profile = await readOAuth1Profile(deps, configured, granted).catch(failProfile)
  return { profile, tokens: { access: granted.token, refresh: undefined } }
}

function failProfile(error: unknown): never {
  throw profileFailed({ cause: describeFailure(error) })
}

interface ProfileDeps {
  readonly outbound: Outbound
  readonly keySets: KeySets
  readonly now: () => Date
}

/** A signed answer has three parts, separated by dots. JSON cannot begin in this way. */
const SIGNED = /^\s*[\w-]+\.[\w-]+\.[\w-]+\s*$/
const Claims = z.record(z.string(), z.unknown())

/** Reads the profile of the signed-in user. @throws Error if the provider returns none, or an invalid one */
export function readProfile(
  { outbound, keySets, now }: ProfileDeps,
  { provider, clientIds, origin }: ConfiguredProvider<OAuth2Provider>,
  grant: Grant,
): Promise<ExternalProfile> {
  const send = outboundFetch(outbound, origin)
  const fetchText = async (url: string, headers?: Readonly<Record<string, string>>): Promise<string> => {
    const response = await protectedResourceRequest(
      grant.accessToken,
      'GET',
      new URL(url),
      new Headers({ accept: 'application/json', ...headers }),
      null,
      { [customFetch]: send, [allowInsecureRequests]: origin === 'operator' },
    )
    if (!response.ok) throw new Error(`the provider answered ${response.status} when asked for a profile`)
    return response.text()
  }
  const get: ProviderApi['get'] = async (url, schema, headers) =>
    schema.parse(parseForeignJson(await fetchText(url, headers)))
  const getClaims: ProviderApi['getClaims'] = async (url) => {
    const text = await fetchText(url)
    const { idTokens: rules, issuer } = provider
    if (!rules || !SIGNED.test(text)) return Claims.parse(parseForeignJson(text))
    return verifyUserinfo(keySets, text.trim(), { rules, issuer, audiences: clientIds, now: now() })
  }
  const idTokenClaims: ProviderApi['idTokenClaims'] = async () => {
    const { idToken, accessToken } = grant
    if (idToken === undefined || !provider.idTokens) throw new Error('the provider has sent no id_token')
    const rules = provider.idTokens
    const { claims, alg } = await verifyIdToken(keySets, idToken, { rules, audiences: clientIds, now: now() })
    if (claims.at_hash !== undefined && !matchesAccessToken(claims.at_hash, accessToken, alg)) {
      throw new Error('the access token is not the one that the id_token came with')
    }
    return claims
  }
  return provider.identify({ get, getClaims, idTokenClaims }, grant)
}

interface AskBeforeDeps {
  readonly config: Pick<AuthConfig, 'jwt' | 'mail'>
  readonly db: Db
  readonly hooks: Hooks
  readonly now: () => Date
}

/** Calls the hook BEFORE_USER_CREATED for an unknown external account, before any lock is taken. */
export async function askBeforeExternalUser(
  deps: AskBeforeDeps,
  account: ExternalAccount,
  context: Pick<RequestContext, 'audience' | 'ip'>,
): Promise<void> {
  if (!deps.hooks.isOn('BEFORE_USER_CREATED')) return
  const emails = trustedEmails(account, deps.config.mail.autoconfirm ? 'all' : 'verified')
  if (await findExternalIdentity(deps.db, account)) return
  if ((await listOwnersOfEmails(deps.db, emails)).length > 0) return
  const { provider, subject, data, email } = account
  const ids = { userId: randomUUID(), identityId: randomUUID() }
  const fresh = { ...ids, audience: context.audience, role: deps.config.jwt.defaultRole, data, now: deps.now() }
  const identifier = { kind: 'email', value: email?.email ?? '' } as const
  const { user } = buildUnconfirmedUser({ ...fresh, identifier })
  const at = toTimestamp(fresh.now)
  await askBeforeUserCreated(
    deps,
    {
      user: {
        ...user,
        email: email?.email ?? null,
        confirmationSentAt: null,
        appMetadata: { provider, providers: [provider] },
      },
      identities: [
        {
          id: fresh.identityId,
          userId: fresh.userId,
          provider,
          providerId: subject,
          data,
          email: email?.email ?? null,
          lastSignInAt: at,
          createdAt: at,
          updatedAt: at,
        },
      ],
    },
    context.ip,
  )
}

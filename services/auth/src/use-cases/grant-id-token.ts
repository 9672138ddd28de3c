import type { Names } from '@trestle/migrations/migration.ts'
import { PROVIDERS } from '../config/external.ts'
import type { Trx } from '../database.ts'
import { serviceUnavailable } from '../errors.ts'
import { askBeforeExternalUser } from '../external-accounts/ask-provider.ts'
import {
  mailConfirmation,
  refuseUnverified,
  refuseUnverifiedEmail,
  type UnverifiedDeps,
} from '../external-accounts/find-owner.ts'
import { linkExternalIdentity, requireManualLinking, signInExternally } from '../external-accounts/sign-in.ts'
import {
  idTokenAudienceForeign,
  idTokenInvalid,
  idTokenMissing,
  idTokenNonceRequired,
  idTokenNonceUnpaired,
  idTokenNonceWrong,
  idTokenSourceMissing,
  idTokensUnsupported,
  idTokenWithoutEmail,
  providerDisabled,
} from '../external-errors.ts'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from '../external-providers/custom-provider.ts'
import {
  builtInProviders,
  type FindProviderDeps,
  findProvider,
  issuerOf,
  takesIdTokens,
} from '../external-providers/find-provider.ts'
import {
  ForeignAudience,
  KeysUnavailable,
  matchesAccessToken,
  matchesNonce,
  verifyIdToken,
} from '../external-providers/id-token.ts'
import type { KeySets } from '../external-providers/key-sets.ts'
import type { IdTokenClaims, IdTokenRules, OAuth2Provider } from '../external-providers/provider.ts'
import type { LinkingTarget } from '../flows/flow-repository.ts'
import { type ExternalAccount, toExternalAccount } from '../identities/identity.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { findCaller, requireIdentityOwner, requireLinkable } from '../sessions/active-caller.ts'
import { createSession } from '../sessions/create-session.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import { withUniqueAccount } from '../users/claim-identifier.ts'

export type GrantIdTokenDeps = HookedDeps &
  FindProviderDeps &
  SessionViewDeps &
  UnverifiedDeps & { readonly names: Names; readonly keySets: KeySets }

/** The members of the request. Empty members count as absent. */
export interface GrantIdTokenInput {
  readonly idToken: string | undefined
  readonly provider: string | undefined
  /** Used instead of `provider`, together with `clientId`. */
  readonly issuer: string | undefined
  readonly clientId: string | undefined
  readonly accessToken: string | undefined
  readonly nonce: string | undefined
  /** The account to which the identity is linked. `undefined` for a sign-in. */
  readonly linkTo: TokenUser | undefined
  readonly context: RequestContext
}

/** Signs in by an id_token that an app has received from a provider (reference: Id token grant). */
export async function grantIdToken(deps: GrantIdTokenDeps, input: GrantIdTokenInput): Promise<SessionView> {
  const { linkTo, context } = input
  if (linkTo) requireManualLinking(deps.config)
  if (!input.idToken) throw idTokenMissing()
  const source = await findIdTokenProvider(deps, input)
  const { name: provider } = source.configured
  const { requireEmailInIdToken } = deps.config.compatibility
  const read = await readAccount(deps, input.idToken, { ...source, ...input })
  const needsNone = !requireEmailInIdToken && deps.config.mail.autoconfirm
  const account = { ...read, emailOptional: read.emailOptional || needsNone }
  const target = linkTo && (await findLinkingTarget(deps, linkTo))
  if (!target) await askBeforeExternalUser(deps, account, context)
  const store = async (trx: Trx, repeatable: Repeatable<GrantIdTokenDeps>) => {
    const signedIn = target
      ? await linkExternalIdentity(trx, repeatable, { account, target, ip: context.ip })
      : await signInExternally(trx, repeatable, { account, context })
    if (signedIn.verdict !== 'signed-in') return signedIn
    const { user, credentialSince } = signedIn
    const shown = { method: 'oauth', credentialSince, continues: target?.sessionId ?? null } as const
    return { ...signedIn, session: await createSession(trx, repeatable, user, { ...context, ...shown }) }
  }
  const outcome = await runHooked(deps, store, (work) => withUniqueAccount(deps, work))
  if (outcome.verdict === 'no-email' && requireEmailInIdToken) throw idTokenWithoutEmail()
  if (outcome.verdict === 'no-email') return refuseUnverifiedEmail(provider)
  const { user, mailTo } = outcome
  if (outcome.verdict === 'unverified')
    return refuseUnverified(deps, { provider, user, linking: target, mailTo, context })
  await mailConfirmation(deps, { user, mailTo, context })
  return signNewSession(deps, outcome.session)
}

async function findLinkingTarget(
  deps: Pick<GrantIdTokenDeps, 'config' | 'db' | 'now'>,
  caller: TokenUser,
): Promise<LinkingTarget> {
  const active = await findCaller(deps, caller)
  requireLinkable(active)
  await requireIdentityOwner(deps.db, deps, active)
  return { userId: active.user.id, sessionId: active.session?.id ?? null, aal: active.session?.aal ?? 'aal1' }
}

async function readAccount(
  deps: Pick<GrantIdTokenDeps, 'config' | 'now' | 'keySets'>,
  idToken: string,
  {
    configured,
    rules,
    audiences,
    nonce,
    accessToken,
  }: IdTokenProvider & Pick<GrantIdTokenInput, 'nonce' | 'accessToken'>,
): Promise<ExternalAccount> {
  const verified = await verifyIdToken(deps.keySets, idToken, { rules, audiences, now: deps.now() }).catch(refuseToken)
  const { claims, alg } = verified
  const { idTokenNonceRequired: isRequired } = deps.config.security
  if (isRequired && !nonce) throw idTokenNonceRequired()
  if (isRequired || (configured.checksNonce && rules.nonce === 'checked')) requireNonce(claims, nonce)
  if (accessToken && claims.at_hash !== undefined && !matchesAccessToken(claims.at_hash, accessToken, alg)) {
    return refuseToken(new Error('the access token is not the one that the id_token came with'))
  }
  const { security } = deps.config
  try {
    return toExternalAccount(configured, rules.readProfile(claims), {
      security,
      compatibility: { showEmptyCustomClaims: false },
    })
  } catch (cause) {
    return refuseToken(cause)
  }
}

function requireNonce({ nonce: claim }: IdTokenClaims, nonce: string | undefined): void {
  if (Boolean(claim) !== Boolean(nonce)) throw idTokenNonceUnpaired()
  if (nonce && !matchesNonce(claim, nonce)) throw idTokenNonceWrong()
}

function refuseToken(cause: unknown): never {
  if (cause instanceof KeysUnavailable) throw serviceUnavailable({ cause })
  if (cause instanceof ForeignAudience) throw idTokenAudienceForeign()
  throw idTokenInvalid({ cause })
}

interface IdTokenProvider {
  readonly configured: ConfiguredProvider<OAuth2Provider>
  readonly rules: IdTokenRules
  readonly audiences: readonly string[]
}

/**
 * Finds the provider of an id_token before the token is read (reference: Id token grant). An issuer must be listed in
 * EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS and belong to an enabled provider. The client id in the request must belong to this service.
 * Otherwise tokens for any application would be accepted.
 */
async function findIdTokenProvider(
  deps: Pick<GrantIdTokenDeps, 'config' | 'db' | 'encryptionKeys'>,
  source: {
    readonly provider: string | undefined
    readonly issuer: string | undefined
    readonly clientId: string | undefined
  },
): Promise<IdTokenProvider> {
  const { provider, issuer, clientId } = source
  if (provider) {
    const configured = await findProvider(deps, provider)
    if (!configured)
      return refuseProvider(
        deps,
        provider,
        PROVIDERS.find((name) => name === provider),
      )
    return toIdTokenProvider(configured, configured.clientIds)
  }
  if (!issuer || !clientId) throw idTokenSourceMissing()
  const { external, compatibility } = deps.config
  const issuing = builtInProviders(external).find((candidate) => isIssuer(candidate, issuer))
  if (issuing && compatibility.acceptIssuersOfEnabledProviders) return toIdTokenProvider(issuing, issuing.clientIds)
  const isPermitted = external.idTokenIssuers.includes(issuer) && issuing?.clientIds.includes(clientId)
  if (issuing && isPermitted) return toIdTokenProvider(issuing, [clientId])
  return refuseProvider(
    deps,
    issuer,
    PROVIDERS.find((name) => issuerOf(name) === issuer),
  )
}

function toIdTokenProvider(configured: AnyConfiguredProvider, audiences: readonly string[]): IdTokenProvider {
  const rules = isOAuth1(configured) ? undefined : configured.provider.idTokens
  if (isOAuth1(configured) || !rules) return refuseUnsupported(configured.name)
  return { configured, rules, audiences }
}

function isIssuer(configured: AnyConfiguredProvider, issuer: string): boolean {
  return !isOAuth1(configured) && configured.provider.idTokens?.keysOf(issuer) !== undefined
}

/** Refuses a disabled provider, or one that is not for this client. @param known the provider, if it exists and is disabled */
function refuseProvider(
  { config }: Pick<GrantIdTokenDeps, 'config'>,
  name: string,
  known: (typeof PROVIDERS)[number] | undefined,
): never {
  const isUnsupported = known === undefined || !takesIdTokens(known)
  if (isUnsupported && config.compatibility.reportUnknownIssuerAsUnsupported) return refuseUnsupported(name)
  throw providerDisabled({ issuer: known ? issuerOf(known) : name })
}

function refuseUnsupported(provider: string): never {
  throw idTokensUnsupported({ provider })
}

import type { Names } from '@trestle/migrations/migration.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import { badCodeVerifier, flowStateExpired, flowStateNotFound } from '../errors.ts'
import { refuseUnverified, type UnverifiedDeps } from '../external-accounts/find-owner.ts'
import { type ExternalOutcome, linkExternalIdentity } from '../external-accounts/sign-in.ts'
import { deleteFlow, type FinishedFlow, findFlowByCode } from '../flows/flow-repository.ts'
import { matchesCodeChallenge } from '../flows/pkce.ts'
import { permittedEnd } from '../flows/redirect-allow-list.ts'
import { authCodeMissing } from '../request-errors.ts'
import { decryptSecret, type EncryptedSecret, type EncryptionKeys } from '../secrets/encrypted-secret.ts'
import { createSession } from '../sessions/create-session.ts'
import type { IssuedSession, SessionOrigin } from '../sessions/session.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import { withUniqueAccount } from '../users/claim-identifier.ts'
import { isBanned, refuseBannedSignIn } from '../users/user.ts'
import { findAddressChange } from '../users/user-change-repository.ts'
import { lockUserById } from '../users/user-repository.ts'

export type GrantAuthCodeDeps = UnverifiedDeps &
  SessionViewDeps & { readonly names: Names; readonly encryptionKeys: EncryptionKeys }

/** The members of the request. Empty members count as absent. */
export interface GrantAuthCodeInput extends SessionOrigin {
  readonly authCode: string | undefined
  readonly codeVerifier: string | undefined
  /** The key of the client's rate limits. `undefined` if the client is not limited. */
  readonly limitKey: string | undefined
}

interface ProviderTokens {
  readonly provider_token?: string
  readonly provider_refresh_token?: string
}

type AuthCodeSession = SessionView & ProviderTokens

/**
 * Exchanges the auth code of a PKCE flow for a session (reference: PKCE grant). A code works once, because only one of several
 * concurrent requests can delete the flow. A wrong verifier does not change the flow. In the strict profile, the exchange links
 * the identity of a linking flow.
 */
export async function grantAuthCode(deps: GrantAuthCodeDeps, input: GrantAuthCodeInput): Promise<AuthCodeSession> {
  const { authCode, codeVerifier } = input
  if (!authCode || !codeVerifier) throw authCodeMissing()
  const flow = await findFlowByCode(deps.db, authCode)
  if (!flow) refuseFlow()
  const { flowStateLifetimeMs } = deps.config.external
  if (deps.now().getTime() >= Date.parse(flow.codeIssuedAt) + flowStateLifetimeMs) throw flowStateExpired()
  if (!matchesCodeChallenge(flow.pkce, codeVerifier)) throw badCodeVerifier()
  const outcome = await withUniqueAccount(deps, (trx) => exchangeFlow(trx, deps, { ...input, flow }))
  if (outcome.verdict === 'signed-in') {
    return { ...(await signNewSession(deps, outcome.session)), ...decryptProviderTokens(deps, flow) }
  }
  const { user, mailTo } = outcome
  const linking = flow.link?.target
  const context = {
    audience: user.audience,
    redirectTo: permittedEnd(flow.redirectTo, deps.config),
    linkBase: deps.config.server.externalUrl,
    ip: input.ip,
    limitKey: input.limitKey,
  }
  return refuseUnverified(deps, { provider: flow.provider, user, linking, mailTo, context })
}

/** Returns the tokens of an external provider. Only this answer contains them. */
function decryptProviderTokens(
  { encryptionKeys }: Pick<GrantAuthCodeDeps, 'encryptionKeys'>,
  { id, providerTokens }: FinishedFlow,
): ProviderTokens {
  const open = (encrypted: EncryptedSecret) => decryptSecret(encryptionKeys, id, encrypted)
  const { access, refresh } = providerTokens
  return {
    ...(access ? { provider_token: open(access) } : {}),
    ...(refresh ? { provider_refresh_token: open(refresh) } : {}),
  }
}

type ExchangedFlow =
  | { readonly verdict: 'signed-in'; readonly session: IssuedSession }
  | Extract<ExternalOutcome, { verdict: 'unverified' }>

async function exchangeFlow(
  trx: Trx,
  deps: Pick<GrantAuthCodeDeps, 'config' | 'logger' | 'now' | 'randomBytes' | 'jobs'>,
  { flow, userAgent, ip }: SessionOrigin & { readonly flow: FinishedFlow },
): Promise<ExchangedFlow> {
  const user = await lockUserById(trx, flow.userId)
  if (!user || user.deletedAt !== null) refuseFlow()
  // An exchange that links an identity refuses SSO users later, with its own error.
  if (user.isSsoUser && !flow.isOfSsoUser && !flow.link) refuseFlow()
  if (isBanned(user, deps.now())) refuseBannedSignIn()
  if (!(await deleteFlow(trx, flow))) refuseFlow()
  const linked = flow.link && (await linkExternalIdentity(trx, deps, { ...flow.link, ip }))
  if (linked?.verdict === 'unverified') return linked
  await recordAudit(trx, deps, { action: 'login', actor: user, ip, traits: { provider: flow.provider } })
  const { method } = flow
  const isByMail = method !== 'oauth'
  const credentialSince = isByMail ? ((await findAddressChange(trx, user.id, 'email')) ?? null) : flow.credentialSince
  const shown = { method, credentialSince, continues: flow.linkingSessionId }
  const session = await createSession(trx, deps, user, { ...shown, userAgent, ip })
  return { verdict: 'signed-in', session }
}

function refuseFlow(): never {
  throw flowStateNotFound()
}

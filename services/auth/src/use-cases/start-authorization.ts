import { randomUUID } from 'node:crypto'
import type { AuthConfig } from '../config.ts'
import { providerUnknown, providerUnnamed } from '../external-errors.ts'
import { beginSignIn } from '../external-providers/begin-sign-in.ts'
import { type FindProviderDeps, findProvider } from '../external-providers/find-provider.ts'
import type { OAuth1Deps } from '../external-providers/oauth1-client.ts'
import { insertAuthorizationFlow, type LinkingTarget, type NewAuthorizationFlow } from '../flows/flow-repository.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { hashLinkToken } from '../one-time-tokens/one-time-token.ts'
import { findTokenByLink } from '../one-time-tokens/one-time-token-repository.ts'
import { ACCEPTED_KINDS } from '../one-time-tokens/verify-request.ts'
import { encryptOptional } from '../secrets/encrypted-secret.ts'
import { lockLinkingUser } from '../sessions/active-caller.ts'
import { requireUser } from '../users/user.ts'

export type StartAuthorizationDeps = FindProviderDeps & OAuth1Deps & { readonly config: AuthConfig }

export interface StartAuthorizationInput {
  readonly provider: string
  /** Scopes in addition to those of the service, separated by commas or spaces. */
  readonly scopes: string
  /** An address that the redirect rules permit. */
  readonly redirectTo: string
  readonly pkce: PkceChallenge | undefined
  /** The token of the invitation that the sign-in accepts. `undefined` without an invitation. */
  readonly inviteToken: string | undefined
  /** The complete query of the request. */
  readonly query: Readonly<Record<string, string>>
  /** The account to which the identity is linked. `null` for a sign-in. */
  readonly linking: LinkingTarget | null
}

/** Begins a sign-in at a provider and stores its flow (reference: GET /authorize). @returns the URL for the browser */
export async function startAuthorization(
  deps: StartAuthorizationDeps,
  input: StartAuthorizationInput,
): Promise<string> {
  const { scopes, query, pkce, linking } = input
  const provider = deps.config.compatibility.acceptProviderNameInAnyCase ? input.provider.toLowerCase() : input.provider
  const configured = await findProvider(deps, provider)
  if (!configured) throw provider === '' ? providerUnnamed() : providerUnknown()
  const id = randomUUID()
  const inviteTokenHash = await findInvitation(deps, input.inviteToken)
  const begun = await beginSignIn(deps, configured, { state: id, scopes, query })
  await storeFlow(deps, {
    id,
    provider,
    // If EXTERNAL_REDIRECT_URL is set, every flow ends there, whatever the client requests.
    redirectTo: deps.config.external.redirectUrl ?? input.redirectTo,
    pkce,
    inviteTokenHash,
    linking,
    codeVerifier: encryptOptional(deps, id, begun.codeVerifier),
    requestToken: encryptOptional(deps, id, begun.requestToken),
    at: deps.now(),
  })
  return begun.url
}

/** Stores a flow. For a linking flow, checks under the lock of its session that the session is still live. */
async function storeFlow(
  deps: Pick<StartAuthorizationDeps, 'config' | 'db' | 'now'>,
  flow: NewAuthorizationFlow,
): Promise<void> {
  const { linking } = flow
  if (linking === null) return insertAuthorizationFlow(deps.db, flow)
  await deps.db.transaction().execute(async (trx) => {
    await lockLinkingUser(trx, deps, linking)
    await insertAuthorizationFlow(trx, flow)
  })
}

/** Returns the token hash of a valid invitation. */
async function findInvitation(
  { db, now }: Pick<StartAuthorizationDeps, 'db' | 'now'>,
  token: string | undefined,
): Promise<Buffer | null> {
  if (token === undefined) return null
  const hash = hashLinkToken(token)
  const found = await findTokenByLink(db, hash, ACCEPTED_KINDS.invite)
  requireUser(found && Date.parse(found.expiresAt) > now().getTime() ? found.userId : undefined)
  return hash
}

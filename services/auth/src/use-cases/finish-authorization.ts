import type { Names } from '@trestle/migrations/migration.ts'
import type { Trx } from '../database.ts'
import {
  type AskProviderDeps,
  askBeforeExternalUser,
  askProvider,
  type ProviderAnswer,
  type ProviderSignIn,
} from '../external-accounts/ask-provider.ts'
import {
  mailConfirmation,
  refuseCustomProvider,
  refuseUnverified,
  type UnverifiedDeps,
} from '../external-accounts/find-owner.ts'
import {
  acceptInvitation,
  type ExternalOutcome,
  type ExternalSignIn,
  linkExternalIdentity,
  signInExternally,
} from '../external-accounts/sign-in.ts'
import {
  profileWithoutEmail,
  providerNotSupported,
  stateExpired,
  stateInvalid,
  stateMissing,
  stateUnknown,
  stateUsed,
} from '../external-errors.ts'
import { type ReturnPlace, requireOwnAnswer } from '../external-providers/begin-sign-in.ts'
import { findProvider } from '../external-providers/find-provider.ts'
import {
  type AuthorizationFlow,
  claimAuthorizationFlow,
  hashAuthCode,
  updateFinishedFlow,
} from '../flows/flow-repository.ts'
import { generateAuthCode, requirePkce } from '../flows/pkce.ts'
import { permittedEnd } from '../flows/redirect-allow-list.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import { parseId } from '../records/ids.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { encryptOptional, encryptSecret } from '../secrets/encrypted-secret.ts'
import { lockLinkingUser, requireIdentityFactor, requireLinkable } from '../sessions/active-caller.ts'
import { createSession } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import { withUniqueAccount } from '../users/claim-identifier.ts'

export type FinishAuthorizationDeps = HookedDeps &
  AskProviderDeps &
  SessionViewDeps &
  UnverifiedDeps & { readonly names: Names }

/** The context of the returning browser. The flow contains its redirect. */
type ReturnContext = Omit<RequestContext, 'redirectTo'>

export interface FinishAuthorizationInput {
  readonly answer: ProviderAnswer & { readonly state?: string | undefined; readonly iss?: string | undefined }
  /** The provider whose own address was called. `undefined` at the shared address. */
  readonly calledAt: string | undefined
  /** Reads the context after the flow is claimed. Without a flow, the request needs no audience. */
  readonly readContext: () => Promise<ReturnContext>
}

/** The end of a sign-in at a provider: a session, the auth code of a PKCE flow, or an error for the page that began it. */
export type FinishedAuthorization = { readonly redirectTo: string } & (
  | {
      readonly verdict: 'session'
      readonly provider: string
      readonly session: SessionView
      readonly tokens: ProviderSignIn['tokens']
    }
  | { readonly verdict: 'auth-code'; readonly code: string }
  | { readonly verdict: 'failed'; readonly thrown: unknown }
)

/**
 * Finishes a sign-in when the browser returns from the provider (reference: GET /callback and POST /callback). Claims the flow,
 * signs in, and signs the access token.
 */
export async function finishAuthorization(
  deps: FinishAuthorizationDeps,
  { answer, calledAt, readContext }: FinishAuthorizationInput,
): Promise<FinishedAuthorization> {
  const flow = await takeAuthorization(deps, answer.state)
  const { redirectTo, provider } = flow
  const context = { ...(await readContext()), redirectTo }
  try {
    const signedIn = await signInByAnswer(deps, { flow, answer, place: { calledAt, iss: answer.iss }, context })
    if (signedIn.verdict === 'auth-code') return { ...signedIn, redirectTo }
    const session = await signNewSession(deps, signedIn.session)
    return { verdict: 'session', redirectTo, provider, session, tokens: signedIn.tokens }
  } catch (thrown) {
    return { verdict: 'failed', redirectTo, thrown }
  }
}

/** Claims the flow of a `state`. A flow can be claimed only once. */
async function takeAuthorization(
  deps: Pick<FinishAuthorizationDeps, 'config' | 'db' | 'now'>,
  state: string | undefined,
): Promise<AuthorizationFlow> {
  if (!state) throw stateMissing()
  const id = parseId(state)
  if (id === undefined) throw stateInvalid()
  const now = deps.now()
  const taken = await claimAuthorizationFlow(deps.db, id, now)
  if (taken.verdict === 'used') throw stateUsed()
  if (taken.verdict !== 'claimed') return refuseState()
  const { flow } = taken
  if (now.getTime() >= Date.parse(flow.startedAt) + deps.config.external.flowStateLifetimeMs) throw stateExpired()
  // The flow may have begun before the setting changed.
  requirePkce(flow.pkce, deps.config.signup.pkce)
  return { ...flow, redirectTo: permittedEnd(flow.redirectTo, deps.config) }
}

type SessionOrCode =
  | { readonly verdict: 'session'; readonly session: IssuedSession; readonly tokens: ProviderSignIn['tokens'] }
  | { readonly verdict: 'auth-code'; readonly code: string }

/** A claimed flow, and the answer of its provider. */
interface TakenFlow {
  readonly flow: AuthorizationFlow
  readonly answer: ProviderAnswer
  readonly place: ReturnPlace
  readonly context: RequestContext
}

/** Signs in by the answer of a provider. Calls the provider before any lock is taken. */
async function signInByAnswer(
  deps: FinishAuthorizationDeps,
  { flow, answer, place, context }: TakenFlow,
): Promise<SessionOrCode> {
  const { provider: name } = flow
  const configured = await findProvider(deps, name)
  if (!configured) throw providerNotSupported({ provider: name })
  requireOwnAnswer(configured, place)
  const { account, tokens } = await askProvider(deps, configured, flow, answer)
  if (!flow.linking && !flow.inviteTokenHash) await askBeforeExternalUser(deps, account, context)
  const taken = { flow, account, tokens, context }
  const store = async (trx: Trx, repeatable: Repeatable<FinishAuthorizationDeps>) => {
    const signedIn = await signInOrLink(trx, repeatable, taken)
    if (signedIn.verdict !== 'signed-in') return signedIn
    return { ...signedIn, issued: await createSessionOrCode(trx, repeatable, signedIn, taken) }
  }
  const outcome = await runHooked(deps, store, (work) => withUniqueAccount(deps, work))
  if (outcome.verdict === 'no-email') throw profileWithoutEmail()
  const { user, mailTo } = outcome
  const linking = flow.linking ?? undefined
  if (outcome.verdict === 'unverified')
    return refuseUnverified(deps, { provider: name, user, linking, mailTo, context })
  await mailConfirmation(deps, { user, mailTo, context })
  return outcome.issued
}

/**
 * Whether the identity is linked at the exchange of the code instead of the callback. An attacker may send another user to the
 * provider. But the exchange needs the verifier, which only the browser that began the flow has.
 */
function linksAtExchange({ config }: Pick<FinishAuthorizationDeps, 'config'>): boolean {
  return config.signup.pkce === 'required'
}

/** Signs the user in, links the identity or accepts the invitation, depending on the flow. */
async function signInOrLink(
  trx: Trx,
  deps: Repeatable<FinishAuthorizationDeps>,
  { flow, account, context }: Pick<TakenFlow, 'flow' | 'context'> & Pick<ProviderSignIn, 'account'>,
): Promise<ExternalSignIn> {
  const { linking: target, inviteTokenHash } = flow
  if (target && linksAtExchange(deps)) {
    const caller = await lockLinkingUser(trx, deps, target)
    const { user } = caller
    requireLinkable(caller)
    refuseCustomProvider(account, user)
    await requireIdentityFactor(trx, deps, caller)
    return { verdict: 'signed-in', user, credentialSince: user.isAnonymous ? null : deps.now() }
  }
  if (target) return linkExternalIdentity(trx, deps, { account, target, ip: context.ip })
  if (inviteTokenHash) return acceptInvitation(trx, deps, { account, inviteTokenHash, ip: context.ip })
  return signInExternally(trx, deps, { account, context })
}

/** Opens a session, or stores an auth code for the client. */
async function createSessionOrCode(
  trx: Trx,
  deps: Pick<FinishAuthorizationDeps, 'config' | 'now' | 'randomBytes' | 'encryptionKeys'>,
  { user, credentialSince }: Extract<ExternalOutcome, { verdict: 'signed-in' }>,
  { flow, account, tokens, context }: Pick<TakenFlow, 'flow' | 'context'> & ProviderSignIn,
): Promise<SessionOrCode> {
  const continues = flow.linking?.sessionId ?? null
  if (!flow.pkce) {
    return {
      verdict: 'session',
      session: await createSession(trx, deps, user, { ...context, method: 'oauth', credentialSince, continues }),
      tokens,
    }
  }
  const code = generateAuthCode(deps.randomBytes)
  const isBound = await updateFinishedFlow(trx, flow.id, {
    userId: user.id,
    isSsoUser: user.isSsoUser,
    codeHash: hashAuthCode(code),
    tokens: {
      access: encryptSecret(deps, flow.id, tokens.access),
      refresh: encryptOptional(deps, flow.id, tokens.refresh),
    },
    credentialSince,
    linkedAccount: flow.linking && linksAtExchange(deps) ? account : null,
    at: deps.now(),
  })
  if (!isBound) refuseState()
  return { verdict: 'auth-code', code }
}

function refuseState(): never {
  throw stateUnknown()
}

import { HttpError } from '@trestle/common/errors/define-error.ts'
import { sendEmailChange } from '../address-changes/send-address-change.ts'
import { overEmailRateLimit } from '../errors.ts'
import { externalEmailMailed, externalEmailUnverified, linkedEmailUnverified } from '../external-errors.ts'
import type { LinkingTarget } from '../flows/flow-repository.ts'
import { type MessageRequestDeps, requestMessage } from '../message-requests/request-message.ts'
import { runHooked } from '../messages/hooked-transaction.ts'
import { requireChangeIntervals } from '../rate-limits/change-intervals.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type ActiveCallerDeps, lockLinkingUser } from '../sessions/active-caller.ts'
import { requireShownFactor } from '../sessions/require-owner.ts'
import type { User } from '../users/user.ts'

/**
 * The dependencies of a sign-in with an unverified email: those that queue a confirmation, and those that
 * find the caller of a linking flow.
 */
export type UnverifiedDeps = MessageRequestDeps & ActiveCallerDeps

/** An email that its provider has not verified. The identity has been stored by then. */
export interface UnverifiedEmail {
  readonly provider: string
  /** The user of the identity. */
  readonly user: Pick<User, 'id' | 'audience'>
  /** The account that the identity was linked to; undefined: it was to sign in. */
  readonly linking: LinkingTarget | undefined
  /** The email that a mail may confirm; undefined: only the provider can verify it. */
  readonly mailTo?: string | undefined
  /** The mail is sent in the audience of the user, whatever the request asks for. */
  readonly context: Pick<RequestContext, 'audience' | 'redirectTo' | 'linkBase' | 'ip' | 'limitKey'>
}

/** Mails a confirmation, unless there is nothing to confirm, or the last mail is too recent. */
export async function mailConfirmation(
  deps: UnverifiedDeps,
  { user: { audience }, mailTo, context }: Pick<UnverifiedEmail, 'user' | 'mailTo' | 'context'>,
): Promise<void> {
  if (mailTo === undefined) return
  const request = { purpose: 'confirmation', identifier: { kind: 'email', value: mailTo }, pkce: undefined } as const
  await requestMessage(deps, { ...request, context: { ...context, audience } }).catch(ignoreMailLimit)
}

function ignoreMailLimit(error: unknown): void {
  if (!(error instanceof HttpError && error.code === overEmailRateLimit.code)) throw error
}

/**
 * Mails a confirmation to the email of a linked identity, where the user has no email. It is a change of
 * email, so the user gets the email by confirming it. Nothing reveals whether another user has it.
 */
async function mailEmailChange(
  deps: UnverifiedDeps,
  { user, mailTo: newEmail, context }: UnverifiedEmail,
  target: LinkingTarget,
): Promise<void> {
  if (newEmail === undefined) return
  const mail = { pkce: undefined, context: { ...context, audience: user.audience }, onlyIfFree: true } as const
  const allowance = await deps.rateLimits.email.take(context.limitKey)
  try {
    await runHooked(deps, async (trx, repeatable) => {
      // Like any change of an address, this one locks the user before the intervals.
      const caller = await lockLinkingUser(trx, repeatable, target)
      const owner = caller.user
      if (owner.email !== null) return
      await requireShownFactor(trx, caller)
      await requireChangeIntervals(trx, repeatable, owner, { kind: 'email_change', address: newEmail })
      await sendEmailChange(trx, repeatable, owner, { newEmail, ...mail, sessionId: target.sessionId })
    })
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

/**
 * Mails a confirmation, unless there is nothing to confirm, and refuses until the email is verified.
 * @throws externalEmailUnverified, externalEmailMailed or linkedEmailUnverified, always, tokenUserNotFound, userBanned,
 * sessionNotFound, identitiesNeedSecondFactor
 */
export async function refuseUnverified(deps: UnverifiedDeps, unverified: UnverifiedEmail): Promise<never> {
  const { provider, linking, mailTo } = unverified
  await (linking
    ? mailEmailChange(deps, unverified, linking).catch(ignoreMailLimit)
    : mailConfirmation(deps, unverified))
  // Linking refuses only an identity that has an email, and mails that email.
  if (linking) throw linkedEmailUnverified({ provider })
  if (mailTo === undefined) return refuseUnverifiedEmail(provider)
  throw externalEmailMailed({ provider })
}

/** Refuses an account whose email only the provider can verify. @throws externalEmailUnverified */
export function refuseUnverifiedEmail(provider: string): never {
  throw externalEmailUnverified({ provider })
}

import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { AuthDeps } from '../deps.ts'
import { overEmailRateLimit } from '../errors.ts'
import { externalEmailUnverified, linkedEmailUnverified } from '../external-errors.ts'
import type { RequestContext } from './request-context.ts'
import { requestMessage } from './request-message.ts'

/** An address that its provider has not verified, after what is known so far has been stored. */
export interface UnverifiedEmail {
  readonly provider: string
  /** `link`: the identity was added to the account of who asks. */
  readonly during: 'sign-in' | 'link'
  /** Where a mail may confirm it; undefined: the provider alone can. */
  readonly mailTo: string | undefined
  readonly context: Pick<RequestContext, 'audience' | 'redirectTo' | 'linkBase' | 'ip'>
}

/**
 * Mails a confirmation, where one helps, and says that the address has to be verified first.
 * @throws externalEmailUnverified or linkedEmailUnverified, always
 */
export async function refuseUnverified(deps: AuthDeps, unverified: UnverifiedEmail): Promise<never> {
  const { provider, during, mailTo, context } = unverified
  const refuse = during === 'link' ? linkedEmailUnverified : externalEmailUnverified
  const state = `Unverified email with ${provider}.`
  if (mailTo === undefined) {
    throw refuse({ message: `${state} Verify the email with ${provider} in order to sign in` })
  }
  const identifier = { kind: 'email', value: mailTo } as const
  await requestMessage(deps, { purpose: 'confirmation', identifier, pkce: undefined, context }).catch((error) => {
    // The last one has gone out a moment ago.
    if (!(error instanceof HttpError && error.code === overEmailRateLimit.code)) throw error
  })
  throw refuse({ message: `${state} A confirmation email has been sent to your ${provider} email` })
}

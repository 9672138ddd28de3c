import type { PkceChallenge } from '../flows/pkce.ts'
import { decideStaging, type OneTimeCodeInput, signUpUnlessKnown } from '../message-requests/one-time-code.ts'
import { requestMessage } from '../message-requests/request-message.ts'
import type { SignUpDeps } from './sign-up.ts'

/** The dependencies of a request for a magic link. Where it creates the user, it is a sign-up too. */
export type MagicLinkDeps = Omit<SignUpDeps, 'outbound'>

/** A request for a mail to sign in with. */
export interface RequestMagicLinkInput extends OneTimeCodeInput {
  readonly pkce: PkceChallenge | undefined
}

/**
 * Requests a mail with a link and a code to sign in with.
 * @throws what `decideStaging`, `signUpUnlessKnown` and `requestMessage` throw
 */
export async function requestMagicLink(deps: MagicLinkDeps, { pkce, ...input }: RequestMagicLinkInput): Promise<void> {
  const { identifier, context } = input
  const stage = await decideStaging(deps, input)
  const { createUserOnCodeRequest } = deps.config.behaviours
  if (createUserOnCodeRequest && (await signUpUnlessKnown(deps, { ...input, pkce, channel: 'sms' })) !== 'known') return
  const request = { purpose: 'magiclink', identifier, pkce, context } as const
  await requestMessage(deps, createUserOnCodeRequest ? request : { ...request, stage })
}

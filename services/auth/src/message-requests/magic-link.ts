import type { PkceChallenge } from '../flows/pkce.ts'
import type { SessionViewDeps } from '../sessions/session-view.ts'
import type { CreateSignUpDeps } from './create-sign-up.ts'
import { decideStaging, signUpUnlessKnown, type WantedCode } from './one-time-code.ts'
import { type MessageRequestDeps, requestMessage } from './request-message.ts'

/** The dependencies of a request for a magic link. Where it creates the user, it is a sign-up too. */
export type MagicLinkDeps = CreateSignUpDeps & SessionViewDeps & MessageRequestDeps

/** A mail to sign in with. */
export interface WantedMagicLink extends WantedCode {
  readonly pkce: PkceChallenge | undefined
}

/**
 * Requests a mail with a link and a code to sign in with, for `POST /magiclink` and `POST /otp`.
 * @throws what `decideStaging`, `signUpUnlessKnown` and `requestMessage` throw
 */
export async function mailMagicLink(deps: MagicLinkDeps, { pkce, ...wanted }: WantedMagicLink): Promise<void> {
  const { identifier, context } = wanted
  const stage = await decideStaging(deps, wanted)
  const { createUserOnCodeRequest } = deps.config.behaviours
  if (createUserOnCodeRequest && (await signUpUnlessKnown(deps, { ...wanted, pkce, channel: 'sms' })) !== 'known')
    return
  const request = { purpose: 'magiclink', identifier, pkce, context } as const
  await requestMessage(deps, createUserOnCodeRequest ? request : { ...request, stage })
}

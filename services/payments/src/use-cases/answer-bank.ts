import type { Pools } from '@trestle/database/pools.ts'
import { encryptHint } from '../checkout/authentication.ts'
import { type ChallengeState, decryptChallengeState } from '../checkout/challenge.ts'
import { findChallenge, type OpenChallenge, updateOutcome } from '../checkout/session-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import type { CheckoutCiphers } from '../vault/encryption.ts'

type BankDeps = {
  readonly pools: Pools
  readonly ciphers: CheckoutCiphers
  readonly config: Pick<PaymentsConfig, 'checkout'>
}

export type Decision = 'approve' | 'decline'

/** A challenge that has ended. The page sends the customer, or the `hints`, to the shop. */
type EndedChallenge =
  | { readonly outcome: 'concluded'; readonly hints: readonly string[]; readonly origin: string | null }
  | { readonly outcome: 'late' | 'returned'; readonly returnUrl: string }

/**
 * The content of the bank's page. `posOrigin` is the origin of the payment page if the customer returns there. `locale` is the
 * locale of the page where the customer pays. It is `null` if it is unknown.
 */
export type BankAnswer = { readonly posOrigin: string | undefined; readonly locale: string | null } & (
  | { readonly outcome: 'open'; readonly state: ChallengeState; readonly challenge: OpenChallenge }
  | EndedChallenge
)

/**
 * Opens the challenge of an encrypted text and stores the customer's decision, if the request has one. Only the first decision
 * has an effect, and only before the time is over (reference: Simulated bank). Returns `undefined` if this service did not
 * encrypt the text or the session was deleted.
 */
export async function answerBank(
  { config, pools, ciphers }: BankDeps,
  { text, decision }: { readonly text: string; readonly decision: Decision | undefined },
): Promise<BankAnswer | undefined> {
  const state = decryptChallengeState(ciphers.frames, text)
  if (!state) return undefined
  const key = { merchantId: state.merchantId, id: state.sessionId }
  const before = await findChallenge(pools, key)
  if (!before) return undefined
  const isAnswered = decision !== undefined && before.isOpen && before.outcome === null
  if (isAnswered) await updateOutcome(pools, key, decision === 'approve' ? before.enrolment.status : 'rejected')
  const challenge = isAnswered ? await findChallenge(pools, key) : before
  if (!challenge) return undefined
  const returnUrl = state.returns ? challenge.returnUrl : null
  const posOrigin = returnUrl === null ? undefined : originWithin(config.checkout.posUrl, returnUrl)
  const hints = hintsOf({ ciphers }, state, challenge)
  const place = { posOrigin, locale: state.locale }
  if (!hints) return { outcome: 'open', state, challenge, ...place }
  if (returnUrl === null) return { outcome: 'concluded', hints, origin: challenge.origin, ...place }
  return { outcome: hints.length === 0 ? 'late' : 'returned', returnUrl, ...place }
}

function originWithin(posUrl: string, returnUrl: string): string | undefined {
  const origin = URL.parse(posUrl)?.origin
  return new URL(returnUrl).origin === origin ? origin : undefined
}

/** Returns `undefined` while the customer may still answer. Returns no hints if the customer did not answer in time. */
function hintsOf(
  { ciphers }: Pick<BankDeps, 'ciphers'>,
  { sessionId }: ChallengeState,
  { digest, outcome, isOpen }: OpenChallenge,
): readonly string[] | undefined {
  if (outcome !== null) return [encryptHint(ciphers.hints, digest, { sessionId, step: 'tds-challenge' })]
  return isOpen ? undefined : []
}

import { z } from 'zod'
import type { TextSeal } from '../vault/text-seal.ts'

const Fingerprint = z.object({ hint: z.string().nullable(), origin: z.string() })
const Challenge = z.object({
  merchantId: z.string(),
  sessionId: z.string(),
  money: z.object({ currency: z.string(), amount: z.number() }),
  last4: z.string(),
  returns: z.boolean(),
  locale: z.string().nullable(),
})

/** The state of the frame of a fingerprint: the hint that it sends, null if it never answers, and the origin it sends to. */
export type FingerprintState = z.infer<typeof Fingerprint>
/**
 * The state of the bank's page: session, contents, and whether it redirects to the shop or sends a message to its frame. The
 * locale is that of the page where the customer pays; null when the request did not tell it.
 */
export type ChallengeState = z.infer<typeof Challenge>

/** Returns the sealed state that the hidden frame sends back to `POST /acs/fingerprint`. `openFingerprintState` opens it. */
export function sealFingerprintState(frames: TextSeal, state: FingerprintState): string {
  return frames.seal(state, 'fingerprint')
}

/** Returns the state of a fingerprint's frame; undefined for a text that this service did not seal. */
export function openFingerprintState(frames: TextSeal, text: string): FingerprintState | undefined {
  return Fingerprint.safeParse(frames.open(text, 'fingerprint')).data
}

/** Returns the sealed state for the URL of the bank's page. `openChallengeState` opens it. */
export function sealChallengeState(frames: TextSeal, state: ChallengeState): string {
  return frames.seal(state, 'challenge')
}

/** Returns the state of the bank's page; undefined for a text that this service did not seal. */
export function openChallengeState(frames: TextSeal, text: string): ChallengeState | undefined {
  return Challenge.safeParse(frames.open(text, 'challenge')).data
}

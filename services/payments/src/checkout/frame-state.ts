import { z } from 'zod'
import type { TextSeal } from '../vault/text-seal.ts'

const Fingerprint = z.object({ hint: z.string().nullable(), origin: z.string() })
const Challenge = z.object({
  merchantId: z.string(),
  sessionId: z.string(),
  money: z.object({ currency: z.string(), amount: z.number() }),
  last4: z.string(),
  returns: z.boolean(),
})

/** What the frame of a fingerprint goes by: the hint that it tells, null where it never answers, and to whom. */
export type FingerprintState = z.infer<typeof Fingerprint>
/** What the bank's page goes by: the session, what it shows, and whether it leads back to the shop or tells its frame. */
export type ChallengeState = z.infer<typeof Challenge>

export function sealFingerprintState(frames: TextSeal, state: FingerprintState): string {
  return frames.seal(state, 'fingerprint')
}

/** Undefined unless the text was made here. */
export function openFingerprintState(frames: TextSeal, text: string): FingerprintState | undefined {
  return Fingerprint.safeParse(frames.open(text, 'fingerprint')).data
}

export function sealChallengeState(frames: TextSeal, state: ChallengeState): string {
  return frames.seal(state, 'challenge')
}

/** Undefined unless the text was made here. */
export function openChallengeState(frames: TextSeal, text: string): ChallengeState | undefined {
  return Challenge.safeParse(frames.open(text, 'challenge')).data
}

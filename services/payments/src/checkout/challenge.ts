import { z } from 'zod'
import type { TextCipher } from '../vault/encryption.ts'
import { STEPS, type Step } from './authentication.ts'

/** The ways to take a step: by a request, in a frame, by a redirect of the customer, or by polling. */
const CHALLENGE_TYPES = ['fetch', 'background-iframe', 'iframe', 'redirect', 'poll'] as const
export type ChallengeType = (typeof CHALLENGE_TYPES)[number]

/** A step that is offered to the client. The client posts the same order to `path` to get the task. */
export interface Challenge {
  readonly name: Step
  readonly type: ChallengeType
  readonly path: string
}

const ONLY_TYPES = {
  'card-lookup': 'fetch',
  'device-fingerprint': 'background-iframe',
  'tds-fingerprint': 'background-iframe',
} as const

/** Returns the ways to take a step, best first. @param polls whether the bank asks the customer out of band */
export function challengesOf(
  step: Step,
  { polls, canReturn }: { readonly polls: boolean; readonly canReturn: boolean },
): readonly Challenge[] {
  if (step !== 'tds-challenge') return [toChallenge(step, ONLY_TYPES[step])]
  const ways: readonly ChallengeType[] = ['iframe', ...(canReturn ? (['redirect'] as const) : [])]
  return (polls ? ['poll' as const, ...ways] : [...ways, 'poll' as const]).map((type) => toChallenge(step, type))
}

function toChallenge(name: Step, type: ChallengeType): Challenge {
  const path = `/payments/challenges/${name}`
  return { name, type, path: type === 'redirect' || type === 'poll' ? `${path}/${type}` : path }
}

/** The ways to continue a payment, best first. */
export const ChallengesView = z.object({
  challenges: z.array(z.object({ name: z.enum(STEPS), type: z.enum(CHALLENGE_TYPES), path: z.string() })).readonly(),
})

/** The client's task for a step. Fields that do not belong to the type of the challenge are absent (reference: Tasks). */
export const ChallengeTaskView = z.object({
  hints: z.array(z.string()).readonly(),
  action: z.string().optional(),
  url: z.string().optional(),
  method: z.literal('POST').optional(),
  fields: z.record(z.string(), z.string()).optional(),
  width: z.int().optional(),
  height: z.int().optional(),
  timeout: z.int().optional(),
  notBefore: z.iso.datetime().optional(),
  interval: z.int().optional(),
})

const Fingerprint = z.object({ hint: z.string().nullable(), origin: z.string() })
const ChallengePage = z.object({
  merchantId: z.string(),
  sessionId: z.string(),
  money: z.object({ currency: z.string(), amount: z.number() }),
  last4: z.string(),
  returns: z.boolean(),
  locale: z.string().nullable(),
})

/** The state of a fingerprint frame: its hint, `null` if the frame never answers, and the origin to send it to. */
type FingerprintState = z.infer<typeof Fingerprint>
/**
 * The state of the bank's page: the session, the displayed contents, and whether the page redirects to the shop or sends a
 * message to its frame. `locale` is the locale of the page where the customer pays. It is `null` if the request did not state it.
 */
export type ChallengeState = z.infer<typeof ChallengePage>

/** Returns the encrypted state that the hidden frame sends back to `POST /acs/fingerprint`. `decryptFingerprintState` reads it. */
export function encryptFingerprintState(frames: TextCipher, state: FingerprintState): string {
  return frames.encrypt(state, 'fingerprint')
}

/** Returns the state of a fingerprint frame, or `undefined` if this service did not encrypt the text. */
export function decryptFingerprintState(frames: TextCipher, text: string): FingerprintState | undefined {
  return Fingerprint.safeParse(frames.decrypt(text, 'fingerprint')).data
}

/** Returns the encrypted state for the URL of the bank's page. `decryptChallengeState` reads it. */
export function encryptChallengeState(frames: TextCipher, state: ChallengeState): string {
  return frames.encrypt(state, 'challenge')
}

/** Returns the state of the bank's page, or `undefined` if this service did not encrypt the text. */
export function decryptChallengeState(frames: TextCipher, text: string): ChallengeState | undefined {
  return ChallengePage.safeParse(frames.decrypt(text, 'challenge')).data
}

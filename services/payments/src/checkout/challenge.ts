import { z } from 'zod'
import type { TextSeal } from '../vault/seal.ts'
import { STEPS, type Step } from './authentication.ts'

/** The ways to take a step: by a request, in a frame, by a redirect of the customer, or by polling. */
const CHALLENGE_TYPES = ['fetch', 'background-iframe', 'iframe', 'redirect', 'poll'] as const
export type ChallengeType = (typeof CHALLENGE_TYPES)[number]

/** A step that is offered. The client posts the same order to `path` to get the task. */
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

/** The ways to take a step, best first. `polls`: whether to ask the customer out of band. */
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

/** The task of a client for a step. Members that do not belong to the type are absent (reference: Tasks). */
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

/** The state of the frame of a fingerprint: the hint that it sends, null if it never answers, and the origin it sends to. */
type FingerprintState = z.infer<typeof Fingerprint>
/**
 * The state of the bank's page: session, contents, and whether it redirects to the shop or sends a message to its frame. The
 * locale is that of the page where the customer pays; null when the request did not tell it.
 */
export type ChallengeState = z.infer<typeof ChallengePage>

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
  return ChallengePage.safeParse(frames.open(text, 'challenge')).data
}

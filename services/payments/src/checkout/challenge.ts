import { z } from 'zod'
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

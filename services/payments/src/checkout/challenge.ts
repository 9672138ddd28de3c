import type { Step } from './enrolment.ts'

/** How a client takes a step: it fetches, shows a frame, sends the customer away, or asks again and again. */
export const CHALLENGE_TYPES = ['fetch', 'background-iframe', 'iframe', 'redirect', 'poll'] as const
export type ChallengeType = (typeof CHALLENGE_TYPES)[number]

/** A step as it is offered: the same order, sent to `path`, tells what to do. */
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

/** The ways to take a step, best first. `polls`: whether the cardholder is best asked out of band. */
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

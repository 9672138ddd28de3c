import type { Step } from './enrolment.ts'

/** The ways to take a step: by a request, in a frame, by a redirect of the customer, or by polling. */
export const CHALLENGE_TYPES = ['fetch', 'background-iframe', 'iframe', 'redirect', 'poll'] as const
/** The kind of a step that a customer takes before paying (reference: Challenges). */
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

import { z } from 'zod'
import { CHALLENGE_TYPES } from './challenge.ts'
import { STEPS } from './enrolment.ts'

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

import { z } from 'zod'
import type { TextSeal } from '../vault/text-seal.ts'
import { STEPS, type Step } from './enrolment.ts'

/** What a client shows to have done a step of a payment. */
export interface Hint {
  readonly sessionId: string
  readonly step: Step
}

const Content = z.object({ sessionId: z.string(), step: z.enum(STEPS) })

/** A hint as a client carries it. It opens for the same order alone. */
export function sealHint(hints: TextSeal, digest: Buffer, { sessionId, step }: Hint): string {
  return hints.seal({ sessionId, step }, placeOf(digest))
}

/** The session that an order goes on with, and the steps that were done in it. */
export interface Progress {
  readonly sessionId: string
  readonly done: ReadonlySet<Step>
}

/**
 * What the hints of an order tell. The last card lookup names the session; hints of other sessions or orders, and texts that
 * are none, tell nothing.
 */
export function readHints(hints: TextSeal, digest: Buffer, texts: readonly string[]): Progress | undefined {
  const read = texts.flatMap((text) => Content.safeParse(hints.open(text, placeOf(digest))).data ?? [])
  const sessionId = read.findLast(({ step }) => step === 'card-lookup')?.sessionId
  if (sessionId === undefined) return undefined
  const own = read.filter((hint) => hint.sessionId === sessionId)
  return { sessionId, done: new Set(own.map(({ step }) => step)) }
}

function placeOf(digest: Buffer): string {
  return `hint/${digest.toString('base64')}`
}

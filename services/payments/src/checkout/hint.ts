import { z } from 'zod'
import type { TextSeal } from '../vault/text-seal.ts'
import { STEPS, type Step } from './enrolment.ts'

/** The proof that a client has done a step of a payment. */
export interface Hint {
  readonly sessionId: string
  readonly step: Step
}

const Content = z.object({ sessionId: z.string(), step: z.enum(STEPS) })

/** A hint as a text for the client. It opens for the same order only. */
export function sealHint(hints: TextSeal, digest: Buffer, { sessionId, step }: Hint): string {
  return hints.seal({ sessionId, step }, placeOf(digest))
}

/** The session that an order continues, and the steps that were done in it. */
export interface Progress {
  readonly sessionId: string
  readonly done: ReadonlySet<Step>
}

/**
 * Reads the hints of an order. The last card lookup identifies the session. Hints of other sessions or orders, and other
 * texts, are ignored. Undefined without the hint of a card lookup.
 * @param digest what the hints must be sealed for: `orderDigest` of the order
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

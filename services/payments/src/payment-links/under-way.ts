import { z } from 'zod'
import type { TextSeal } from '../vault/text-seal.ts'
import { TokenisedCard } from './card-form.ts'

const Content = z.object({ card: TokenisedCard, pageId: z.string(), expiry: z.string() })

/** A payment whose customer is with their bank, kept by the customer's own browser. */
export type UnderWay = z.output<typeof Content>

const PLACE = 'under-way'

export function sealUnderWay(frames: TextSeal, underWay: UnderWay): string {
  return frames.seal(underWay, PLACE)
}

/** Undefined unless the text was made here. */
export function openUnderWay(frames: TextSeal, text: string): UnderWay | undefined {
  return Content.safeParse(frames.open(text, PLACE)).data
}

import { z } from 'zod'
import type { TextSeal } from '../vault/text-seal.ts'
import { TokenisedCard } from './card-form.ts'

const Content = z.object({ card: TokenisedCard, expiry: z.string() })

/** A payment whose customer is with their bank, kept by the customer's own browser. */
export type UnderWay = z.output<typeof Content>

/** Where a card was entered. It is given for no other page, and for no other link. */
export interface CardPlace {
  /** Names a rendering of the page. */
  readonly pageId: string
  /** The parameters of its link. */
  readonly query: string
}

export function sealUnderWay(frames: TextSeal, underWay: UnderWay, place: CardPlace): string {
  return frames.seal(underWay, placeOf(place))
}

/** Undefined unless the text was made here, for this place. */
export function openUnderWay(frames: TextSeal, text: string, place: CardPlace): UnderWay | undefined {
  return Content.safeParse(frames.open(text, placeOf(place))).data
}

function placeOf({ pageId, query }: CardPlace): string {
  return `under-way/${pageId}?${query}`
}
